// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// run.json as a value: what a run directory says about the run besides its records. Written by the
// command that ran, read by analysis/. Every field that a run may lack is optional or empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/shape.hpp"
#include "record/record.hpp"
#include "shunt/types.hpp"
#include "traffic/ledger.hpp"

namespace shunt::profile {

/// The whole configuration: enough to run it again.
struct RunConfig {
  std::int64_t tokens = 0;  ///< Per rank (the largest rank's, where they differ).
  std::int64_t hidden = 0;
  int topk = 0;
  int experts = 0;
  DType dtype = DType::kBF16;
  DType wire_dtype = DType::kBF16;  ///< Of combine's partials.
  std::string routing;              ///< "uniform", "zipf:1.2", …
  std::uint64_t seed = 0;
  int chunk_tokens = 0;
  int credits = 0;  ///< Chunk slots per (source, kind).
  int qps = 0;
  /// Of a rank, as many as ran; absent: one.
  std::optional<int> proxy_threads;
  int rdma_blocks = 0;
  int blocks = 0;
  int iters = 0;
  /// Records were kept of every so-maniest measured iteration; absent: of all.
  std::optional<int> recorded_every;
  int warmup = 0;
  std::string variant;   ///< "v1"
  std::string device;    ///< "cpu"
  std::string launcher;  ///< World::kind()
  std::string provider;  ///< Fabric::provider(), empty with one node.
  /// Where the records of devices lie between nodes, and why; absent on the CPU, and with one node.
  std::optional<std::string> staging;
  std::optional<double> link_rate_bytes_per_s;  ///< Rating of one NIC, one direction.
  std::optional<int> nics_per_node;  ///< That its ranks use together; absent: one is assumed.
  bool emulated_link = false;
  /// Depth of its token bucket: what passes at once after an idle time.
  std::optional<std::uint64_t> link_burst_bytes;
  int link_mtu = 1500;  ///< Of the links between nodes, where frames are derived.
  std::vector<std::string> command_line;

  /// Rating of a node's NICs together, one direction; absent where none is given or it is no rate.
  [[nodiscard]] std::optional<double> node_rate_bytes_per_s() const {
    if (!link_rate_bytes_per_s || *link_rate_bytes_per_s <= 0) return std::nullopt;
    return *link_rate_bytes_per_s * nics_per_node.value_or(1);
  }
};

/// One collective operation of the run and what it was for.
struct Operation {
  std::uint32_t op = 0;  ///< As in the records.
  record::Phase kind = record::Phase::kDispatch;
  int iteration = 0;
  bool warmup = false;
};

/// Clock of one rank against the reference clock: t_ref = t + offset + drift · (t − begin).
struct ClockFit {
  int rank = 0;
  std::int64_t offset_ns = 0;
  double drift_ppb = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t residual_ns = 0;  ///< Bound of the error that is left.
};

/// A counter of one link direction over the measured operations.
struct LinkCounter {
  int from_node = 0;
  int to_node = -1;    ///< −1: to all others (one NIC per node).
  std::string source;  ///< "tbf queue discipline", "port_xmit_data of mlx5_0"
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;  ///< Frames; 0 where the counter has none.
  /// Messages that the ranks behind the link posted meanwhile: puts, counts, credits, heartbeats.
  std::optional<std::uint64_t> messages;
  std::optional<std::uint64_t> resent_segments;  ///< By TCP of the node, in the same time.
};

/// A thread that serves the fabric for a rank: whether it keeps up. Times in ns; the largest
/// values are those of the whole run, warm-up included.
struct ProgressThread {
  int rank = 0;
  std::optional<int> thread;     ///< Serves rail peers p with p mod threads = thread; absent: 0.
  std::uint64_t cpu_ns = 0;      ///< Of the thread, over the measured iterations …
  std::uint64_t elapsed_ns = 0;  ///< … which took so long, barriers between them included.
  std::uint64_t descriptors = 0;
  std::uint64_t largest_backlog = 0;  ///< Descriptors that waited for it at once.
  std::uint64_t aged = 0;             ///< Puts of which the age is known, and their descriptors'
  std::uint64_t total_age_ns = 0;     ///< age when the thread took them: all together
  std::uint64_t largest_age_ns = 0;   ///< and the oldest.
  std::uint64_t largest_poll_gap_ns = 0;  ///< Between two looks at completions, while awake.
};

/// Outcome of --check.
struct Correctness {
  bool checked = false;
  std::uint64_t dispatch_rows = 0;
  std::uint64_t dispatch_mismatches = 0;
  double combine_max_error = 0;  ///< Largest |out − reference| relative to its bound; ≤ 1 passes.
  std::uint64_t combine_mismatches = 0;
};

struct RunInfo {
  int schema_version = 1;
  std::string tool_version;
  std::string started;  ///< RFC 3339, UTC.
  /// Any number that differs from run to run; also in each rank's file, so that files of different
  /// runs are not taken for one. 0: not known.
  std::uint64_t run_id = 0;
  bool finished = false;  ///< False as long as the run has not come to its end.
  cluster::Shape shape;
  RunConfig config;
  std::vector<traffic::Ledger> ledgers;  ///< By source rank, for one iteration.
  std::vector<Operation> operations;
  std::vector<ClockFit> clocks;
  std::vector<LinkCounter> counters;
  std::vector<std::uint64_t> dropped_records;  ///< By rank.
  /// By rank, then by thread; worlds of several nodes.
  std::optional<std::vector<ProgressThread>> progress;
  Correctness correctness;
};

}  // namespace shunt::profile
