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

/// A table of a README beside lines of a benchmark: what was published, to compare with.
bool is_published(const Document& document, const Table& table, Sink& sink) {
  const bool measured = std::ranges::any_of(sink.evidence().samples, [&](const Sample& sample) {
    return sample.source.file == sink.file() && sample.format != "table" &&
           sample.format != "published";
  });
  if (!measured) return false;
  if (std::ranges::any_of(table.head(), [](const std::string& head) {
        return contains_ci(head, "Bottleneck bandwidth");
      })) {
    return true;
  }
  const std::size_t first = table.rows.front().line;
  for (std::size_t i = first > 3 ? first - 3 : 0; i < first; ++i) {
    const std::string_view text = document.lines[i].text;
    for (const std::string_view word : {"readme", "published", "official"}) {
      if (contains_ci(text, word)) return true;
    }
  }
  return false;
}

void read_table(const Document& document, Table table, Sink& sink) {
  const std::size_t first = table.rows.front().line;
  table.published = is_published(document, table, sink);
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
      read_table(document, {std::move(rows), std::move(title), {}}, sink);
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
