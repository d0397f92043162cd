// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What `shunt bench` runs on every rank. in: BenchOptions, World → out: RankResult (times, checks),
// and the rank's record file in the run directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/emulated_nodes.hpp"
#include "bootstrap/world.hpp"
#include "profile/run.hpp"
#include "routing/generate.hpp"
#include "routing/spec.hpp"
#include "shunt/device.hpp"
#include "shunt/result.hpp"
#include "shunt/shunt.hpp"

namespace shunt::cli {

struct BenchOptions {
  int ranks = 4;  ///< Of the whole world.
  int nodes = 2;
  int ranks_per_node = 0;  ///< 0: ranks / nodes.
  std::int64_t tokens = 1024;
  std::int64_t hidden = 7168;
  int topk = 8;
  int experts = 256;
  DType dtype = DType::kBF16;
  std::optional<DType> wire_dtype;
  std::string routing = "uniform";
  std::uint64_t seed = 1;
  int chunk = 64;
  int credits = 8;
  int qps = 1;
  int proxy_threads = 1;
  int rdma_blocks = 1;
  int blocks = 1;
  std::string device = "cpu";    ///< Or "cuda".
  int sms = 16;                  ///< Blocks of a launch, cuda only.
  bool any_cpu = false;          ///< Progress threads are not kept near the device, cuda only.
  std::string staging = "auto";  ///< Or "host", "device": cuda only.
  int iters = 10;
  int warmup = 2;
  bool check = false;
  std::string provider;
  std::string nic;           ///< NICs by local rank, as text; empty: the provider's choice.
  std::string link_rate;     ///< Rating of one node's NIC, as text; empty: unknown.
  std::string emulate_link;  ///< Rate of emulated links, as text; empty: none.
  int emulate_nics = 1;      ///< Of an emulated node, each with a link of that rate.
  std::string out;           ///< Run directory; empty: a temporary one.
  bool force = false;
  std::string html;  ///< Page to write; empty: none.
  bool json = false;
  std::string fail_on;
  double deadline_s = 30;
  std::string faults;     ///< FaultOptions as text: drills.
  std::string slow_rank;  ///< "RANK:MS": that rank enters every operation late: drills.
  std::vector<std::string> command_line;
};

/// One rank's outcome, sent to whoever prints.
struct RankResult {
  profile::Correctness correctness;
  std::uint64_t dropped = 0;
  std::string provider;
  std::string staging;
  std::vector<profile::ProgressThread> progress;
  std::vector<profile::ClockFit> clocks;  ///< Rank 0's only.
  std::uint64_t messages = 0;  ///< Posted in the measured iterations, credits and heartbeats too.
  std::optional<profile::LinkCounter> counter;  ///< First rank of a node, emulated links only.
};

[[nodiscard]] std::vector<std::byte> to_bytes(const RankResult& result);
[[nodiscard]] Result<RankResult> from_bytes(const std::vector<std::byte>& bytes);

/// Everything that all ranks derive from the options in the same way.
struct BenchJob {
  BenchOptions options;
  cluster::Shape shape;
  routing::RoutingSpec routing;
  std::optional<double> link_rate;  ///< Bytes per second.
  /// NICs of local rank l: list l mod their number. Empty: the provider chooses.
  std::vector<std::vector<std::string>> nics;
  std::uint64_t run_id = 0;
  std::string directory;  ///< Exists; record files go there.
  const bootstrap::EmulatedNodes* links = nullptr;

  /// Checks every option; the first that is not allowed is named.
  [[nodiscard]] static Result<BenchJob> create(const BenchOptions& options);
  /// Of a long run only every so-maniest iteration leaves records, so that what is kept and read
  /// again stays small: at most kMostMeasured and kMostWarm of them, the first among them.
  [[nodiscard]] int recorded_every(bool warmup) const;
  [[nodiscard]] bool records(int iteration, bool warmup) const {
    return iteration % recorded_every(warmup) == 0;
  }
  [[nodiscard]] std::vector<std::string> nics_of(int local) const;
  /// The NICs of a rank: those named for it, or of its emulated node if that has several.
  [[nodiscard]] std::vector<std::string> nics_of_rank(int rank) const;
  /// Distinct NICs that the ranks of a node name or an emulated node has; absent if they name none
  /// and it has one.
  [[nodiscard]] std::optional<int> nics_per_node() const;
  static constexpr int kMostMeasured = 2000;
  static constexpr int kMostWarm = 100;
};

/// A rank that enters every operation late; rank −1: none.
struct SlowRank {
  int rank = -1;
  double ms = 0;
};
[[nodiscard]] Result<SlowRank> parse_slow_rank(const std::string& text);

/// The routing of every rank: generated alike wherever it is needed.
[[nodiscard]] Result<std::vector<routing::Routing>> all_routings(const BenchJob& job);

/// Runs the job on this rank. Collective.
[[nodiscard]] Result<RankResult> run_rank(bootstrap::World& world, const BenchJob& job);

/// Configuration, ledgers and list of operations: run.json before the first operation.
[[nodiscard]] Result<profile::RunInfo> describe_run(const BenchJob& job, const char* launcher);

}  // namespace shunt::cli
