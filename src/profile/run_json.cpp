// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/run_json.hpp"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "profile/json_fields.hpp"
#include "profile/rank_log.hpp"

namespace shunt::profile {

// One list of fields per structure serves both directions: `io` is a JsonWriter or a JsonReader.
// Outside of the unnamed namespace because argument-dependent lookup does not enter one.

template <typename Io, typename T>
void fields(Io& io, cluster::Shape* /*tag*/, T& shape) {
  io("world", shape.world);
  io("ranks_per_node", shape.ranks_per_node);
  io("nodes", shape.nodes);
}

template <typename Io, typename T>
void fields(Io& io, RunConfig* /*tag*/, T& config) {
  io("tokens", config.tokens);
  io("hidden", config.hidden);
  io("topk", config.topk);
  io("experts", config.experts);
  io("dtype", config.dtype);
  io("wire_dtype", config.wire_dtype);
  io("routing", config.routing);
  io("seed", config.seed);
  io("chunk_tokens", config.chunk_tokens);
  io("credits", config.credits);
  io("qps", config.qps);
  io("proxy_threads", config.proxy_threads);
  io("rdma_blocks", config.rdma_blocks);
  io("blocks", config.blocks);
  io("iters", config.iters);
  io("recorded_every", config.recorded_every);
  io("warmup", config.warmup);
  io("variant", config.variant);
  io("device", config.device);
  io("launcher", config.launcher);
  io("provider", config.provider);
  io("staging", config.staging);
  io("link_rate_bytes_per_s", config.link_rate_bytes_per_s);
  io("nics_per_node", config.nics_per_node);
  io("emulated_link", config.emulated_link);
  io("link_burst_bytes", config.link_burst_bytes);
  io("link_mtu", config.link_mtu);
  io("command_line", config.command_line);
}

template <typename Io, typename T>
void fields(Io& io, traffic::Ledger* /*tag*/, T& ledger) {
  io("tokens", ledger.tokens);
  io("selections", ledger.selections);
  io("rank_copies", ledger.rank_copies);
  io("node_copies", ledger.node_copies);
  io("remote_copies", ledger.remote_copies);
  io("payload_bytes", ledger.payload_bytes);
  io("record_bytes", ledger.record_bytes);
  io("framing_bytes", ledger.framing_bytes);
  io("all_to_all_nodes_bytes", ledger.all_to_all_nodes_bytes);
  io("chunks", ledger.chunks);
  io("count_bytes", ledger.count_bytes);
  io("combine_payload_bytes", ledger.combine_payload_bytes);
}

template <typename Io, typename T>
void fields(Io& io, Operation* /*tag*/, T& operation) {
  io("op", operation.op);
  io("kind", operation.kind);
  io("iteration", operation.iteration);
  io("warmup", operation.warmup);
}

template <typename Io, typename T>
void fields(Io& io, ClockFit* /*tag*/, T& fit) {
  io("rank", fit.rank);
  io("offset_ns", fit.offset_ns);
  io("drift_ppb", fit.drift_ppb);
  io("begin_ns", fit.begin_ns);
  io("residual_ns", fit.residual_ns);
}

template <typename Io, typename T>
void fields(Io& io, LinkCounter* /*tag*/, T& counter) {
  io("from_node", counter.from_node);
  io("to_node", counter.to_node);
  io("source", counter.source);
  io("bytes", counter.bytes);
  io("packets", counter.packets);
  io("messages", counter.messages);
  io("resent_segments", counter.resent_segments);
}

template <typename Io, typename T>
void fields(Io& io, ProgressThread* /*tag*/, T& thread) {
  io("rank", thread.rank);
  io("thread", thread.thread);
  io("cpu_ns", thread.cpu_ns);
  io("elapsed_ns", thread.elapsed_ns);
  io("descriptors", thread.descriptors);
  io("largest_backlog", thread.largest_backlog);
  io("aged", thread.aged);
  io("total_age_ns", thread.total_age_ns);
  io("largest_age_ns", thread.largest_age_ns);
  io("largest_poll_gap_ns", thread.largest_poll_gap_ns);
}

template <typename Io, typename T>
void fields(Io& io, Correctness* /*tag*/, T& correctness) {
  io("checked", correctness.checked);
  io("dispatch_rows", correctness.dispatch_rows);
  io("dispatch_mismatches", correctness.dispatch_mismatches);
  io("combine_max_error", correctness.combine_max_error);
  io("combine_mismatches", correctness.combine_mismatches);
}

template <typename Io, typename T>
void fields(Io& io, RunInfo* /*tag*/, T& info) {
  io("tool_version", info.tool_version);
  io("started", info.started);
  io("run_id", info.run_id);
  io("finished", info.finished);
  io("shape", info.shape);
  io("config", info.config);
  io("ledgers", info.ledgers);
  io("operations", info.operations);
  io("clocks", info.clocks);
  io("counters", info.counters);
  io("dropped_records", info.dropped_records);
  io("progress", info.progress);
  io("correctness", info.correctness);
}

template <typename Io, typename T>
void fields(Io& io, RankFile* /*tag*/, T& file) {
  io("rank", file.rank);
  io("present", file.present);
  io("complete", file.complete);
  io("records", file.records);
  io("dropped", file.dropped);
  io("bad_blocks", file.bad_blocks);
}

template <typename Io, typename T>
void fields(Io& io, RecordingSummary* /*tag*/, T& summary) {
  io("run", summary.run);
  io("ranks", summary.ranks);
  io("notes", summary.notes);
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "shunt.run";
constexpr const char* kExportSchema = "shunt.export";
constexpr std::size_t kMaxRunFileBytes = 256U << 20;
/// A world beyond this is a damaged file, not a machine.
constexpr int kMaxWorld = 1 << 22;

/// What types cannot say. Empty if all is well, else the sentence.
std::string find_contradiction(const RunInfo& info) {
  const cluster::Shape& shape = info.shape;
  if (shape.world < 1 || shape.world > kMaxWorld || shape.ranks_per_node < 1 || shape.nodes < 1 ||
      static_cast<std::int64_t>(shape.nodes) * shape.ranks_per_node != shape.world) {
    return fmt::format("shape: {} nodes of {} ranks cannot be a world of {}",
                       shape.nodes,
                       shape.ranks_per_node,
                       shape.world);
  }
  const auto world = static_cast<std::size_t>(shape.world);
  for (const ClockFit& fit : info.clocks) {
    if (fit.rank < 0 || fit.rank >= shape.world) {
      return fmt::format("clocks: rank {} is outside of a world of {}", fit.rank, shape.world);
    }
  }
  if (info.ledgers.size() > world || info.dropped_records.size() > world) {
    return fmt::format("ledgers or dropped_records: more entries than the {} ranks", shape.world);
  }
  return "";
}

/// The object of `text` if its schema is `schema`; `what` it would be of, for messages.
Result<Json> parse_object(std::string_view text,
                          const std::string& name,
                          const char* what,
                          const std::string& schema) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "{} is not a JSON object; it was cut short or is not of {}",
                name,
                what);
  }
  const auto found = json.find("schema");
  const std::string said = found != json.end() && found->is_string() ? found->get<std::string>()
                                                                     : std::string("no schema");
  if (said != schema) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "{} has {}; this program reads {}",
                name,
                said,
                schema);
  }
  return json;
}

}  // namespace

std::string to_json(const RunInfo& info) {
  Json json;
  json["schema"] = fmt::format("{}/{}", kSchema, info.schema_version);
  JsonWriter writer(json);
  fields(writer, static_cast<RunInfo*>(nullptr), info);
  // Bytes that are not UTF-8 (a command line may hold any) become U+FFFD.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RunInfo> from_json(std::string_view text, const std::string& name) {
  RunInfo info;
  const auto json =
      parse_object(text, name, "a run", fmt::format("{}/{}", kSchema, info.schema_version));
  if (!json) return Unexpected(json.error());
  JsonReader reader(*json);
  fields(reader, static_cast<RunInfo*>(nullptr), info);
  std::string problem = reader.problem();
  if (problem.empty()) problem = find_contradiction(info);
  if (!problem.empty()) {
    return fail(ErrorCode::kCorrupt, ErrorScope::kOperation, "{}: {}", name, problem);
  }
  return info;
}

std::string to_json(const RecordingSummary& summary) {
  Json json;
  json["schema"] = fmt::format("{}/{}", kExportSchema, summary.run.schema_version);
  JsonWriter writer(json);
  fields(writer, static_cast<RecordingSummary*>(nullptr), summary);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RecordingSummary> summary_from_json(std::string_view text, const std::string& name) {
  RecordingSummary summary;
  const auto json = parse_object(
      text, name, "an export", fmt::format("{}/{}", kExportSchema, summary.run.schema_version));
  if (!json) return Unexpected(json.error());
  JsonReader reader(*json);
  fields(reader, static_cast<RecordingSummary*>(nullptr), summary);
  std::string problem = reader.problem();
  if (problem.empty()) problem = find_contradiction(summary.run);
  if (problem.empty() &&
      summary.ranks.size() != static_cast<std::size_t>(summary.run.shape.world)) {
    problem = fmt::format(
        "ranks: {} entries for a world of {}", summary.ranks.size(), summary.run.shape.world);
  }
  for (std::size_t rank = 0; rank < summary.ranks.size() && problem.empty(); ++rank) {
    if (summary.ranks[rank].rank != static_cast<int>(rank)) {
      problem = fmt::format("ranks[{}]: is of rank {}", rank, summary.ranks[rank].rank);
    }
  }
  if (!problem.empty()) {
    return fail(ErrorCode::kCorrupt, ErrorScope::kOperation, "{}: {}", name, problem);
  }
  return summary;
}

Result<RunInfo> read_run_info(const std::string& directory) {
  const std::string path = fmt::format("{}/{}", directory, kRunFileName);
  auto text = read_file(path, kMaxRunFileBytes);
  if (!text) return Unexpected(std::move(text).error());
  return from_json(*text, path);
}

}  // namespace shunt::profile
