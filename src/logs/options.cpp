// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/units.hpp"
#include "logs/reader.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::array<std::string_view, 14> kKeys{"nodes",
                                                 "ranks_per_node",
                                                 "gpus_per_node",
                                                 "nics_per_node",
                                                 "experts",
                                                 "topk",
                                                 "tokens",
                                                 "hidden",
                                                 "dtype",
                                                 "rate",
                                                 "nic",
                                                 "gpu",
                                                 "pcie",
                                                 "interval"};

bool is_text_key(std::string_view key) {
  return key == "dtype" || key == "nic" || key == "gpu" || key == "pcie";
}

}  // namespace

std::span<const std::string_view> config_keys() {
  return kKeys;
}

Status set_option(Evidence& evidence, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == assignment.size()) {
    return usage_error("--set takes key=value, not '{}'", assignment);
  }
  const std::string key(trim(assignment.substr(0, equals)));
  std::string value(trim(assignment.substr(equals + 1)));
  if (std::ranges::find(kKeys, key) == kKeys.end()) {
    return usage_error("--set does not know '{}'; keys: {}", key, fmt::join(kKeys, " "));
  }
  if (key == "rate") {
    const auto rate = parse_rate(value);
    if (!rate) return usage_error("--set rate={}: {}", value, rate.error().message);
    value = fmt::format("{}", *rate / 1e9);
  } else if (key == "interval") {
    const auto seconds = whole_number(value);
    if (!seconds || seconds->value <= 0 || seconds->value > 1e7) {
      return usage_error("--set interval={}: seconds between two counter snapshots, above 0",
                         value);
    }
  } else if (!is_text_key(key)) {
    const auto number = whole_number(value);
    if (!number || number->value < 1 || number->value > 1e12) {
      return usage_error("--set {}={}: a whole number from 1 is needed", key, value);
    }
  }
  evidence.config.push_back({key, value, Origin::kOption, Source{-1, 0, std::string(assignment)}});
  return {};
}

}  // namespace shunt::logs
