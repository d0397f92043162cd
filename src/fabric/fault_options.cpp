// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "fabric/faulty_fabric.hpp"

namespace shunt::fabric {
namespace {

struct Probability {
  std::string_view name;
  double FaultOptions::*member;
};
constexpr std::array<Probability, 5> kProbabilities{{
    {"duplicate_arrival", &FaultOptions::duplicate_arrival},
    {"duplicate_completion", &FaultOptions::duplicate_completion},
    {"lose_arrival", &FaultOptions::lose_arrival},
    {"fail_put", &FaultOptions::fail_put},
    {"refuse_post", &FaultOptions::refuse_post},
}};

struct Count {
  std::string_view name;
  std::uint32_t FaultOptions::*member;
};
constexpr std::array<Count, 4> kCounts{{
    {"hold_puts", &FaultOptions::hold_puts},
    {"hold_arrivals", &FaultOptions::hold_arrivals},
    {"hold_completions", &FaultOptions::hold_completions},
    {"storm_posts", &FaultOptions::storm_posts},
}};

template <typename T>
Status read_value(std::string_view name, std::string_view value, T& target) {
  const char* last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, target);
  if (value.empty() || error != std::errc{} || end != last) {
    return usage_error(
        "fault {} cannot be '{}': holds, storms and seeds are whole numbers, the others "
        "probabilities between 0 and 1",
        name,
        value);
  }
  return {};
}

Status set_fault(FaultOptions& options, std::string_view name, std::string_view value) {
  if (name == "seed") return read_value(name, value, options.seed);
  for (const Probability& entry : kProbabilities) {
    if (entry.name == name) return read_value(name, value, options.*entry.member);
  }
  for (const Count& entry : kCounts) {
    if (entry.name == name) return read_value(name, value, options.*entry.member);
  }
  return usage_error(
      "fault '{}' is unknown: seed, hold_puts, hold_arrivals, hold_completions, storm_posts, "
      "duplicate_arrival, duplicate_completion, lose_arrival, fail_put, refuse_post",
      name);
}

}  // namespace

Status check_faults(const FaultOptions& options) {
  for (const Probability& entry : kProbabilities) {
    const double value = options.*entry.member;
    if (!(value >= 0 && value <= 1)) {
      return usage_error("fault {} is {}: a probability is between 0 and 1", entry.name, value);
    }
  }
  return {};
}

Result<FaultOptions> parse_faults(std::string_view text) {
  FaultOptions options;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view value = item.substr(std::min(equals + 1, item.size()));
    SHUNT_TRY(set_fault(options, item.substr(0, equals), value));
  }
  SHUNT_TRY(check_faults(options));
  return options;
}

}  // namespace shunt::fabric
