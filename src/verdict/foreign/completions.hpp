// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Work completions with an error, decoded. Called by rules_failure.cpp.
#pragma once

#include <string_view>

#include "verdict/foreign/rules.hpp"

namespace shunt::verdict::foreign {

struct CompletionStatus {
  int number;
  std::string_view name;
  std::string_view finding;  ///< Id of the finding.
  std::string_view sentence;
  std::string_view action;
};

/// nullptr for a number that the table does not hold.
[[nodiscard]] const CompletionStatus* completion_status(int number);

/// One finding a status, over all failures whose field "wc status" was read.
void judge_completions(const Situation& s, Findings& findings);

}  // namespace shunt::verdict::foreign
