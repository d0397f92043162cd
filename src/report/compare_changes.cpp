// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/compare_parts.hpp"

namespace shunt::report {
namespace {

Measured measured(std::vector<std::int64_t> samples, std::int64_t value) {
  std::ranges::sort(samples);
  const std::size_t skip = samples.size() < 4 ? 0 : samples.size() / 4;
  Measured out{static_cast<double>(value), 0, 0, samples.size()};
  if (samples.empty()) return out;
  out.low = static_cast<double>(samples[skip]);
  out.high = static_cast<double>(samples[samples.size() - 1 - skip]);
  return out;
}

/// Where a row stands in its table's world: all its text cells but the place in the file.
std::string row_name(const Table& table, const std::vector<Value>& row) {
  std::string name;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& key = table.columns[c].key;
    const auto* text = std::get_if<std::string>(&row[c]);
    // What a row says of itself, not which row it is.
    if (key == "line" || key == "slow_rank" || (text == nullptr && key != "rank")) continue;
    name += (name.empty() ? "" : " ") +
            (text != nullptr ? *text : "rank " + fact_text(row[c], Unit::kCount));
  }
  return name;
}

bool is_measured(const Column& column) {
  return !column.title.empty() && (column.unit == Unit::kNs || column.unit == Unit::kGbPerS);
}

/// Durations shorter than a fiftieth of the longest say nothing about the whole.
constexpr double kMaterial = 0.02;

double least_time(const Table& table) {
  double longest = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].unit != Unit::kNs || !is_measured(table.columns[c])) continue;
    for (const auto& row : table.rows) longest = std::max(longest, as_number(row[c]).value_or(0));
  }
  return table.id.ends_with("_phases") ? longest * kMaterial : 0;
}

/// When something began is no measure of how long it took, and one extreme none of what is usual.
bool is_usual_measure(const Column& column) {
  return is_measured(column) && !column.key.starts_with("start_") &&
         !column.key.starts_with("end_") && column.key.find("_max_") == std::string::npos;
}

using Named = std::map<std::string, const std::vector<Value>*>;

Named rows_by_name(const Table& table) {
  Named rows;
  for (const auto& row : table.rows) rows.emplace(row_name(table, row), &row);
  return rows;
}

void compare_rows(const Table& a,
                  const Table& b,
                  const std::string& name,
                  const std::vector<Value>& before,
                  const std::vector<Value>& after,
                  Changes& changes) {
  const double least = std::max(least_time(a), least_time(b));
  const std::string row = a.id.ends_with("_phases") ? name : fmt::format("{}: {}", a.id, name);
  for (std::size_t c = 0; c < a.columns.size(); ++c) {
    const Column& column = a.columns[c];
    const auto same = std::ranges::find(b.columns, column.key, &Column::key);
    if (!is_usual_measure(column) || same == b.columns.end()) continue;
    const auto x = as_number(before[c]);
    const auto y = as_number(after[static_cast<std::size_t>(same - b.columns.begin())]);
    if (!x || !y || (column.unit == Unit::kNs && std::max(*x, *y) < least)) continue;
    changes.add(
        {row, column.title, column.unit, {*x, *x, *x, 1}, {*y, *y, *y, 1}, changes.whole_known});
  }
}

std::string range_text(const Measured& side, Unit unit) {
  if (!side.has_range()) return "";
  return fmt::format(
      "{} … {}", fact_text(Value{side.low}, unit), fact_text(Value{side.high}, unit));
}

}  // namespace

void compare_operations(const Report& a, const Report& b, Changes& changes) {
  for (const OperationTime& before : a.operations) {
    const auto after = std::ranges::find(b.operations, before.operation, &OperationTime::operation);
    if (after == b.operations.end()) continue;
    changes.whole_known = true;
    changes.add({before.operation,
                 "whole operation, p50",
                 Unit::kNs,
                 measured(before.samples_ns, before.p50_ns),
                 measured(after->samples_ns, after->p50_ns)});
  }
}

void compare_tables(const Report& a, const Report& b, Changes& changes) {
  for (const Table& before : a.tables) {
    const auto after = std::ranges::find(b.tables, before.id, &Table::id);
    if (after == b.tables.end()) continue;
    const Named rows = rows_by_name(*after);
    for (const auto& [name, row] : rows_by_name(before)) {
      const auto other = rows.find(name);
      if (other != rows.end()) compare_rows(before, *after, name, *row, *other->second, changes);
    }
  }
}

Table change_table(const std::vector<Change>& changes) {
  Table table;
  table.id = "changes";
  table.title = "What changed";
  table.columns = {{"row", "row", Unit::kText},
                   {"column", "column", Unit::kText},
                   {"before", "before", Unit::kText},
                   {"before_range", "range", Unit::kText},
                   {"after", "after", Unit::kText},
                   {"after_range", "range", Unit::kText},
                   {"change_share", "change", Unit::kShare},
                   {"verdict", "verdict", Unit::kText},
                   {"before_value", "", Unit::kNumber},
                   {"after_value", "", Unit::kNumber},
                   {"unit", "", Unit::kText}};
  for (const Change& change : changes) {
    table.rows.push_back({change.row,
                          change.column,
                          fact_text(Value{change.before.value}, change.unit),
                          range_text(change.before, change.unit),
                          fact_text(Value{change.after.value}, change.unit),
                          range_text(change.after, change.unit),
                          change.ratio() - 1,
                          std::string(change.verdict()),
                          change.before.value,
                          change.after.value,
                          std::string(change.unit == Unit::kNs ? "ns" : "gb_per_s")});
  }
  if (std::ranges::any_of(changes, [](const Change& c) { return c.before.has_range(); })) {
    table.notes.emplace_back(
        "range: the middle half of the samples, all of them if fewer than four");
  }
  return table;
}

}  // namespace shunt::report
