// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a run did, measured. in: records and run.json (MeasureBuilder) → out: Measures, judged by
// verdict/ and shown by report/. Plain values; times are ns on the reference clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/stats.hpp"
#include "profile/run.hpp"
#include "record/record.hpp"

namespace shunt::analysis {

/// A phase on one rank over the measured iterations: medians.
struct RankPhase {
  int rank = 0;
  double dur_ns = 0;
  double wait_ns = 0;
  double own_ns = 0;  ///< What its blocks spent there without waiting, mean over them.
};

/// A phase over all ranks and measured iterations; one sample per (rank, iteration).
///
/// A rank's phase runs from the first block's begin to the last block's end. What its blocks did in
/// it (wait, copy, reduce, post, barrier) is the mean over them: wait + copy + reduce + post +
/// barrier ≤ dur, whatever the number of blocks, and less where they left it for other phases, as
/// senders do between staging and sending.
struct PhaseMeasure {
  record::Phase phase = record::Phase::kNone;
  Stats start_ns;  ///< Since the operation's first rank entered it.
  Stats end_ns;
  Stats dur_ns;
  Stats wait_ns;
  Stats copy_ns;
  Stats reduce_ns;
  Stats post_ns;
  Stats barrier_ns;
  Stats bytes;
  Stats bytes_per_ns;  ///< bytes / dur of each sample, in GB/s.
  Stats blocks;
  /// Waited time by record::WaitReason, share of all waited time of the phase (0 … 1).
  std::vector<double> wait_share_by_reason;
  std::vector<RankPhase> by_rank;
  int slowest_rank = -1;  ///< Largest median duration.
};

/// One rank in an operation, medians over the measured iterations.
struct RankOperation {
  int rank = 0;
  double late_ns = 0;  ///< Entry after the first rank's entry.
  double dur_ns = 0;
  double own_ns = 0;  ///< Σ over phases.
  double wait_ns = 0;
};

/// One NIC's part of what a link carried.
struct NicMeasure {
  int nic = 0;
  Stats bytes;      ///< Of the puts that carry records; all empty where one has no arrival.
  Stats window_ns;  ///< Union over the ranks of [first put posted, last arrival] on it.
  Stats rate;       ///< bytes / window, GB/s.
  Stats puts;
  std::optional<double> utilisation;  ///< Share of one NIC's rating, median.
};

/// A link in one direction: the NIC of `node`, all its ranks sharing it; incoming ones from three
/// nodes on, where several senders may meet at one. One sample per measured iteration whose puts
/// and arrivals are all there.
struct LinkMeasure {
  int node = 0;
  bool incoming = false;
  std::string name;   ///< "node 0 → node 1", "node 0 → others", "others → node 0"
  Stats window_ns;    ///< Union over the sharing ranks of [first put posted, last arrival].
  Stats bytes;        ///< Of the puts that carry records, framing of chunks included.
  Stats frame_bytes;  ///< Estimate; empty where the provider's framing is not modelled.
  Stats rate;         ///< bytes / window, GB/s.
  Stats duty;         ///< window / operation.
  Stats puts;
  double put_bytes_mean = 0;
  std::uint64_t control_bytes = 0;  ///< Counts and the like, over all measured iterations.
  /// Share of the rating, medians; absent without a rating, or where the records are impossible.
  std::optional<double> utilisation;        ///< Record bytes.
  std::optional<double> frame_utilisation;  ///< Frame bytes.
  /// bytes / (window · rating) as computed, when it exceeds what a link can carry.
  std::optional<double> impossible_utilisation;
  Stats posting_ns;  ///< First to last put posted.
  /// Bytes over the union of the sharing ranks' send phases, GB/s: posting, not transfer.
  Stats posting_rate;
  // Paired puts and arrivals of the operations kept for it (evenly spaced; all in small runs).
  Stats latency_ns;           ///< Posted → arrival, one sample per put.
  double in_flight_mean = 0;  ///< Σ latency / window.
  int in_flight_max = 0;
  int qps_used = 0;
  int last_source = -1;  ///< The pair whose arrival ended the window most often.
  int last_target = -1;
  double last_share = 0;                    ///< How often, 0 … 1.
  std::uint64_t incomplete_iterations = 0;  ///< Left out: puts without arrival or the reverse.
  /// Outgoing links of emulated nodes with several NICs: by NIC. Empty otherwise.
  std::vector<NicMeasure> nics;
};

/// dispatch or combine over the measured iterations.
struct OperationMeasure {
  record::Phase kind = record::Phase::kDispatch;
  std::vector<std::uint32_t> ops;         ///< Measured operations, in order.
  std::vector<double> duration_by_op_ns;  ///< First entry to last exit over the ranks, as `ops`.
  std::vector<double> warmup_duration_ns;
  Stats duration_ns;
  Stats skew_ns;          ///< Last entry − first entry over the ranks.
  int last_rank = -1;     ///< The rank that entered last most often,
  double last_share = 0;  ///< and how often.
  /// Σ over the synchronising phases of the time that even the rank that waited least spent in
  /// them while no link carried records: overhead that no other rank's lateness explains.
  Stats sync_floor_ns;
  std::vector<PhaseMeasure> phases;  ///< In the order a token meets them; those that occurred.
  std::vector<LinkMeasure> links;    ///< By node.
  std::vector<RankOperation> by_rank;

  [[nodiscard]] const PhaseMeasure* find(record::Phase phase) const;
};

/// A NIC or queue counter beside what the records say.
struct CounterCheck {
  profile::LinkCounter counter;
  /// Of all puts of the node in measured operations, those without records included.
  std::uint64_t record_bytes = 0;
  /// What the counter should show: records, message headers, frames.
  std::optional<std::uint64_t> frame_bytes;
  std::uint64_t resent_bytes = 0;  ///< At most, by segments that TCP sent again.
  std::optional<double> ratio;     ///< counter / frame bytes, or / record bytes without a model.
};

struct Measures {
  std::vector<OperationMeasure> operations;  ///< dispatch, combine; those that occurred.
  std::vector<CounterCheck> counters;
  std::uint64_t clock_residual_ns = 0;  ///< Largest bound over the ranks.
  std::uint64_t records = 0;
  std::uint64_t dropped_records = 0;
  std::vector<int> missing_ranks;
  std::vector<int> incomplete_ranks;
  std::vector<std::string> notes;         ///< What was assumed or could not be measured.
  std::optional<int> timeline_iteration;  ///< The iteration nearest the median; to be drawn.
  std::vector<std::uint32_t> timeline_ops;

  [[nodiscard]] const OperationMeasure* find(record::Phase kind) const;
};

/// The phases of an operation (kDispatch or kCombine) in the order a token meets them.
[[nodiscard]] const std::vector<record::Phase>& phases_of(record::Phase operation);
/// kDispatch or kCombine; kNone for kNone.
[[nodiscard]] record::Phase operation_of(record::Phase phase);

}  // namespace shunt::analysis
