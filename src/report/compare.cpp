// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/cell.hpp"

namespace shunt::report {
namespace {

/// Where a row stands in its table's world: all its text cells but the place in the file.
std::string row_name(const Table& table, const std::vector<Value>& row) {
  std::string name;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const auto* text = std::get_if<std::string>(&row[c]);
    const bool rank = table.columns[c].key == "rank";
    if (table.columns[c].key == "line" || (text == nullptr && !rank)) continue;
    name += (name.empty() ? "" : " ") +
            (text != nullptr ? *text : "rank " + fact_text(row[c], Unit::kCount));
  }
  return name;
}

bool is_measured(const Column& column) {
  return column.unit == Unit::kNs || column.unit == Unit::kGbPerS;
}

struct Change {
  std::string row;
  std::string column;
  Unit unit;
  double before;
  double after;
  [[nodiscard]] double ratio() const { return before == 0 ? 0 : after / before; }
  [[nodiscard]] bool worse() const { return unit == Unit::kNs ? ratio() > 1 : ratio() < 1; }
};

using Named = std::map<std::string, const std::vector<Value>*>;

Named rows_by_name(const Table& table) {
  Named rows;
  for (const auto& row : table.rows) rows.emplace(row_name(table, row), &row);
  return rows;
}

void compare_tables(const Table& a,
                    const Table& b,
                    double threshold,
                    std::vector<Change>& changes) {
  const Named before = rows_by_name(a);
  const Named after = rows_by_name(b);
  for (const auto& [name, row] : before) {
    const auto other = after.find(name);
    if (other == after.end()) continue;
    for (std::size_t c = 0; c < a.columns.size(); ++c) {
      if (!is_measured(a.columns[c]) || a.columns[c].title.empty()) continue;
      const auto same = std::ranges::find(b.columns, a.columns[c].key, &Column::key);
      if (same == b.columns.end()) continue;
      const auto x = as_number((*row)[c]);
      const auto y =
          as_number((*other->second)[static_cast<std::size_t>(same - b.columns.begin())]);
      if (!x || !y || *x <= 0) continue;
      if (std::abs(*y / *x - 1) < threshold) continue;
      changes.push_back({name, a.columns[c].title, a.columns[c].unit, *x, *y});
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
                   {"after", "after", Unit::kText},
                   {"change_share", "change", Unit::kShare},
                   {"verdict", "verdict", Unit::kText}};
  for (const Change& change : changes) {
    table.rows.push_back({change.row,
                          change.column,
                          fact_text(Value{change.before}, change.unit),
                          fact_text(Value{change.after}, change.unit),
                          change.ratio() - 1,
                          std::string(change.worse() ? "worse" : "better")});
  }
  return table;
}

void compare_settings(const Report& before, const Report& after, Report& out) {
  std::map<std::string, std::pair<std::string, std::string>> settings;
  for (const Fact& fact : before.config)
    settings[fact.label].first = fact_text(fact.value, fact.unit);
  for (const Fact& fact : after.config)
    settings[fact.label].second = fact_text(fact.value, fact.unit);
  for (const auto& [label, values] : settings) {
    if (values.first == values.second) continue;
    out.config.push_back({label,
                          label,
                          fmt::format("{} → {}",
                                      values.first.empty() ? "-" : values.first,
                                      values.second.empty() ? "-" : values.second),
                          Unit::kText,
                          ""});
  }
}

/// Findings of one side only, by id and place.
void compare_findings(const Report& before, const Report& after, Report& out) {
  const auto has = [](const Report& report, const verdict::Finding& finding) {
    return std::ranges::any_of(report.findings, [&](const verdict::Finding& other) {
      return other.id == finding.id && other.where == finding.where;
    });
  };
  for (const auto& finding : after.findings) {
    if (finding.severity == verdict::Severity::kInfo || has(before, finding)) continue;
    verdict::Finding copy = finding;
    copy.sentence = "New: " + copy.sentence;
    out.findings.push_back(std::move(copy));
  }
  for (const auto& finding : before.findings) {
    if (finding.severity == verdict::Severity::kInfo || has(after, finding)) continue;
    verdict::Finding copy = finding;
    copy.severity = verdict::Severity::kInfo;
    copy.sentence = "Gone: " + copy.sentence;
    out.findings.push_back(std::move(copy));
  }
}

std::string headline(const std::vector<Change>& changes) {
  const auto worse = std::ranges::count_if(changes, &Change::worse);
  if (changes.empty()) return "Nothing that both sides measured changed beyond the threshold.";
  const auto worst = std::ranges::max_element(changes, {}, [](const Change& change) {
    return change.ratio() > 1 ? change.ratio() : change.ratio() > 0 ? 1 / change.ratio() : 0.0;
  });
  return fmt::format("{} figures became worse, {} better; most: {} {}, {} → {}.",
                     worse,
                     static_cast<std::ptrdiff_t>(changes.size()) - worse,
                     worst->row,
                     worst->column,
                     fact_text(Value{worst->before}, worst->unit),
                     fact_text(Value{worst->after}, worst->unit));
}

}  // namespace

Report compare(const Report& before, const Report& after, double threshold) {
  Report out;
  out.kind = "comparison";
  out.title = fmt::format("{} → {}", before.title, after.title);
  std::vector<Change> changes;
  for (const Table& table : before.tables) {
    const auto other = std::ranges::find(after.tables, table.id, &Table::id);
    if (other != after.tables.end()) compare_tables(table, *other, threshold, changes);
  }
  out.headline = headline(changes);
  compare_settings(before, after, out);
  if (!changes.empty()) out.tables.push_back(change_table(changes));
  if (std::ranges::any_of(changes, &Change::worse)) {
    verdict::Finding finding;
    finding.id = "runs-differ";
    finding.severity = verdict::Severity::kWarning;
    finding.where = "comparison";
    finding.sentence = out.headline;
    finding.action =
        out.config.empty() ? "" : "Settings differ between the two: see configuration.";
    out.findings.push_back(std::move(finding));
  }
  compare_findings(before, after, out);
  verdict::sort_findings(out.findings);
  return out;
}

}  // namespace shunt::report
