// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The two directions of run.json over one list of fields: fields(io, tag, structure) calls
// io("name", member) for each member, with io a JsonWriter or a JsonReader.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "record/record.hpp"
#include "shunt/types.hpp"

namespace shunt::profile {

class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonWriter(Json& json) : json_(json) {}

  template <typename T>
  void operator()(const char* key, const T& value) {
    json_[key] = encode(value);
  }

 private:
  template <typename T>
  static Json encode(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      // JSON has no NaN and no infinity: null, as for everything that is not known.
      return std::isfinite(value) ? Json(value) : Json(nullptr);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return Json(value);
    } else if constexpr (std::is_same_v<T, DType> || std::is_same_v<T, record::Phase>) {
      return Json(to_string(value));
    } else {
      return encode_compound(value);
    }
  }

  template <typename T>
  static Json encode_compound(const std::optional<T>& value) {
    return value ? encode(*value) : Json(nullptr);
  }

  template <typename T>
  static Json encode_compound(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(encode(value));
    return array;
  }

  template <typename T>
  static Json encode_compound(const T& structure) {
    Json object = Json::object();
    JsonWriter writer(object);
    fields(writer, static_cast<T*>(nullptr), structure);
    return object;
  }

  Json& json_;
};

/// Keeps the first problem, with its path; fields after it are left as they are.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonReader(const Json& json, std::string path = "")
      : json_(json), path_(std::move(path)) {}

  /// "" or "config.hidden: expected an integer, found \"x\"".
  [[nodiscard]] const std::string& problem() const { return problem_; }

  template <typename T>
  void operator()(const char* key, T& value) {
    if (!problem_.empty()) return;
    const auto found = json_.find(key);
    const std::string path = path_.empty() ? key : fmt::format("{}.{}", path_, key);
    if (found == json_.end()) {
      // What may be unknown is unknown to writers older than the key.
      if constexpr (requires { value.has_value(); }) return value.reset();
      problem_ = fmt::format("{} is missing", path);
      return;
    }
    decode(*found, value, path);
  }

 private:
  void expected(const char* what, const Json& json, const std::string& path) {
    std::string found = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > 40) found = found.substr(0, 40) + "…";
    problem_ = fmt::format("{}: expected {}, found {}", path, what, found);
  }

  void decode(const Json& json, bool& value, const std::string& path) {
    if (!json.is_boolean()) return expected("true or false", json, path);
    value = json.get<bool>();
  }

  template <std::integral T>
  void decode(const Json& json, T& value, const std::string& path) {
    if (!json.is_number_integer()) return expected("an integer", json, path);
    const bool fits =
        json.is_number_unsigned()
            ? json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
            : std::is_signed_v<T> && json.get<std::int64_t>() >=
                                         static_cast<std::int64_t>(std::numeric_limits<T>::min());
    if (!fits) return expected("an integer in range", json, path);
    value = json.get<T>();
  }

  void decode(const Json& json, double& value, const std::string& path) {
    if (!json.is_number()) return expected("a number", json, path);
    value = json.get<double>();
  }

  void decode(const Json& json, std::string& value, const std::string& path) {
    if (!json.is_string()) return expected("a string", json, path);
    value = json.get<std::string>();
  }

  void decode(const Json& json, DType& value, const std::string& path) {
    const auto type = json.is_string() ? parse_dtype(json.get<std::string>()) : std::nullopt;
    if (!type) return expected("fp32, bf16 or fp16", json, path);
    value = *type;
  }

  void decode(const Json& json, record::Phase& value, const std::string& path) {
    const auto phase =
        json.is_string() ? record::parse_phase(json.get<std::string>()) : std::nullopt;
    if (!phase) return expected("the name of a phase", json, path);
    value = *phase;
  }

  template <typename T>
  void decode(const Json& json, std::optional<T>& value, const std::string& path) {
    value.reset();
    if (json.is_null()) return;
    decode(json, value.emplace(), path);
  }

  template <typename T>
  void decode(const Json& json, std::vector<T>& values, const std::string& path) {
    if (!json.is_array()) return expected("a list", json, path);
    values.clear();
    for (const Json& element : json) {
      const std::string element_path = fmt::format("{}[{}]", path, values.size());
      decode(element, values.emplace_back(), element_path);
      if (!problem_.empty()) return;
    }
  }

  template <typename T>
  requires std::is_class_v<T>
  void decode(const Json& json, T& structure, const std::string& path) {
    if (!json.is_object()) return expected("an object", json, path);
    JsonReader reader(json, path);
    fields(reader, static_cast<T*>(nullptr), structure);
    problem_ = reader.problem();
  }

  const Json& json_;
  const std::string path_;
  std::string problem_;
};

}  // namespace shunt::profile
