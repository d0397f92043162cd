// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Tables that people paste: markdown pipes (outer ones or not), boxed tables, spreadsheet columns.
// A cell's meaning comes from its own words, its column's head, its row's label and the title
// above.
#include <algorithm>

#include <fmt/format.h>

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

bool has_number(const TableRow& row) {
  return std::ranges::any_of(
      row.cells, [](const std::string& cell) { return number_at(cell, 0).has_value(); });
}

/// Joins a head of two rows into one.
void join_head(Table& table) {
  if (table.rows.size() < 3 || has_number(table.rows[0]) || has_number(table.rows[1]) ||
      !has_number(table.rows[2])) {
    return;
  }
  auto head = merged_head(table.rows[0].cells, table.rows[1].cells);
  if (head.empty()) return;
  table.rows[1].cells = std::move(head);
  table.upper_head = table.rows.front().line;
  table.rows.erase(table.rows.begin());
}

/// A column of bare numbers is only what its head's habit says if they can be that.
void check_assumed(Table& table) {
  constexpr double kMostGbs = 2000;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    Column& column = table.columns[c];
    if (!column.assumed) continue;
    bool bare = false;  // Cells with units of their own need no habit.
    for (std::size_t r = 1; r < table.rows.size(); ++r) {
      const auto& cells = table.rows[r].cells;
      const auto number = c < cells.size() ? whole_number(cells[c]) : std::nullopt;
      const bool fits = number && number->value > 0 &&
                        (column.meaning == Meaning::kTime || number->value <= kMostGbs);
      bare = bare || number.has_value();
      if (number && !fits) column = Column{};
    }
    column.assumed = column.assumed && bare;
  }
}

/// A label that stands once for several rows below each other.
void fill_labels(Table& table) {
  for (std::size_t r = 2; r < table.rows.size(); ++r) {
    auto& cells = table.rows[r].cells;
    const auto& above = table.rows[r - 1].cells;
    if (cells.size() < 3 || cells.size() != above.size() || !cells[0].empty()) continue;
    if (has_number(table.rows[r])) cells[0] = above[0];
  }
}

/// Operations' columns without a unit in head or title: GB/s where the text around the table speaks
/// of that and of no other unit.
void assume_from_text(const Document& document, Table& table) {
  constexpr std::size_t kReach = 8;
  const std::size_t first = table.rows.front().line;
  const std::size_t last = std::min(table.rows.back().line + kReach, document.lines.size() - 1);
  bool gigabytes = false;
  bool other = false;
  for (std::size_t i = first > kReach ? first - kReach : 0; i <= last; ++i) {
    const std::string_view text = document.lines[i].text;
    for (const Number& number : all_numbers(text)) {
      const std::string_view unit = trim(text.substr(number.end));
      gigabytes = gigabytes || unit.substr(0, 4) == "GB/s";
      other = other || starts_with_ci(unit, "us") || starts_with_ci(unit, "ms") ||
              starts_with_ci(unit, "gbps") || unit.substr(0, 4) == "Gb/s";
    }
    gigabytes = gigabytes || contains_ci(text, "(GB/s)");
  }
  if (!gigabytes || other) return;
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    Column& column = table.columns[c];
    if (column.meaning != Meaning::kOther || operation_in(table.head()[c]) == Operation::kUnknown) {
      continue;
    }
    column.meaning = Meaning::kRate;
    column.factor = 1;
    column.assumed = true;
  }
}

void note_assumed(const Table& table, Sink& sink) {
  auto& notes = sink.evidence().files[static_cast<std::size_t>(sink.file())].notes;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!table.columns[c].assumed) continue;
    notes.push_back(fmt::format("column \"{}\" has no unit: read as {}",
                                table.head()[c],
                                table.columns[c].meaning == Meaning::kRate ? "GB/s" : "µs"));
  }
}

void read_table(const Document& document, Table table, Sink& sink) {
  join_head(table);
  const std::size_t first = table.rows.front().line;
  table.published = is_published(document, table, sink);
  for (std::size_t i = first > 8 ? first - 8 : 0; i < first; ++i) {
    table.low_latency = table.low_latency || contains_ci(document.lines[i].text, "low-latency") ||
                        contains_ci(document.lines[i].text, "low latency");
  }
  for (const std::string& head : table.head()) {
    table.columns.push_back(column_of(head, table.title));
  }
  fill_labels(table);
  assume_from_text(document, table);
  check_assumed(table);
  const bool sized = std::ranges::any_of(
      table.columns, [](const Column& column) { return column.meaning == Meaning::kSize; });
  const bool used = sized ? read_table_sweeps(table, sink) : read_table_samples(table, sink);
  if (!used) return;
  for (const TableRow& row : table.rows) sink.claim(row.line);
  if (table.upper_head) sink.claim(*table.upper_head);
  note_assumed(table, sink);
  sink.recognised("table");
}

}  // namespace

void read_tables(const Document& document, Sink& sink) {
  std::vector<TableRow> rows;
  const auto flush = [&] {
    if (!rows.empty()) {
      std::size_t title_line = rows.front().line;
      std::string title = title_above(document, rows.front().line, title_line);
      const std::size_t first = rows.back().line;
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
