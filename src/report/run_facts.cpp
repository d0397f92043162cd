// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/units.hpp"
#include "report/cell.hpp"
#include "report/run_parts.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::report {

using analysis::LinkMeasure;
using analysis::Measures;
using analysis::OperationMeasure;

namespace {

std::string word_for(double utilisation) {
  if (utilisation >= verdict::kFull) return "full";
  if (utilisation >= verdict::kUnderused) return "close to full";
  return "not full";
}

}  // namespace

std::vector<Bar> bars_of(const profile::RunInfo& run, const Measures& measures) {
  std::vector<Bar> bars;
  const std::optional<double> rating = run.config.node_rate_bytes_per_s();
  for (const OperationMeasure& operation : measures.operations) {
    for (const LinkMeasure& link : operation.links) {
      Bar bar{.label = fmt::format("{:<8}  {}", record::to_string(operation.kind), link.name)};
      if (link.window_ns.empty()) {
        bar.text = "- no iteration has all of its puts and arrivals";
      } else if (link.impossible_utilisation) {
        bar.text = fmt::format(
            "- {} in {} would be {:.0f} % of the rating: {}",
            fact_text(link.bytes.p50, Unit::kBytes),
            fact_text(link.window_ns.p50, Unit::kNs),
            *link.impossible_utilisation * 100,
            run.config.emulated_link
                ? "the emulated link lets a burst pass at once, so this says nothing about its rate"
                : "impossible for such a link; is the rating right, and one NIC a node?");
      } else if (!link.utilisation || !rating) {
        bar.text = fmt::format("- {} GB/s; no rating given, so no utilisation",
                               format_significant(link.rate.p50));
      } else {
        bar.share = link.utilisation;
        bar.rating = *rating / 1e9;
        bar.text = fmt::format(
            "{} of {} GB/s", format_significant(link.rate.p50), format_significant(*rating / 1e9));
        bar.word = word_for(*link.utilisation);
      }
      if (!link.window_ns.empty() && !link.impossible_utilisation) bar.rate = link.rate.p50;
      bars.push_back(std::move(bar));
    }
  }
  return bars;
}

std::vector<Fact> ledger_of(const profile::RunInfo& run) {
  if (run.ledgers.empty()) return {};
  traffic::Ledger sum;
  for (const traffic::Ledger& ledger : run.ledgers) {
    sum.tokens += ledger.tokens;
    sum.selections += ledger.selections;
    sum.rank_copies += ledger.rank_copies;
    sum.node_copies += ledger.node_copies;
    sum.remote_copies += ledger.remote_copies;
    sum.payload_bytes += ledger.payload_bytes;
    sum.record_bytes += ledger.record_bytes;
    sum.framing_bytes += ledger.framing_bytes;
    sum.all_to_all_nodes_bytes += ledger.all_to_all_nodes_bytes;
    sum.chunks += ledger.chunks;
    sum.count_bytes += ledger.count_bytes;
    sum.combine_payload_bytes += ledger.combine_payload_bytes;
  }
  const auto line =
      [](const char* key, const char* label, std::uint64_t value, Unit unit, const char* note) {
        return Fact{key, label, static_cast<std::int64_t>(value), unit, note};
      };
  return {
      line("tokens", "tokens", sum.tokens, Unit::kCount, ""),
      line("selections", "selections", sum.selections, Unit::kCount, "valid (token, expert) pairs"),
      line("rank_copies", "rank copies", sum.rank_copies, Unit::kCount, "distinct (token, rank)"),
      line("node_copies",
           "node copies",
           sum.node_copies,
           Unit::kCount,
           "distinct (token, node), own node included: what others print as RDMA"),
      line("remote_copies",
           "remote copies",
           sum.remote_copies,
           Unit::kCount,
           "node copies to other nodes: the only ones on a link"),
      line("payload_bytes",
           "payload bytes",
           sum.payload_bytes,
           Unit::kBytes,
           "remote copies · hidden · size of the type"),
      line("record_bytes",
           "record bytes",
           sum.record_bytes,
           Unit::kBytes,
           "with ids, weights and source"),
      line("framing_bytes",
           "framing bytes",
           sum.framing_bytes,
           Unit::kBytes,
           "chunk headers and padding"),
      line("chunks", "chunks", sum.chunks, Unit::kCount, "puts that carry records"),
      line("count_bytes", "count bytes", sum.count_bytes, Unit::kBytes, "the count exchange"),
      line("combine_payload_bytes",
           "combine payload",
           sum.combine_payload_bytes,
           Unit::kBytes,
           "partial sums on their way back"),
      line("all_to_all_nodes_bytes",
           "all-to-all-nodes",
           sum.all_to_all_nodes_bytes,
           Unit::kBytes,
           "what a sender that does not filter would inject"),
  };
}

std::vector<Fact> config_of(const profile::RunInfo& run) {
  const profile::RunConfig& config = run.config;
  std::vector<Fact> facts;
  const auto number = [&](const char* key, const char* label, std::int64_t value) {
    facts.push_back({key, label, value, Unit::kNumber, ""});
  };
  const auto text = [&](const char* key, const char* label, const std::string& value) {
    if (!value.empty()) facts.push_back({key, label, value, Unit::kText, ""});
  };
  number("nodes", "nodes", run.shape.nodes);
  number("ranks", "ranks", run.shape.world);
  number("tokens", "tokens", config.tokens);
  number("hidden", "hidden", config.hidden);
  number("topk", "topk", config.topk);
  number("experts", "experts", config.experts);
  text("dtype", "dtype", to_string(config.dtype));
  text("wire_dtype", "wire dtype", to_string(config.wire_dtype));
  text("routing", "routing", config.routing);
  number("seed", "seed", static_cast<std::int64_t>(config.seed));
  number("chunk_tokens", "chunk", config.chunk_tokens);
  number("credits", "credits", config.credits);
  number("qps", "qps", config.qps);
  if (config.proxy_threads) number("proxy_threads", "proxy threads", *config.proxy_threads);
  number("rdma_blocks", "rdma blocks", config.rdma_blocks);
  number("blocks", "blocks", config.blocks);
  number("iters", "iters", config.iters);
  if (config.recorded_every) number("recorded_every", "recorded one in", *config.recorded_every);
  number("warmup", "warmup", config.warmup);
  text("variant", "variant", config.variant);
  text("device", "device", config.device);
  text("launcher", "launcher", config.launcher);
  text("provider", "provider", config.provider);
  if (config.staging) text("staging", "staging", *config.staging);
  if (config.nics_per_node) number("nics_per_node", "NICs a node", *config.nics_per_node);
  if (config.link_rate_bytes_per_s) {
    facts.push_back(
        {"link_rate_gb_per_s",
         config.emulated_link ? "emulated link" : "link",
         *config.link_rate_bytes_per_s / 1e9,
         Unit::kGbPerS,
         fmt::format("{} Gb/s", format_significant(*config.link_rate_bytes_per_s * 8 / 1e9))});
  }
  return facts;
}

}  // namespace shunt::report
