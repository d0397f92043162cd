// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "routing/spec.hpp"

#include <charconv>
#include <optional>

#include "base/error.hpp"

namespace shunt::routing {
namespace {

constexpr double kMaxExponent = 16.0;
constexpr const char* kForms =
    "uniform, zipf:S, group:G/L, hot:F, all-to-one or file:PATH, then optionally ,drop=F";

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<double> parse_fraction(std::string_view name, std::string_view text, std::string_view all) {
  const std::optional<double> value = parse_number<double>(text);
  if (!value || !(*value >= 0.0 && *value <= 1.0)) {
    return usage_error("routing '{}': {} is '{}'; it is a fraction from 0 to 1", all, name, text);
  }
  return *value;
}

/// Takes ",drop=F" and ",weights=PATH" off the end of `text`; what is left may contain commas.
Status take_options(std::string_view& text, std::string_view all, RoutingSpec& spec) {
  while (true) {
    const std::size_t comma = text.rfind(',');
    if (comma == std::string_view::npos) return {};
    const std::string_view option = text.substr(comma + 1);
    if (option.substr(0, 5) == "drop=") {
      const auto drop = parse_fraction("drop", option.substr(5), all);
      if (!drop) return Unexpected(drop.error());
      spec.drop = *drop;
    } else if (option.substr(0, 8) == "weights=") {
      spec.weights_path = std::string(option.substr(8));
      if (spec.weights_path.empty())
        return usage_error("routing '{}': weights= names no file", all);
    } else {
      return {};
    }
    text = text.substr(0, comma);
  }
}

Status parse_zipf(std::string_view argument, std::string_view all, RoutingSpec& spec) {
  const std::optional<double> value = parse_number<double>(argument);
  if (!value || !(*value >= 0.0 && *value <= kMaxExponent)) {
    return usage_error(
        "routing '{}': the exponent is '{}'; it is a number from 0 to {}, as zipf:1.2",
        all,
        argument,
        kMaxExponent);
  }
  spec.pattern = Pattern::kZipf;
  spec.exponent = *value;
  return {};
}

Status parse_group(std::string_view argument, std::string_view all, RoutingSpec& spec) {
  const std::size_t slash = argument.find('/');
  std::optional<int> groups;
  std::optional<int> top_groups;
  if (slash != std::string_view::npos) {
    groups = parse_number<int>(argument.substr(0, slash));
    top_groups = parse_number<int>(argument.substr(slash + 1));
  }
  if (!groups || !top_groups || *top_groups < 1 || *groups < *top_groups) {
    return usage_error(
        "routing '{}': '{}' is not G/L with 1 <= L <= G (L of G expert groups per token), as "
        "group:8/4",
        all,
        argument);
  }
  spec.pattern = Pattern::kGroup;
  spec.groups = *groups;
  spec.top_groups = *top_groups;
  return {};
}

}  // namespace

Result<RoutingSpec> RoutingSpec::parse(std::string_view text) {
  RoutingSpec spec;
  std::string_view rest = text;
  SHUNT_TRY(take_options(rest, text, spec));
  const std::size_t colon = rest.find(':');
  const std::string_view name = rest.substr(0, colon);
  const bool has_argument = colon != std::string_view::npos;
  const std::string_view argument = has_argument ? rest.substr(colon + 1) : std::string_view();

  if (!has_argument && name == "uniform") {
    spec.pattern = Pattern::kUniform;
  } else if (!has_argument && name == "all-to-one") {
    spec.pattern = Pattern::kAllToOne;
  } else if (has_argument && name == "zipf") {
    SHUNT_TRY(parse_zipf(argument, text, spec));
  } else if (has_argument && name == "group") {
    SHUNT_TRY(parse_group(argument, text, spec));
  } else if (has_argument && name == "hot") {
    const auto fraction = parse_fraction("the fraction of tokens", argument, text);
    if (!fraction) return Unexpected(fraction.error());
    spec.pattern = Pattern::kHot;
    spec.hot_fraction = *fraction;
  } else if (has_argument && name == "file") {
    if (argument.empty()) return usage_error("routing '{}' names no file; as file:ids.npy", text);
    spec.pattern = Pattern::kFile;
    spec.path = std::string(argument);
  } else {
    return usage_error("routing '{}' is not known; it is {}", text, kForms);
  }
  if (!spec.weights_path.empty() && spec.pattern != Pattern::kFile) {
    return usage_error("routing '{}': weights= goes with file:PATH only", text);
  }
  return spec;
}

std::string RoutingSpec::to_string() const {
  std::string text;
  switch (pattern) {
    case Pattern::kUniform:
      text = "uniform";
      break;
    case Pattern::kZipf:
      text = fmt::format("zipf:{}", exponent);
      break;
    case Pattern::kGroup:
      text = fmt::format("group:{}/{}", groups, top_groups);
      break;
    case Pattern::kHot:
      text = fmt::format("hot:{}", hot_fraction);
      break;
    case Pattern::kAllToOne:
      text = "all-to-one";
      break;
    case Pattern::kFile:
      text = "file:" + path;
      if (!weights_path.empty()) text += ",weights=" + weights_path;
      break;
  }
  if (drop > 0.0) text += fmt::format(",drop={}", drop);
  return text;
}

}  // namespace shunt::routing
