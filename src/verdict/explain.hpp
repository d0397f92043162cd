// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What stands behind a finding on foreign evidence, whether it fired or not. called from: report/,
// cli/ for --explain.
#pragma once

#include <span>
#include <string_view>

namespace shunt::verdict {

struct Explanation {
  std::string_view id;
  std::string_view fires_when;
  std::string_view needs;       ///< Evidence without which it cannot fire.
  std::string_view derivation;  ///< The arithmetic, in general form.
  std::string_view source;      ///< Where the rule or its constant comes from.
};

/// In the order of the documentation.
[[nodiscard]] std::span<const Explanation> explanations();

/// nullptr for an unknown id.
[[nodiscard]] const Explanation* explanation_of(std::string_view id);

}  // namespace shunt::verdict
