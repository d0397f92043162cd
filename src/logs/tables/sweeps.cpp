// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "logs/tables/table.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

class Sweeps {
 public:
  Sweeps(const Table& table, Sink& sink) : table_(table), sink_(sink) {}

  bool read() {
    bool any = false;
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      if (table_.columns[c].meaning != Meaning::kRate || contains_ci(table_.head()[c], "busbw"))
        continue;
      Sweep sweep;
      sweep.format = "table";
      sweep.title = table_.title.empty() ? table_.head()[c]
                                         : fmt::format("{}: {}", table_.title, table_.head()[c]);
      sweep.group = table_.title;
      const bool link = contains_ci(table_.title, "put_bw") ||
                        contains_ci(table_.title, "get_bw") || contains_ci(table_.title, "p_bw") ||
                        contains_ci(table_.title, "g_bw") ||
                        contains_ci(table_.title, "write_bw") || table_.columns[c].factor < 0.2;
      sweep.path = link ? Path::kWire : Path::kAlgorithm;
      sweep.operation = collective_in(fmt::format("{} {}", table_.title, table_.head()[c]));
      sweep.source = sink_.source(table_.rows.front().line);
      sweep.settings["column"] = table_.head()[c];
      const std::size_t time = time_column_for(c);
      for (std::size_t r = 1; r < table_.rows.size(); ++r) add_row(r, c, time, sweep);
      any = any || !sweep.rows.empty();
      sink_.add(std::move(sweep));
    }
    return any;
  }

 private:
  void add_row(std::size_t r, std::size_t c, std::size_t time, Sweep& sweep) {
    const auto& cells = table_.rows[r].cells;
    const auto size_column = std::ranges::find(table_.columns, Meaning::kSize, &Column::meaning);
    const auto s = static_cast<std::size_t>(size_column - table_.columns.begin());
    if (s >= cells.size()) return;
    auto size = whole_number(cells[s]);
    std::optional<double> bytes;
    if (size) {
      bytes = size->value * table_.columns[s].factor;
    } else {
      bytes = parse_binary_size(cells[s]);
    }
    const auto rate = c < cells.size() ? number_at(cells[c], 0) : std::nullopt;
    if (!bytes || !rate) {
      if (c >= cells.size()) sink_.truncated(table_.rows[r].line, "table row");
      return;
    }
    SweepRow row;
    row.size_bytes = *bytes;
    row.rate_gbs = rate->value * table_.columns[c].factor;
    if (time < table_.columns.size() && time < cells.size()) {
      if (const auto t = number_at(cells[time], 0))
        row.time_us = t->value * table_.columns[time].factor;
    }
    row.source = sink_.source(table_.rows[r].line);
    sweep.rows.push_back(std::move(row));
  }

  /// The time column that shares the first word of the rate column's head.
  [[nodiscard]] std::size_t time_column_for(std::size_t rate) const {
    const auto words = split_space(table_.head()[rate]);
    std::size_t only = table_.columns.size();
    int times = 0;
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      if (table_.columns[c].meaning != Meaning::kTime) continue;
      ++times;
      only = c;
      if (!words.empty() && starts_with_ci(table_.head()[c], words.front())) return c;
    }
    return times == 1 ? only : table_.columns.size();
  }

  const Table& table_;
  Sink& sink_;
};

}  // namespace

bool read_table_sweeps(const Table& table, Sink& sink) {
  return Sweeps(table, sink).read();
}

}  // namespace shunt::logs
