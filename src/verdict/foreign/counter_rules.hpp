// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The parts of the rules on counters. Used by rules_counters.cpp and rules_ledger.cpp.
#pragma once

#include <string>
#include <vector>

#include "verdict/foreign/counter_change.hpp"
#include "verdict/foreign/rules.hpp"

namespace shunt::verdict::foreign {

/// Sum of the counters with that signal, 0 where none was printed.
[[nodiscard]] double counted(const DeviceChange& change, logs::Signal signal);
/// "12345"
[[nodiscard]] std::string count(double value);

// rules_congestion.cpp
void judge_congestion(const Situation& s, const DeviceChange& change, Findings& findings);
/// Marks at receivers without any sender that reacts.
void judge_lost_notifications(const std::vector<DeviceChange>& changes, Findings& findings);
void judge_link_errors(const Situation& s, const DeviceChange& change, Findings& findings);
// rules_counter_bytes.cpp
/// Counters against the rates of EP benchmarks and collectives.
void judge_counters_beside_rates(const Situation& s,
                                 const std::vector<DeviceChange>& changes,
                                 Findings& findings);
// rules_priorities.cpp
void judge_priorities(const DeviceChange& change, Findings& findings);

}  // namespace shunt::verdict::foreign
