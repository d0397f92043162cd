// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One pasted table and its two readings: a size sweep, or cells of dispatch and combine. Used by
// read_tables.cpp only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "logs/reader.hpp"
#include "logs/tables/words.hpp"

namespace shunt::logs {

struct TableRow {
  std::size_t line = 0;
  std::vector<std::string> cells;
};

struct Table {
  std::vector<TableRow> rows;  ///< The head first, where there is one.
  std::string title;
  std::vector<Column> columns;            ///< By the first row.
  bool low_latency = false;               ///< The text just above speaks of low-latency kernels.
  bool published = false;                 ///< Somebody else's figures, pasted to compare with.
  std::optional<std::size_t> upper_head;  ///< Line of a head's first row, where it had two.

  [[nodiscard]] const std::vector<std::string>& head() const { return rows.front().cells; }
};

/// One sweep for each rate column, with the time column of the same name. True if any row held one.
bool read_table_sweeps(const Table& table, Sink& sink);
/// Cells with a rate or a time of dispatch or combine. True if there was one.
bool read_table_samples(const Table& table, Sink& sink);

}  // namespace shunt::logs
