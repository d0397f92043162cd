// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "analysis/finish.hpp"

namespace shunt::analysis {
namespace {

using record::Phase;
using record::SpanKind;

/// Samples of one phase, one a (rank, iteration).
struct PhaseSamples {
  std::vector<double> start, end, dur, wait, copy, reduce, post, barrier, bytes, rate, blocks;
  std::array<double, kWaitReasons> reasons{};
  struct OnRank {
    std::vector<double> dur, wait, own;
  };
  std::map<int, OnRank> ranks;

  void add(const PhaseTotals& totals, std::uint64_t origin, int rank) {
    const double span = totals.dur();
    const double waited = totals.spent_ns(SpanKind::kWait);
    start.push_back(static_cast<double>(totals.begin - origin));
    end.push_back(static_cast<double>(totals.end - origin));
    dur.push_back(span);
    wait.push_back(waited);
    copy.push_back(totals.spent_ns(SpanKind::kCopy));
    reduce.push_back(totals.spent_ns(SpanKind::kReduce));
    post.push_back(totals.spent_ns(SpanKind::kPost));
    barrier.push_back(totals.spent_ns(SpanKind::kBarrier));
    bytes.push_back(static_cast<double>(totals.bytes()));
    if (span > 0) rate.push_back(static_cast<double>(totals.bytes()) / span);
    blocks.push_back(totals.blocks());
    for (std::size_t reason = 0; reason < kWaitReasons; ++reason) {
      reasons[reason] += static_cast<double>(totals.wait_ns[reason]);
    }
    ranks[rank].dur.push_back(span);
    ranks[rank].wait.push_back(waited);
    ranks[rank].own.push_back(totals.own_ns());
  }

  [[nodiscard]] PhaseMeasure summarise_as(Phase phase) const {
    PhaseMeasure measure{.phase = phase,
                         .start_ns = summarise(start),
                         .end_ns = summarise(end),
                         .dur_ns = summarise(dur),
                         .wait_ns = summarise(wait),
                         .copy_ns = summarise(copy),
                         .reduce_ns = summarise(reduce),
                         .post_ns = summarise(post),
                         .barrier_ns = summarise(barrier),
                         .bytes = summarise(bytes),
                         .bytes_per_ns = summarise(rate),
                         .blocks = summarise(blocks)};
    double waited = 0;
    for (const double reason : reasons) waited += reason;
    for (const double reason : reasons) {
      measure.wait_share_by_reason.push_back(waited > 0 ? reason / waited : 0);
    }
    double slowest = -1;
    for (const auto& [rank, samples] : ranks) {
      const double span = median(samples.dur);
      measure.by_rank.push_back({rank, span, median(samples.wait), median(samples.own)});
      if (span > slowest) {
        slowest = span;
        measure.slowest_rank = rank;
      }
    }
    return measure;
  }
};

bool synchronises(Phase phase) {
  return phase == Phase::kCountExchange || phase == Phase::kDispatchSync ||
         phase == Phase::kCombineSync || phase == Phase::kCombineSyncBarrier ||
         phase == Phase::kCombineRelease;
}

/// What even the least waiting rank spent in `phase` outside the link windows.
double floor_of(const Accumulated& seen,
                const OperationExtent& extent,
                const std::vector<Interval>& windows,
                Phase phase) {
  double least = -1;
  for (int rank = 0; rank < static_cast<int>(extent.ranks.size()); ++rank) {
    const PhaseTotals* totals = seen.find(extent.op, rank, phase);
    if (totals == nullptr || totals->end <= totals->begin) continue;
    const double alone =
        totals->dur() - static_cast<double>(overlap({totals->begin, totals->end}, windows));
    if (least < 0 || alone < least) least = alone;
  }
  return std::max(0.0, least);
}

void measure_ranks(const Accumulated& seen,
                   const std::vector<OperationExtent>& extents,
                   OperationMeasure& out) {
  const std::size_t world = extents.empty() ? 0 : extents.front().ranks.size();
  for (std::size_t rank = 0; rank < world; ++rank) {
    std::vector<double> late, dur, own, wait;
    for (const OperationExtent& extent : extents) {
      const Interval& on_rank = extent.ranks[rank];
      if (on_rank.begin == kNever) continue;
      late.push_back(static_cast<double>(on_rank.begin - extent.begin));
      dur.push_back(static_cast<double>(on_rank.end - on_rank.begin));
      double own_sum = 0;
      double wait_sum = 0;
      for (const Phase phase : phases_of(out.kind)) {
        const PhaseTotals* totals = seen.find(extent.op, static_cast<int>(rank), phase);
        if (totals == nullptr) continue;
        wait_sum += totals->spent_ns(SpanKind::kWait);
        own_sum += totals->own_ns();
      }
      own.push_back(own_sum);
      wait.push_back(wait_sum);
    }
    if (dur.empty()) continue;
    out.by_rank.push_back({.rank = static_cast<int>(rank),
                           .late_ns = median(late),
                           .dur_ns = median(dur),
                           .own_ns = median(own),
                           .wait_ns = median(wait)});
  }
}

}  // namespace

void measure_phases(const Accumulated& seen,
                    const std::vector<OperationExtent>& extents,
                    const std::vector<std::vector<Interval>>& windows,
                    OperationMeasure& out) {
  std::vector<double> floors(extents.size(), 0.0);
  for (const Phase phase : phases_of(out.kind)) {
    PhaseSamples samples;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const OperationExtent& extent = extents[i];
      for (int rank = 0; rank < static_cast<int>(extent.ranks.size()); ++rank) {
        const PhaseTotals* totals = seen.find(extent.op, rank, phase);
        if (totals != nullptr && totals->begin >= extent.begin) {
          samples.add(*totals, extent.begin, rank);
        }
      }
      if (synchronises(phase)) floors[i] += floor_of(seen, extent, windows[i], phase);
    }
    if (!samples.dur.empty()) out.phases.push_back(samples.summarise_as(phase));
  }
  out.sync_floor_ns = summarise(std::move(floors));
  measure_ranks(seen, extents, out);
}

}  // namespace shunt::analysis
