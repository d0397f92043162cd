// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the words of a pasted table mean: the cut into cells, units, operations, paths. Used by
// tables/ and read_tables.cpp only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/evidence.hpp"

namespace shunt::logs {

/// A line of dashes, bars and colons.
[[nodiscard]] bool is_rule(std::string_view text);
/// Cells of a row: between pipes, tabs, or runs of two or more spaces. Fewer than two: not a table,
/// and empty.
[[nodiscard]] std::vector<std::string> cells_of(std::string_view text);

[[nodiscard]] Operation operation_in(std::string_view text);
/// As operation_in, collectives first.
[[nodiscard]] Operation collective_in(std::string_view text);
[[nodiscard]] Path path_in(std::string_view text);
[[nodiscard]] std::string dtype_in(std::string_view text);

enum class Meaning { kOther, kRate, kTime, kSize, kRanks, kSms };

struct Column {
  Meaning meaning = Meaning::kOther;
  double factor = 1;  ///< To GB/s, µs or bytes.
  bool assumed =
      false;  ///< The head names a quantity without its unit: benchmarks' habit is taken.
};

/// The first unit of `text` as a factor to GB/s or µs; sets `meaning`. Nullopt, and `meaning` as it
/// was, where there is none.
[[nodiscard]] std::optional<double> unit_in(std::string_view text, Meaning& meaning);
/// By its own head, else by the unit that the table's title names.
[[nodiscard]] Column column_of(std::string_view head, std::string_view title);

/// One head out of two rows of words: "Dispatch" over "latency | bandwidth". An upper cell that is
/// empty, or wider than one column, covers those to its right. Empty where the rows do not fit.
[[nodiscard]] std::vector<std::string> merged_head(const std::vector<std::string>& upper,
                                                   const std::vector<std::string>& lower);

}  // namespace shunt::logs
