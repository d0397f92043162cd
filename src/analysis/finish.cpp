// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/finish.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analysis/framing.hpp"
#include "analysis/measure_builder.hpp"

namespace shunt::analysis {
namespace {

using record::Phase;

/// Operations of the run in order; inferred from the records where run.json has none.
std::vector<profile::Operation> operations_of(const Accumulated& seen,
                                              const profile::RunInfo& run,
                                              std::vector<std::string>& notes) {
  if (!run.operations.empty()) return run.operations;
  std::map<std::uint32_t, Phase> kinds;
  for (const auto& [key, totals] : seen.phases) {
    const Phase kind = operation_of(static_cast<Phase>(key & 0xff));
    if (kind != Phase::kNone) kinds[static_cast<std::uint32_t>(key >> 32)] = kind;
  }
  std::vector<profile::Operation> operations;
  std::map<Phase, int> iteration;
  for (const auto& [op, kind] : kinds) {
    operations.push_back({.op = op, .kind = kind, .iteration = iteration[kind]++});
  }
  if (!operations.empty()) {
    notes.push_back(
        "run.json lists no operations: all that left records are measured, warm-up included");
  }
  return operations;
}

void measure_extents(const std::vector<OperationExtent>& extents, OperationMeasure& out) {
  std::vector<double> skews;
  std::map<int, int> last;
  for (const OperationExtent& extent : extents) {
    out.ops.push_back(extent.op);
    out.duration_by_op_ns.push_back(static_cast<double>(extent.end - extent.begin));
    skews.push_back(static_cast<double>(extent.last_begin - extent.begin));
    ++last[extent.last_rank];
  }
  out.duration_ns = summarise(out.duration_by_op_ns);
  out.skew_ns = summarise(std::move(skews));
  for (const auto& [rank, count] : last) {
    const double share = count / static_cast<double>(extents.size());
    if (share <= out.last_share) continue;
    out.last_rank = rank;
    out.last_share = share;
  }
}

void note_ranks(const profile::RecordingSummary& recording, Measures& out) {
  for (const profile::RankFile& file : recording.ranks) {
    if (!file.present) {
      out.missing_ranks.push_back(file.rank);
    } else if (!file.complete || file.bad_blocks != 0) {
      out.incomplete_ranks.push_back(file.rank);
    }
    out.dropped_records += file.dropped;
  }
  std::uint64_t dropped = 0;
  for (const std::uint64_t count : recording.run.dropped_records) dropped += count;
  out.dropped_records = std::max(out.dropped_records, dropped);
  for (const profile::ClockFit& fit : recording.run.clocks) {
    out.clock_residual_ns = std::max(out.clock_residual_ns, fit.residual_ns);
  }
}

/// The measured iteration whose dispatch + combine time lies nearest the median of those sums.
void choose_iteration(const std::vector<profile::Operation>& operations, Measures& out) {
  std::map<int, double> totals;
  for (const OperationMeasure& measure : out.operations) {
    for (std::size_t i = 0; i < measure.ops.size(); ++i) {
      const auto it = std::ranges::find(operations, measure.ops[i], &profile::Operation::op);
      if (it != operations.end()) totals[it->iteration] += measure.duration_by_op_ns[i];
    }
  }
  if (totals.empty()) return;
  std::vector<double> sums;
  for (const auto& [iteration, sum] : totals) sums.push_back(sum);
  const double middle = median(std::move(sums));
  const auto best = std::ranges::min_element(
      totals, {}, [middle](const auto& entry) { return std::fabs(entry.second - middle); });
  out.timeline_iteration = best->first;
  for (const profile::Operation& operation : operations) {
    if (operation.iteration == best->first && !operation.warmup) {
      out.timeline_ops.push_back(operation.op);
    }
  }
}

void note_assumptions(const profile::RunInfo& run, Measures& out) {
  const bool links = std::ranges::any_of(
      out.operations, [](const OperationMeasure& measure) { return !measure.links.empty(); });
  if (!links) return;
  if (run.config.nics_per_node) {
    out.notes.push_back("links: the NICs of a node are measured together, against their sum");
  } else if (!run.config.emulated_link) {
    out.notes.push_back("links: one NIC a node is assumed, shared by all of its ranks");
  }
  if (const std::string framing = describe_framing(run.config.provider, run.config.link_mtu);
      !framing.empty()) {
    out.notes.push_back(framing);
  }
  if (!out.counters.empty() && out.counters.front().counter.messages) {
    const std::string counters = describe_counter(run.config.provider);
    if (!counters.empty()) out.notes.push_back(counters);
  }
}

}  // namespace

std::vector<Interval> unite(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (interval.end <= interval.begin) continue;
    if (!merged.empty() && interval.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, interval.end);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

std::uint64_t length(const std::vector<Interval>& disjoint) {
  std::uint64_t sum = 0;
  for (const Interval& interval : disjoint) sum += interval.end - interval.begin;
  return sum;
}

std::uint64_t overlap(Interval interval, const std::vector<Interval>& disjoint) {
  std::uint64_t sum = 0;
  for (const Interval& other : disjoint) {
    const std::uint64_t begin = std::max(interval.begin, other.begin);
    const std::uint64_t end = std::min(interval.end, other.end);
    if (end > begin) sum += end - begin;
  }
  return sum;
}

Interval operation_on_rank(const Accumulated& seen, std::uint32_t op, Phase kind, int rank) {
  if (const PhaseTotals* whole = seen.find(op, rank, kind)) return {whole->begin, whole->end};
  Interval envelope{kNever, 0};
  for (const Phase phase : phases_of(kind)) {
    const PhaseTotals* totals = seen.find(op, rank, phase);
    if (totals == nullptr) continue;
    envelope.begin = std::min(envelope.begin, totals->begin);
    envelope.end = std::max(envelope.end, totals->end);
  }
  return envelope;
}

OperationExtent extent_of(const Accumulated& seen, std::uint32_t op, Phase kind, int world) {
  OperationExtent extent{.op = op};
  for (int rank = 0; rank < world; ++rank) {
    const Interval on_rank = operation_on_rank(seen, op, kind, rank);
    extent.ranks.push_back(on_rank);
    if (on_rank.begin == kNever) continue;
    extent.begin = std::min(extent.begin, on_rank.begin);
    extent.end = std::max(extent.end, on_rank.end);
    if (extent.last_rank < 0 || on_rank.begin > extent.last_begin) {
      extent.last_rank = rank;
      extent.last_begin = on_rank.begin;
    }
  }
  return extent;
}

Measures MeasureBuilder::finish(const profile::RecordingSummary& recording) const {
  const profile::RunInfo& run = recording.run;
  Measures out;
  out.records = seen_->records;
  note_ranks(recording, out);
  const std::vector<profile::Operation> operations = operations_of(*seen_, run, out.notes);
  std::vector<std::uint32_t> measured;
  for (const Phase kind : {Phase::kDispatch, Phase::kCombine}) {
    OperationMeasure measure{.kind = kind};
    std::vector<OperationExtent> extents;
    for (const profile::Operation& operation : operations) {
      if (operation.kind != kind) continue;
      OperationExtent extent = extent_of(*seen_, operation.op, kind, run.shape.world);
      if (extent.begin == kNever) continue;
      if (operation.warmup) {
        measure.warmup_duration_ns.push_back(static_cast<double>(extent.end - extent.begin));
      } else {
        extents.push_back(std::move(extent));
        measured.push_back(operation.op);
      }
    }
    if (extents.empty()) continue;
    measure_extents(extents, measure);
    const auto windows = measure_links(*seen_, run, extents, measure);
    measure_phases(*seen_, extents, windows, measure);
    out.operations.push_back(std::move(measure));
  }
  out.counters = check_counters(*seen_, run, measured);
  choose_iteration(operations, out);
  note_assumptions(run, out);
  return out;
}

}  // namespace shunt::analysis
