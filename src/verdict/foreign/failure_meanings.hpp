// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What known failure texts mean, for those that need no arithmetic. Used by rules_failure.cpp and
// its tests.
#pragma once

#include <span>
#include <string_view>

#include "verdict/finding.hpp"

namespace shunt::verdict::foreign {

struct FailureMeaning {
  std::string_view pattern;  ///< logs::Failure::pattern.
  std::string_view id;       ///< Of the finding.
  Severity severity;
  Confidence confidence;
  std::string_view sentence;
  std::string_view action;
  bool general =
      false;  ///< Says only that something failed: a specific text beside it comes first.
};

[[nodiscard]] std::span<const FailureMeaning> failure_meanings();

}  // namespace shunt::verdict::foreign
