// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "traffic/ledger.hpp"

#include <vector>

#include "base/error.hpp"

namespace shunt::traffic {
namespace {

Status check(const routing::RoutingView& routing,
             const cluster::Shape& shape,
             int experts,
             const RecordLayout& layout,
             int source) {
  if (experts < 1 || experts % shape.world != 0) {
    return usage_error(
        "{} experts do not divide over {} ranks; every rank has the same number, at least one",
        experts,
        shape.world);
  }
  if (source < 0 || source >= shape.world) {
    return usage_error("source rank {} is not in a world of {}", source, shape.world);
  }
  if (layout.topk != routing.topk || layout.ranks_per_node != shape.ranks_per_node) {
    return usage_error(
        "the record layout is for top-{} and {} ranks per node, the routing has top-{} and {}",
        layout.topk,
        layout.ranks_per_node,
        routing.topk,
        shape.ranks_per_node);
  }
  if (layout.chunk_tokens < 1) {
    return usage_error("chunk of {} tokens is not allowed; at least 1", layout.chunk_tokens);
  }
  return {};
}

}  // namespace

Ledger& Ledger::operator+=(const Ledger& other) {
  tokens += other.tokens;
  selections += other.selections;
  rank_copies += other.rank_copies;
  node_copies += other.node_copies;
  remote_copies += other.remote_copies;
  payload_bytes += other.payload_bytes;
  record_bytes += other.record_bytes;
  framing_bytes += other.framing_bytes;
  all_to_all_nodes_bytes += other.all_to_all_nodes_bytes;
  chunks += other.chunks;
  count_bytes += other.count_bytes;
  combine_payload_bytes += other.combine_payload_bytes;
  return *this;
}

Result<Ledger> ledger(const routing::RoutingView& routing,
                      const cluster::Shape& shape,
                      int experts,
                      const RecordLayout& layout,
                      int source,
                      std::uint64_t combine_row_bytes) {
  SHUNT_TRY(check(routing, shape, experts, layout, source));
  const int experts_per_rank = experts / shape.world;
  const auto remote_nodes = static_cast<std::uint64_t>(shape.nodes - 1);
  Ledger total;
  total.tokens = static_cast<std::uint64_t>(routing.tokens);
  // The last token that reached a rank or node: a copy is counted at its first selection only.
  std::vector<std::int64_t> rank_seen(static_cast<std::size_t>(shape.world), -1);
  std::vector<std::int64_t> node_seen(static_cast<std::size_t>(shape.nodes), -1);
  std::vector<std::uint64_t> copies_to(static_cast<std::size_t>(shape.nodes), 0);
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    for (int slot = 0; slot < routing.topk; ++slot) {
      const std::int32_t id = routing.ids[token * routing.topk + slot];
      if (id == -1) continue;
      if (id < 0 || id >= experts) {
        return usage_error("token {}, slot {}: expert {} is not allowed; -1 (none) or 0 to {}",
                           token,
                           slot,
                           id,
                           experts - 1);
      }
      ++total.selections;
      const int rank = id / experts_per_rank;
      if (rank_seen[static_cast<std::size_t>(rank)] == token) continue;
      rank_seen[static_cast<std::size_t>(rank)] = token;
      ++total.rank_copies;
      const auto node = static_cast<std::size_t>(shape.node_of(rank));
      if (node_seen[node] == token) continue;
      node_seen[node] = token;
      ++total.node_copies;
      ++copies_to[node];
    }
  }
  copies_to[static_cast<std::size_t>(shape.node_of(source))] = 0;
  for (const std::uint64_t copies : copies_to) {
    total.remote_copies += copies;
    const std::uint64_t full = copies / static_cast<std::uint64_t>(layout.chunk_tokens);
    const std::uint64_t rest = copies % static_cast<std::uint64_t>(layout.chunk_tokens);
    total.framing_bytes +=
        full * layout.framing_bytes(static_cast<std::uint64_t>(layout.chunk_tokens));
    if (rest != 0) total.framing_bytes += layout.framing_bytes(rest);
    total.chunks += layout.chunks(copies);
  }
  total.payload_bytes = total.remote_copies * layout.hidden_bytes;
  total.record_bytes = total.remote_copies * layout.record_bytes();
  total.all_to_all_nodes_bytes = total.tokens * layout.record_bytes() * remote_nodes;
  total.count_bytes = remote_nodes * layout.count_message_bytes();
  total.combine_payload_bytes =
      total.remote_copies * (combine_row_bytes != 0 ? combine_row_bytes : layout.hidden_bytes);
  return total;
}

}  // namespace shunt::traffic
