// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What foreign text says, typed, each fact with its place. in: Documents through readers
// (reader.hpp) → out: Evidence, judged by verdict/foreign.hpp. Facts are as printed: nothing is
// corrected here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logs/counter_facts.hpp"
#include "logs/link_facts.hpp"
#include "logs/rate_matrix_facts.hpp"
#include "logs/source.hpp"
#include "logs/topology_facts.hpp"
#include "logs/trace_facts.hpp"

namespace shunt::logs {

enum class Operation {
  kUnknown,
  kDispatch,
  kCombine,
  kPair,  ///< dispatch + combine, timed together
  kAllToAll,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kSendRecv,
  kPut,
  kGet,
  kWrite,
  kRead,
  kSend,
};
[[nodiscard]] const char* to_string(Operation operation);

/// Which bytes a printed rate counts.
enum class Path {
  kUnknown,
  kRdma,       ///< (token, node) copies, as the peers print: own node included.
  kNvl,        ///< Rows received inside the scale-up domain (NVLink, xGMI), own rank included.
  kSelection,  ///< Every (token, expert) selection, wherever it goes.
  kAlgorithm,  ///< Bytes per rank over time, link unknown (nccl-tests algbw and the like).
  kWire,       ///< Bytes that crossed one link (perftest, put_bw).
  kMemory,     ///< A local copy.
};
[[nodiscard]] const char* to_string(Path path);

/// What the printed time spans.
enum class Span {
  kUnknown,
  kKernel,  ///< Device kernels only.
  kApi,     ///< The whole call, host included.
};

/// One printed measurement of one operation.
struct Sample {
  /// Reader and generation: "deepep-internode", "hybridep", "mori" …; "published" for figures of
  /// somebody else's run that were pasted to compare with.
  std::string format;
  Operation operation = Operation::kUnknown;
  std::string variant;  ///< "", "permute", "fused permute", "cached", "expanded", "32 blocks" …
  Path path = Path::kUnknown;
  Span span = Span::kUnknown;
  std::string dtype;  ///< "fp8", "bf16", "nvfp4", …, empty if not printed.
  std::optional<int> rank;
  std::string group;  ///< Heading above it ("Node 1", "32 blocks"); separates runs in a file.
  int run = 0;        ///< 0, 1 …: repeated runs in one file.
  bool best = false;  ///< The log's own choice of best.
  std::optional<double> rate_gbs;  ///< GB/s, 1e9.
  double rate_error = 0.005;       ///< Half of the last printed place.
  std::optional<double> time_us;   ///< What the rate was computed from.
  std::optional<double> min_us;
  std::optional<double> max_us;
  std::optional<double> notify_us;
  std::optional<double> send_us;
  std::optional<double> recv_us;
  std::optional<double> bytes;  ///< As printed.
  double bytes_error = 0;
  std::map<std::string, double> settings;  ///< "sms", "nvl_chunk", "rdma_chunk", "blocks", "ranks"
  Source source;
};

/// One row of a size sweep.
struct SweepRow {
  double size_bytes = 0;
  bool size_inferred = false;  ///< Not printed; from its neighbours or from rate · time.
  std::optional<double> count;
  std::optional<double> time_us;
  std::optional<double> rate_gbs;  ///< algbw, average bandwidth: bytes over time.
  std::optional<double> bus_gbs;   ///< nccl-tests busbw.
  std::optional<double> peak_gbs;
  std::optional<double> message_rate;  ///< Messages per second.
  std::optional<double> iterations;
  std::optional<double> latency_us;  ///< Of one message, where the tool prints latency.
  std::optional<double> wrong;       ///< nccl-tests #wrong; absent if the column is.
  std::optional<double> in_place_time_us;
  std::optional<double> in_place_rate_gbs;
  std::optional<double> in_place_bus_gbs;
  Source source;
};

/// A size sweep: nccl-tests, perftest, OSU, NVSHMEM perftest, pasted tables.
struct Sweep {
  std::string format;  ///< "nccl-tests", "perftest", "osu", "nvshmem", "table" …
  Operation operation = Operation::kUnknown;
  Path path = Path::kUnknown;
  std::string title;  ///< Heading or column that tells sweeps apart.
  std::string group;
  std::vector<SweepRow> rows;
  std::map<std::string, std::string> settings;  ///< "device", "mtu", "link_type", "qps" …
  bool out_of_bounds_failed = false;
  Source source;
};

/// Where a configuration value came from; a higher one wins.
enum class Origin { kProse, kLog, kEnvironment, kCommandLine, kOption };
[[nodiscard]] const char* to_string(Origin origin);

/// key = value as found. Canonical keys (config_keys()) have canonical values; environment
/// variables keep their own names.
struct ConfigFact {
  std::string key;
  std::string value;
  Origin origin = Origin::kProse;
  Source source;
};

enum class FailureKind {
  kTimeout,
  kInitFailed,
  kFallback,  ///< Works, but on a slower path (IBGDA → CPU proxy).
  kNicSkipped,
  kCompletion,  ///< A completion with error.
  kAssert,
  kCrash,
  kLinkDown,
  kWrongData,
  kWarning,
};
[[nodiscard]] const char* to_string(FailureKind kind);

/// One known failure line. Fields carry the meaning of what it printed, by name.
struct Failure {
  FailureKind kind = FailureKind::kWarning;
  std::string
      pattern;  ///< Stable id of the known text: "deepep-barrier", "nvshmem-ibgda-fallback".
  std::optional<int> rank;
  std::map<std::string, std::string> fields;
  Source source;
};

/// A statement about one rank or device that is neither a rate nor a failure ("rank 3 uses
/// mlx5_bond_1"): pairs for mapping rules.
struct Mapping {
  std::string kind;  ///< "nic", "dev_id"
  std::optional<int> rank;
  std::string value;
  Source source;
};

/// Counts that a log prints beside its rates ("rank 8 recv 26757 tokens 8166 rdma tokens").
struct TokenCount {
  std::optional<int> rank;
  std::optional<double> received;     ///< Rows received by this rank.
  std::optional<double> node_copies;  ///< (token, node) pairs.
  Source source;
};

/// "I reach 10 GB/s with another library": what the writer measured another way.
struct Claim {
  double gbs = 0;
  Source source;
};

/// A line that looked like a known record but could not be read to its end.
struct Truncated {
  std::string format;
  Source source;
};

struct Unread {
  Source source;
};

struct FileInfo {
  std::string name;
  std::size_t lines = 0;
  std::size_t content_lines = 0;   ///< Records that are neither blank nor a fence.
  std::size_t read_lines = 0;      ///< Of these, understood by a reader.
  std::vector<std::string> kinds;  ///< What was recognised, in order of appearance.
  std::vector<std::string> notes;
};

struct Evidence {
  std::vector<FileInfo> files;
  std::vector<Sample> samples;
  std::vector<Sweep> sweeps;
  std::vector<ConfigFact> config;
  std::vector<Failure> failures;
  std::vector<Mapping> mappings;
  std::vector<TokenCount> token_counts;
  std::vector<Claim> claims;
  std::vector<TopologyFact> topologies;
  std::vector<PeerAccess> peer_access;
  std::vector<RateMatrix> rate_matrices;
  std::vector<CounterFact> counters;
  std::vector<LinkFact> links;
  std::vector<TraceFact> traces;
  std::vector<Truncated> truncated;
  std::vector<Unread> unread;  ///< Lines that nobody understood, prose included.

  /// The winning fact for `key` as seen from `file` (its own facts before those of other files,
  /// within the same origin); nullptr if nothing says it.
  [[nodiscard]] const ConfigFact* find(std::string_view key, int file = -1) const;
  /// All facts for `key`, best first.
  [[nodiscard]] std::vector<const ConfigFact*> find_all(std::string_view key, int file = -1) const;
  /// As find, as a number.
  [[nodiscard]] std::optional<double> number(std::string_view key, int file = -1) const;
  [[nodiscard]] bool empty() const;
};

}  // namespace shunt::logs
