// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/judge.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "verdict/rules.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::verdict {
namespace {

using analysis::LinkMeasure;
using analysis::OperationMeasure;

struct Rule {
  const char* id;
  RuleResult (*judge)(const Facts&);
};

constexpr std::array kRules{
    Rule{"saturated", saturated},
    Rule{"underused", underused},
    Rule{"posting-time", posting_time},
    Rule{"receiver-waits", receiver_waits},
    Rule{"receiver-idle", receiver_idle},
    Rule{"combine-stall", combine_stall},
    Rule{"barrier-bound", barrier_bound},
    Rule{"few-qps", few_qps},
    Rule{"few-blocks", few_blocks},
    Rule{"small-messages", small_messages},
    Rule{"slow-rank", slow_rank},
    Rule{"skew", skew},
    Rule{"cold-start", cold_start},
    Rule{"counters-disagree", counters_disagree},
};

/// Lost records weaken everything that rests on records.
void lower_confidence(const Facts& facts, std::vector<Finding>& findings) {
  const analysis::Measures& measures = facts.measures;
  if (measures.dropped_records == 0 && measures.missing_ranks.empty() &&
      measures.incomplete_ranks.empty()) {
    return;
  }
  for (Finding& finding : findings) {
    if (finding.confidence == Confidence::kHigh) finding.confidence = Confidence::kMedium;
  }
}

std::string describe_links(const Facts& facts) {
  const OperationMeasure* busiest = nullptr;
  const LinkMeasure* link = nullptr;
  for (const OperationMeasure& operation : facts.measures.operations) {
    for (const LinkMeasure& candidate : operation.links) {
      if (candidate.rate.empty()) continue;
      if (link != nullptr && candidate.utilisation.value_or(candidate.rate.p50) <=
                                 link->utilisation.value_or(link->rate.p50)) {
        continue;
      }
      busiest = &operation;
      link = &candidate;
    }
  }
  if (link == nullptr) {
    return facts.recording.run.shape.nodes < 2 ? "one node: no link to judge"
                                               : "no link could be measured";
  }
  const std::string where = fmt::format("{} ({})", link->name, record::to_string(busiest->kind));
  if (!facts.rating()) {
    return fmt::format("{} carries {} GB/s in its window; no rating, so no utilisation",
                       where,
                       number(link->rate.p50));
  }
  const std::string rating = rating_text(facts);
  if (link->impossible_utilisation || burst_hides_rate(facts, *link)) {
    return fmt::format("{} moved too little to judge a link of {}", where, rating);
  }
  const double used = link->utilisation.value_or(0);
  const char* word = used >= kFull ? "full" : used >= kUnderused ? "close to full" : "not full";
  return fmt::format("{} is {}: {} of its rating, {}", where, word, percent(used), rating);
}

}  // namespace

Judgement judge(const profile::RecordingSummary& recording, const analysis::Measures& measures) {
  const Facts facts{recording, measures};
  Judgement judgement;
  for (const Rule& rule : kRules) {
    RuleResult result = rule.judge(facts);
    if (result.missing) {
      judgement.unchecked.push_back({rule.id, *result.missing});
      continue;
    }
    judgement.checked.emplace_back(rule.id);
    std::ranges::move(result.findings, std::back_inserter(judgement.findings));
  }
  lower_confidence(facts, judgement.findings);
  sort_findings(judgement.findings);
  judgement.headline = describe_links(facts);
  return judgement;
}

}  // namespace shunt::verdict
