// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to analysis/: from what was accumulated to measures, one function a subject.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/accumulators.hpp"
#include "analysis/measures.hpp"
#include "profile/run.hpp"

namespace shunt::analysis {

/// Half-open, ns on the reference clock.
struct Interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Merges overlapping intervals; the result is sorted and disjoint.
[[nodiscard]] std::vector<Interval> unite(std::vector<Interval> intervals);
[[nodiscard]] std::uint64_t length(const std::vector<Interval>& disjoint);
/// Length of [begin, end) that lies inside `disjoint`.
[[nodiscard]] std::uint64_t overlap(Interval interval, const std::vector<Interval>& disjoint);

/// An operation on one rank: the operation's own span, or the envelope of its phases. begin ==
/// kNever where the rank left no record of it.
[[nodiscard]] Interval operation_on_rank(const Accumulated& seen,
                                         std::uint32_t op,
                                         record::Phase kind,
                                         int rank);

/// An operation over all ranks, with what each rank did.
struct OperationExtent {
  std::uint32_t op = 0;
  std::vector<Interval> ranks;  ///< By rank.
  std::uint64_t begin = kNever;
  std::uint64_t end = 0;
  int last_rank = -1;  ///< Entered last.
  std::uint64_t last_begin = 0;
};
[[nodiscard]] OperationExtent extent_of(const Accumulated& seen,
                                        std::uint32_t op,
                                        record::Phase kind,
                                        int world);

/// Fills phases, by_rank and sync_floor_ns. `windows[i]`: link windows of extents[i], disjoint.
void measure_phases(const Accumulated& seen,
                    const std::vector<OperationExtent>& extents,
                    const std::vector<std::vector<Interval>>& windows,
                    OperationMeasure& out);

/// Fills links; returns, for each of `extents`, the union of all links' windows.
[[nodiscard]] std::vector<std::vector<Interval>> measure_links(
    const Accumulated& seen,
    const profile::RunInfo& run,
    const std::vector<OperationExtent>& extents,
    OperationMeasure& out);

/// Counters of run.json against the puts of the measured operations.
[[nodiscard]] std::vector<CounterCheck> check_counters(const Accumulated& seen,
                                                       const profile::RunInfo& run,
                                                       const std::vector<std::uint32_t>& ops);

}  // namespace shunt::analysis
