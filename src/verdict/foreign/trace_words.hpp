// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Words that the rules on foreign traces share.
#pragma once

#include <cstdint>
#include <string>

#include "verdict/foreign/rules.hpp"

namespace shunt::verdict::foreign {

[[nodiscard]] double us(std::int64_t ns);
/// The trace's file without its folder.
[[nodiscard]] std::string file_name(const Situation& s, const logs::TraceFact& fact);
/// "rank 3", or the file where the trace does not say.
[[nodiscard]] std::string rank_name(const Situation& s, const logs::TraceFact& fact);

/// Entry skew between two ranks' traces on one clock. rules_trace_skew.cpp
void judge_trace_skew(const Situation& s,
                      const logs::TraceFact& one,
                      const logs::TraceFact& two,
                      Findings& findings);

}  // namespace shunt::verdict::foreign
