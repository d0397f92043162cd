// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of JSON Schema that docs/schemas uses, for tests: a keyword that it does not know fails.
#pragma once

#include <regex>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace shunt::testing {

class JsonSchema {
 public:
  using Json = nlohmann::json;

  explicit JsonSchema(Json root) : root_(std::move(root)) {}

  /// Empty, or the first fault with its path.
  [[nodiscard]] std::string check(const Json& value) const { return check(value, root_, "$"); }

 private:
  static bool is_type(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "array") return value.is_array();
    return type == "object" && value.is_object();
  }

  static std::string check_type(const Json& value, const Json& types, const std::string& at) {
    const Json list = types.is_array() ? types : Json::array({types});
    for (const Json& type : list) {
      if (is_type(value, type)) return "";
    }
    return at + " is " + value.dump() + ", not " + types.dump();
  }

  static std::string check_scalar(const Json& value,
                                  const std::string& word,
                                  const Json& rule,
                                  const std::string& at) {
    const std::string wrong = at + " is " + value.dump() + ", against " + word + " " + rule.dump();
    if (word == "type") return check_type(value, rule, at);
    if (word == "const") return value == rule ? "" : wrong;
    if (word == "enum")
      return std::find(rule.begin(), rule.end(), value) != rule.end() ? "" : wrong;
    if (word == "minimum") return !value.is_number() || value >= rule ? "" : wrong;
    if (word == "maximum") return !value.is_number() || value <= rule ? "" : wrong;
    if (word == "pattern") {
      const std::regex pattern(rule.get<std::string>());
      return !value.is_string() || std::regex_search(value.get<std::string>(), pattern) ? ""
                                                                                        : wrong;
    }
    return at + ": the test knows no keyword " + word;
  }

  [[nodiscard]] std::string check_object(const Json& value,
                                         const Json& schema,
                                         const std::string& at) const {
    for (const Json& key : schema.value("required", Json::array())) {
      if (!value.contains(key.get<std::string>())) return at + " lacks " + key.dump();
    }
    const Json none = Json::object();
    const Json& named = schema.contains("properties") ? schema["properties"] : none;
    const Json& patterns =
        schema.contains("patternProperties") ? schema["patternProperties"] : none;
    for (const auto& [key, member] : value.items()) {
      const std::string path = at + "." + key;
      bool known = named.contains(key);
      std::string fault = known ? check(member, named[key], path) : "";
      for (const auto& [pattern, rule] : patterns.items()) {
        if (!std::regex_search(key, std::regex(pattern))) continue;
        known = true;
        if (fault.empty()) fault = check(member, rule, path);
      }
      if (!known && schema.contains("additionalProperties")) {
        const Json& rest = schema["additionalProperties"];
        fault = rest.is_object()      ? check(member, rest, path)
                : rest == Json(false) ? path + " is not documented"
                                      : "";
      }
      if (!fault.empty()) return fault;
    }
    return "";
  }

  [[nodiscard]] std::string check_combined(const Json& value,
                                           const Json& schema,
                                           const std::string& at) const {
    for (const Json& one : schema.value("allOf", Json::array())) {
      if (std::string fault = check(value, one, at); !fault.empty()) return fault;
    }
    if (schema.contains("anyOf")) {
      std::string fault;
      for (const Json& one : schema["anyOf"]) {
        fault = check(value, one, at);
        if (fault.empty()) break;
      }
      if (!fault.empty()) return fault;
    }
    if (schema.contains("if") && check(value, schema["if"], at).empty()) {
      return check(value, schema["then"], at);
    }
    return "";
  }

  [[nodiscard]] std::string check(const Json& value,
                                  const Json& schema,
                                  const std::string& at) const {
    static const std::set<std::string> structural{"$schema",
                                                  "$id",
                                                  "$defs",
                                                  "title",
                                                  "description",
                                                  "required",
                                                  "properties",
                                                  "then",
                                                  "if",
                                                  "patternProperties",
                                                  "additionalProperties",
                                                  "allOf",
                                                  "anyOf",
                                                  "items",
                                                  "$ref"};
    if (schema.contains("$ref")) {
      const std::string target = schema["$ref"];
      return check(value, root_.at(Json::json_pointer(target.substr(1))), at);
    }
    for (const auto& [word, rule] : schema.items()) {
      if (structural.count(word) == 1) continue;
      if (std::string fault = check_scalar(value, word, rule, at); !fault.empty()) return fault;
    }
    if (value.is_object()) {
      if (std::string fault = check_object(value, schema, at); !fault.empty()) return fault;
    }
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string path = at + "[" + std::to_string(i) + "]";
        if (std::string fault = check(value[i], schema["items"], path); !fault.empty())
          return fault;
      }
    }
    return check_combined(value, schema, at);
  }

  Json root_;
};

}  // namespace shunt::testing
