// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "report/cell.hpp"

namespace shunt::report {
namespace {

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

Measured measured(std::vector<std::int64_t> samples, std::int64_t value) {
  std::ranges::sort(samples);
  const std::size_t skip = samples.size() < 4 ? 0 : samples.size() / 4;
  Measured out{static_cast<double>(value), 0, 0, samples.size()};
  if (samples.empty()) return out;
  out.low = static_cast<double>(samples[skip]);
  out.high = static_cast<double>(samples[samples.size() - 1 - skip]);
  return out;
}

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

std::string range_text(const Measured& side, Unit unit) {
  if (!side.has_range()) return "";
  return fmt::format(
      "{} … {}", fact_text(Value{side.low}, unit), fact_text(Value{side.high}, unit));
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

struct Pair {
  const Fact* before = nullptr;
  const Fact* after = nullptr;
};

/// By key, in the order of the first list, then what only the second has.
std::vector<std::pair<std::string, Pair>> paired(const std::vector<Fact>& a,
                                                 const std::vector<Fact>& b) {
  std::vector<std::pair<std::string, Pair>> out;
  const auto entry = [&out](const std::string& key) -> Pair& {
    const auto it = std::ranges::find(out, key, &std::pair<std::string, Pair>::first);
    return it != out.end() ? it->second : out.emplace_back(key, Pair{}).second;
  };
  for (const Fact& fact : a) entry(fact.key).before = &fact;
  for (const Fact& fact : b) entry(fact.key).after = &fact;
  return out;
}

std::string text_or_dash(const Fact* fact) {
  return fact == nullptr ? "-" : fact_text(fact->value, fact->unit);
}

void compare_settings(const Report& before, const Report& after, Report& out) {
  for (const auto& [key, pair] : paired(before.config, after.config)) {
    const std::string x = text_or_dash(pair.before);
    const std::string y = text_or_dash(pair.after);
    if (x == y) continue;
    const std::string& label = (pair.before != nullptr ? pair.before : pair.after)->label;
    const Unit unit = (pair.before != nullptr ? pair.before : pair.after)->unit;
    // A key that ends in a unit promises a number.
    const bool plain = unit == Unit::kText || unit == Unit::kNumber || unit == Unit::kCount;
    out.config.push_back(
        {plain ? key : key + "_change", label, fmt::format("{} → {}", x, y), Unit::kText, ""});
  }
}

/// Bytes and copies that had to move and differ.
void compare_ledgers(const Report& before, const Report& after, Report& out) {
  Table table;
  table.id = "ledger_changes";
  table.title = "What had to move, one iteration, all ranks";
  table.columns = {{"quantity", "quantity", Unit::kText},
                   {"before", "before", Unit::kText},
                   {"after", "after", Unit::kText},
                   {"change_share", "change", Unit::kShare},
                   {"before_value", "", Unit::kNumber},
                   {"after_value", "", Unit::kNumber}};
  for (const auto& [key, pair] : paired(before.ledger, after.ledger)) {
    if (pair.before == nullptr || pair.after == nullptr) continue;
    const auto x = as_number(pair.before->value);
    const auto y = as_number(pair.after->value);
    if (!x || !y || *x == *y) continue;
    table.rows.push_back({pair.before->label,
                          text_or_dash(pair.before),
                          text_or_dash(pair.after),
                          *x > 0 ? Value{*y / *x - 1} : Value{},
                          *x,
                          *y});
  }
  if (!table.rows.empty()) out.tables.push_back(std::move(table));
}

/// Settings that decide how much work there is: with another workload times say nothing.
bool same_workload(const Report& comparison) {
  constexpr std::array kWorkload{"nodes",
                                 "ranks",
                                 "tokens",
                                 "hidden",
                                 "topk",
                                 "experts",
                                 "dtype",
                                 "routing",
                                 "wire_dtype",
                                 "local_experts"};
  return std::ranges::none_of(comparison.config, [&](const Fact& fact) {
    return std::ranges::find(kWorkload, fact.key) != kWorkload.end();
  });
}

const verdict::Finding* find_same(const Report& report, const verdict::Finding& finding) {
  const auto it = std::ranges::find_if(report.findings, [&](const verdict::Finding& other) {
    return other.id == finding.id && other.where == finding.where;
  });
  return it == report.findings.end() ? nullptr : &*it;
}

/// Findings of one side only, and those that became more or less severe, by id and place.
void compare_findings(const Report& before, const Report& after, Report& out) {
  for (const verdict::Finding& finding : after.findings) {
    const verdict::Finding* former = find_same(before, finding);
    verdict::Finding copy = finding;
    if (former == nullptr) {
      if (finding.severity == verdict::Severity::kInfo) continue;
      copy.sentence = "New: " + copy.sentence;
    } else if (former->severity != finding.severity) {
      copy.sentence = fmt::format("Was {}, is {}: {}",
                                  to_string(former->severity),
                                  to_string(finding.severity),
                                  copy.sentence);
    } else {
      continue;
    }
    out.findings.push_back(std::move(copy));
  }
  for (const verdict::Finding& finding : before.findings) {
    if (finding.severity == verdict::Severity::kInfo || find_same(after, finding) != nullptr)
      continue;
    verdict::Finding copy = finding;
    copy.severity = verdict::Severity::kInfo;
    copy.sentence = "Gone: " + copy.sentence;
    copy.action.clear();
    out.findings.push_back(std::move(copy));
  }
}

std::string sentence_of(const Change& change) {
  std::string text = fmt::format("{} {}: {} → {} ({:+.1f} %)",
                                 change.row,
                                 change.column,
                                 fact_text(Value{change.before.value}, change.unit),
                                 fact_text(Value{change.after.value}, change.unit),
                                 (change.ratio() - 1) * 100);
  if (change.before.has_range() && change.after.has_range()) {
    text += fmt::format(", {} of the samples",
                        change.within_spread() ? "within the spread" : "beyond the spread");
  }
  return text;
}

/// Whole operations decide where both sides have them; their phases only say where.
std::vector<Change> deciding_of(const Changes& changes) {
  std::vector<Change> deciding = changes.list;
  std::erase_if(deciding, [](const Change& change) { return change.context; });
  return deciding;
}

std::string headline_of(const std::vector<Change>& deciding,
                        const Changes& changes,
                        bool comparable) {
  if (changes.compared == 0) {
    return "Nothing was measured on both sides: no operation, phase or size of one is in the "
           "other.";
  }
  std::vector<Change> real = deciding;
  std::erase_if(real, [](const Change& change) { return change.within_spread(); });
  if (real.empty()) {
    return fmt::format("No difference: of {} figures measured on both sides, {}.",
                       changes.compared,
                       changes.list.empty()
                           ? fmt::format("none changed by {:g} % or more", changes.threshold * 100)
                           : "those that decide stay within their spread");
  }
  const auto worse = std::ranges::count_if(real, &Change::worse);
  const auto better = static_cast<std::ptrdiff_t>(real.size()) - worse;
  const auto worst = std::ranges::max_element(real, {}, &Change::size);
  const char* word = !comparable   ? "Another workload"
                     : worse == 0  ? "Better"
                     : better == 0 ? "Worse"
                                   : "Mixed";
  return fmt::format("{}: {} figure{} worse, {} better; most: {}.",
                     word,
                     worse,
                     worse == 1 ? "" : "s",
                     better,
                     sentence_of(*worst));
}

void judge(const std::vector<Change>& deciding, bool comparable, Report& out) {
  std::vector<Change> worse;
  for (const Change& change : deciding) {
    if (change.worse() && !change.within_spread()) worse.push_back(change);
  }
  if (worse.empty()) return;
  verdict::Finding finding;
  finding.id = "runs-differ";
  finding.where = "comparison";
  finding.severity = comparable ? verdict::Severity::kWarning : verdict::Severity::kNotice;
  const bool ranges = std::ranges::all_of(worse, [](const Change& change) {
    return change.before.has_range() && change.after.has_range();
  });
  finding.confidence = !comparable ? verdict::Confidence::kLow
                       : ranges    ? verdict::Confidence::kHigh
                                   : verdict::Confidence::kMedium;
  finding.sentence = out.headline;
  if (!comparable) finding.sentence += " The workload differs, so times and rates need not agree.";
  for (const Change& change : worse) {
    finding.evidence.push_back({change.row, sentence_of(change), "both inputs"});
  }
  finding.derivation =
      "a change counts if it reaches the threshold and the ranges of the two sides do not overlap; "
      "the range holds the middle half of the samples, all of them if fewer than four";
  if (!out.config.empty()) finding.action = "Settings differ between the two: see configuration.";
  finding.confirm =
      ranges ? "another pair of runs" : "repeated runs of both: one sample has no spread";
  out.findings.push_back(std::move(finding));
}

}  // namespace

Report compare(const Report& before, const Report& after, double threshold) {
  Report out;
  out.kind = "comparison";
  out.title = fmt::format("{} → {}", before.title, after.title);
  Changes changes{.list = {}, .compared = 0, .threshold = threshold, .whole_known = false};
  compare_operations(before, after, changes);
  compare_tables(before, after, changes);
  compare_settings(before, after, out);
  const bool comparable = same_workload(out);
  const std::vector<Change> deciding = deciding_of(changes);
  out.headline = headline_of(deciding, changes, comparable);
  if (!changes.list.empty()) out.tables.push_back(change_table(changes.list));
  compare_ledgers(before, after, out);
  judge(deciding, comparable, out);
  compare_findings(before, after, out);
  verdict::sort_findings(out.findings);
  if (changes.compared > 0) out.checked.emplace_back("runs-differ");
  out.notes.push_back(fmt::format("{} figures were measured on both sides", changes.compared));
  return out;
}

}  // namespace shunt::report
