// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: the parts of a comparison. compare_changes.cpp finds what was measured on
// both sides and differs, compare_settings.cpp what was asked for, moved and found.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "report/report.hpp"

namespace shunt::report {

/// What one side measured: a value, and the range in which half of its samples lie (all of them if
/// they are fewer than four). A single sample has no range.
struct Measured {
  double value = 0;
  double low = 0;
  double high = 0;
  std::size_t samples = 1;
  [[nodiscard]] bool has_range() const { return samples > 1; }
};

struct Change {
  std::string row;
  std::string column;
  Unit unit = Unit::kNs;
  Measured before;
  Measured after;
  bool context = false;  ///< Says where the time went; a whole operation decides.

  [[nodiscard]] double ratio() const { return after.value / before.value; }
  [[nodiscard]] bool worse() const { return unit == Unit::kNs ? ratio() > 1 : ratio() < 1; }
  /// The ranges of the two sides overlap: the change may be chance.
  [[nodiscard]] bool within_spread() const {
    return before.has_range() && after.has_range() && before.low <= after.high &&
           after.low <= before.high;
  }
  [[nodiscard]] const char* verdict() const {
    if (within_spread()) return "within the spread";
    if (context)
      return unit == Unit::kNs ? (worse() ? "longer" : "shorter") : worse() ? "lower" : "higher";
    return worse() ? "worse" : "better";
  }
  /// How much, whichever way.
  [[nodiscard]] double size() const { return std::max(ratio(), 1 / ratio()); }
};

/// The changes beyond the threshold, and how many figures were compared to find them.
struct Changes {
  std::vector<Change> list;
  std::size_t compared = 0;
  double threshold = 0;
  bool whole_known = false;  ///< Both sides have samples of whole operations.

  void add(Change change) {
    if (change.before.value <= 0 || change.after.value <= 0) return;
    ++compared;
    if (std::fabs(change.ratio() - 1) >= threshold) list.push_back(std::move(change));
  }
};

void compare_operations(const Report& a, const Report& b, Changes& changes);
void compare_tables(const Report& a, const Report& b, Changes& changes);
[[nodiscard]] Table change_table(const std::vector<Change>& changes);

void compare_settings(const Report& before, const Report& after, Report& out);
/// Bytes and copies that had to move and differ.
void compare_ledgers(const Report& before, const Report& after, Report& out);
/// Settings that decide how much work there is: with another workload times say nothing.
[[nodiscard]] bool same_workload(const Report& comparison);
/// Findings of one side only, and those that became more or less severe, by id and place.
void compare_findings(const Report& before, const Report& after, Report& out);

}  // namespace shunt::report
