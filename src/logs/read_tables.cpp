// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Tables that people paste: markdown pipes (outer ones or not), boxed tables, spreadsheet columns.
// A cell's meaning comes from its own words, its column's head, its row's label and the title
// above.
#include <algorithm>

#include "logs/readers.hpp"
#include "logs/tables/table.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

/// The line above the table that names it, if it is near and unread.
std::string title_above(const Document& document, std::size_t first, std::size_t& at) {
  for (std::size_t i = first; i-- > 0 && first - i <= 4;) {
    const Line& line = document.lines[i];
    if (line.text.empty() || line.fence || is_rule(line.text)) continue;
    std::string title(trim(line.text));
    while (!title.empty() && (title.front() == '*' || title.front() == '#' ||
                              title.front() == ' ' || title.front() == '+')) {
      title.erase(title.begin());
    }
    // A boxed table's title is a one-cell row.
    title.erase(std::remove(title.begin(), title.end(), '|'), title.end());
    title = std::string(trim(title));
    while (!title.empty() && title.back() == ':') title.pop_back();
    at = i;
    return title;
  }
  return {};
}

void read_table(const Document& document, Table table, Sink& sink) {
  const std::size_t first = table.rows.front().line;
  for (std::size_t i = first > 8 ? first - 8 : 0; i < first; ++i) {
    table.low_latency = table.low_latency || contains_ci(document.lines[i].text, "low-latency") ||
                        contains_ci(document.lines[i].text, "low latency");
  }
  for (const std::string& head : table.head()) {
    table.columns.push_back(column_of(head, table.title));
  }
  const bool sized = std::ranges::any_of(
      table.columns, [](const Column& column) { return column.meaning == Meaning::kSize; });
  const bool used = sized ? read_table_sweeps(table, sink) : read_table_samples(table, sink);
  if (!used) return;
  for (const TableRow& row : table.rows) sink.claim(row.line);
  sink.recognised("table");
}

}  // namespace

void read_tables(const Document& document, Sink& sink) {
  std::vector<TableRow> rows;
  const auto flush = [&] {
    if (!rows.empty()) {
      std::size_t title_line = rows.front().line;
      std::string title = title_above(document, rows.front().line, title_line);
      const std::size_t first = rows.front().line;
      read_table(document, {std::move(rows), std::move(title), {}, false}, sink);
      if (sink.claimed(first)) sink.claim_title(title_line);
    }
    rows.clear();
  };
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    if (sink.claimed(i)) {
      flush();
      continue;
    }
    if (!line.text.empty() && is_rule(line.text)) {
      if (line.text.find('|') != std::string::npos) sink.claim(i);
      continue;
    }
    // A cell's leading tab matters: use the body where the text has no pipe.
    auto cells = cells_of(line.text.find('|') != std::string::npos ? line.text : line.body);
    if (cells.empty()) {
      flush();
    } else {
      rows.push_back({i, std::move(cells)});
    }
  }
  flush();
}

}  // namespace shunt::logs
