// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks against each other, iterations against each other, and what neither explains.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "verdict/rules.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::verdict {
namespace {

using analysis::OperationMeasure;
using analysis::PhaseMeasure;
using analysis::RankOperation;

constexpr const char* kSpans = "spans, medians over the measured iterations";

/// The phase in which `rank` exceeds the median of all ranks' own time most.
std::string phase_of_excess(const OperationMeasure& operation, int rank) {
  double most = 0;
  std::string name;
  for (const PhaseMeasure& phase : operation.phases) {
    std::vector<double> own;
    double mine = 0;
    for (const analysis::RankPhase& on_rank : phase.by_rank) {
      own.push_back(on_rank.own_ns);
      if (on_rank.rank == rank) mine = on_rank.own_ns;
    }
    const double excess = mine - analysis::median(own);
    if (excess > most) {
      most = excess;
      name = fmt::format("{} (+{})", record::to_string(phase.phase), ns_text(excess));
    }
  }
  return name;
}

/// True where the counter differs from the records by no more than kCounterTolerance, what may fall
/// on the other side of its two readings, and what TCP sent again.
bool explained(const Facts& facts, const analysis::CounterCheck& check) {
  const auto expected = static_cast<double>(check.frame_bytes.value_or(check.record_bytes));
  const double off = static_cast<double>(check.counter.bytes) - expected;
  const auto channels = static_cast<double>(facts.recording.run.shape.ranks_per_node) *
                        (facts.recording.run.shape.nodes - 1);
  const double edges = channels * kEdgeMessages * kEdgeMessageBytes;
  const double resent = off > 0 ? static_cast<double>(check.resent_bytes) : 0;
  return std::fabs(off) <= kCounterTolerance * expected + edges + resent;
}

}  // namespace

RuleResult barrier_bound(const Facts& facts) {
  if (facts.measures.operations.empty()) return {.missing = "no operation was recorded"};
  RuleResult result;
  for (const OperationMeasure& operation : facts.measures.operations) {
    const double floor = operation.sync_floor_ns.p50;
    const double whole = operation.duration_ns.p50;
    if (operation.sync_floor_ns.empty() || floor < kMostly * whole) continue;
    Finding finding{.id = "barrier-bound", .severity = Severity::kNotice};
    finding.where = record::to_string(operation.kind);
    finding.sentence = fmt::format(
        "synchronising takes {} of {} even on the rank that waits least, with no records on a link",
        ns_text(floor),
        ns_text(whole));
    for (const PhaseMeasure& phase : operation.phases) {
      if (phase.dur_ns.p50 < kMaterial * whole) continue;
      finding.evidence.push_back(
          {record::to_string(phase.phase), ns_text(phase.dur_ns.p50), kSpans});
    }
    finding.derivation =
        fmt::format("{} / {} = {}", ns_text(floor), ns_text(whole), percent(floor / whole));
    finding.action =
        "more tokens an operation, or fewer ranks than cores: signals and wake-ups cost this, not "
        "bytes";
    finding.confirm = "the operation takes as long with half the tokens";
    result.findings.push_back(std::move(finding));
  }
  return result;
}

RuleResult slow_rank(const Facts& facts) {
  if (facts.recording.run.shape.world < 3) return {.missing = "fewer than three ranks"};
  RuleResult result;
  for (const OperationMeasure& operation : facts.measures.operations) {
    if (operation.by_rank.size() < 3) continue;
    const auto slowest = std::ranges::max_element(operation.by_rank, {}, &RankOperation::own_ns);
    std::vector<double> others;
    for (const RankOperation& rank : operation.by_rank) {
      if (rank.rank != slowest->rank) others.push_back(rank.own_ns);
    }
    const double usual = analysis::median(others);
    const double excess = slowest->own_ns - usual;
    if (slowest->own_ns < kSlowRank * usual || excess < kMaterial * operation.duration_ns.p50) {
      continue;
    }
    const std::string phase = phase_of_excess(operation, slowest->rank);
    Finding finding{.id = "slow-rank", .severity = Severity::kWarning};
    finding.where = fmt::format("{}, rank {}", record::to_string(operation.kind), slowest->rank);
    finding.sentence = fmt::format("rank {} works {} where the others' median is {}{}{}",
                                   slowest->rank,
                                   ns_text(slowest->own_ns),
                                   ns_text(usual),
                                   phase.empty() ? "" : ", furthest from them in ",
                                   phase);
    for (const RankOperation& rank : operation.by_rank) {
      if (finding.evidence.size() == 8) break;
      finding.evidence.push_back(
          {fmt::format("rank {}", rank.rank),
           fmt::format("own {}, waits {}", ns_text(rank.own_ns), ns_text(rank.wait_ns)),
           kSpans});
    }
    finding.derivation = fmt::format("{} / {} = {}",
                                     ns_text(slowest->own_ns),
                                     ns_text(usual),
                                     number(slowest->own_ns / std::max(1.0, usual)));
    finding.action =
        "look at that rank's machine: cores shared with others, memory on the wrong NUMA node, "
        "throttling; or at its share of the tokens";
    finding.confirm = "the same rank is slow with uniform routing, and another one when ranks move";
    result.findings.push_back(std::move(finding));
  }
  return result;
}

RuleResult skew(const Facts& facts) {
  if (facts.recording.run.shape.world < 2) return {.missing = "one rank"};
  RuleResult result;
  for (const OperationMeasure& operation : facts.measures.operations) {
    const double apart = operation.skew_ns.p50;
    // Clocks must tell the ranks apart before their entries can be compared.
    const double blur = 2.0 * static_cast<double>(facts.measures.clock_residual_ns);
    if (apart < kMaterial * operation.duration_ns.p50 || apart <= blur) continue;
    Finding finding{.id = "skew", .severity = Severity::kNotice};
    finding.where = record::to_string(operation.kind);
    finding.sentence = fmt::format(
        "ranks enter {} apart ({} of the operation); rank {} is last in {} of the iterations",
        ns_text(apart),
        percent(apart / std::max(1.0, operation.duration_ns.p50)),
        operation.last_rank,
        percent(operation.last_share));
    finding.evidence.push_back(
        {"entry",
         fmt::format("{} p50, {} max", ns_text(apart), ns_text(operation.skew_ns.max)),
         kSpans});
    finding.evidence.push_back(
        {"clocks", fmt::format("aligned to {}", ns_text(blur / 2)), "clock fits of run.json"});
    finding.derivation = fmt::format(
        "{} ≥ {} of {}", ns_text(apart), percent(kMaterial), ns_text(operation.duration_ns.p50));
    finding.action =
        operation.last_share > kMostly
            ? fmt::format("find what rank {} does before it enters", operation.last_rank)
            : "no rank is late steadily: scheduling or load before the operation";
    finding.confirm = "a barrier before the operation shortens it by the skew";
    result.findings.push_back(std::move(finding));
  }
  return result;
}

RuleResult cold_start(const Facts& facts) {
  RuleResult result;
  bool enough = false;
  for (const OperationMeasure& operation : facts.measures.operations) {
    const std::vector<double>& times = operation.duration_by_op_ns;
    if (times.size() < 4) continue;
    enough = true;
    const double usual = analysis::median({times.begin() + 1, times.end()});
    if (times.front() < kCold * usual) continue;
    const auto settled =
        std::find_if(times.begin(), times.end(), [&](double time) { return time < kCold * usual; });
    const auto cold = settled - times.begin();
    Finding finding{.id = "cold-start", .severity = Severity::kNotice};
    finding.where = record::to_string(operation.kind);
    finding.sentence =
        fmt::format("the first measured iteration takes {}, the later ones {}: {} cold",
                    ns_text(times.front()),
                    ns_text(usual),
                    cold == 1 ? "one was" : fmt::format("{} were", cold));
    finding.evidence.push_back(
        {"warm-up", fmt::format("{} iterations", operation.warmup_duration_ns.size()), "run.json"});
    finding.derivation = fmt::format("{} / {} = {}",
                                     ns_text(times.front()),
                                     ns_text(usual),
                                     number(times.front() / std::max(1.0, usual)));
    finding.action = fmt::format("raise --warmup from {} to {}",
                                 facts.config().warmup,
                                 facts.config().warmup + static_cast<int>(cold));
    finding.confirm = "p50 and max draw together";
    result.findings.push_back(std::move(finding));
  }
  if (!enough) result.missing = "fewer than four measured iterations";
  return result;
}

RuleResult counters_disagree(const Facts& facts) {
  if (facts.recording.run.shape.nodes < 2) return {.missing = kNoLinks};
  if (!facts.measures.missing_ranks.empty() || !facts.measures.incomplete_ranks.empty() ||
      facts.measures.dropped_records != 0) {
    return {.missing = "records are missing, so they cannot account for what counters moved"};
  }
  RuleResult result;
  bool compared = false;
  for (const analysis::CounterCheck& check : facts.measures.counters) {
    if (!check.ratio) continue;
    compared = true;
    if (explained(facts, check)) continue;
    const double off = *check.ratio - 1;
    const std::uint64_t expected = check.frame_bytes.value_or(check.record_bytes);
    Finding finding{.id = "counters-disagree", .severity = Severity::kWarning};
    finding.where = fmt::format("node {}, {}", check.counter.from_node, check.counter.source);
    finding.sentence = fmt::format("the counter moved {}, the records account for {}: {} {}",
                                   bytes_text(static_cast<double>(check.counter.bytes)),
                                   bytes_text(static_cast<double>(expected)),
                                   percent(std::fabs(off)),
                                   off > 0 ? "more" : "less");
    finding.evidence = {
        {"counter", bytes_text(static_cast<double>(check.counter.bytes)), check.counter.source},
        {"records",
         bytes_text(static_cast<double>(check.record_bytes)),
         "puts of measured operations"}};
    if (check.counter.messages) {
      finding.evidence.push_back({"messages",
                                  fmt::format("{}", *check.counter.messages),
                                  "puts, counts, credits and heartbeats of the node's ranks"});
    }
    if (check.counter.resent_segments) {
      finding.evidence.push_back({"sent again",
                                  fmt::format("{} segment{}, {} at most",
                                              *check.counter.resent_segments,
                                              *check.counter.resent_segments == 1 ? "" : "s",
                                              bytes_text(static_cast<double>(check.resent_bytes))),
                                  "RetransSegs of the node"});
    }
    finding.derivation = fmt::format("{} / {} = {}",
                                     bytes_text(static_cast<double>(check.counter.bytes)),
                                     bytes_text(static_cast<double>(expected)),
                                     number(*check.ratio));
    finding.action =
        off > 0 ? "look for other traffic on the port, and for retransmissions"
                : "is it the port that the ranks use, and was it read after the last operation?";
    finding.confirm = "the counter stands still while the run is idle";
    if (!check.frame_bytes) finding.confidence = Confidence::kLow;
    result.findings.push_back(std::move(finding));
  }
  if (!compared) result.missing = "no counter of a link in run.json";
  return result;
}

}  // namespace shunt::verdict
