// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/compare_parts.hpp"

namespace shunt::report {
namespace {

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

const verdict::Finding* find_same(const Report& report, const verdict::Finding& finding) {
  const auto it = std::ranges::find_if(report.findings, [&](const verdict::Finding& other) {
    return other.id == finding.id && other.where == finding.where;
  });
  return it == report.findings.end() ? nullptr : &*it;
}

}  // namespace

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

}  // namespace shunt::report
