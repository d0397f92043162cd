// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/compare_parts.hpp"

namespace shunt::report {
namespace {

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
