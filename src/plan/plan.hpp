// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Who needs which token. in: one rank's routing, shape, experts, chunk size → out: Plan, from which
// dispatch/ and combine/ run. A pure function of its input; no communication.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/shape.hpp"
#include "routing/routing.hpp"
#include "shunt/result.hpp"

namespace shunt::plan {

/// A row of a rank of this node: its local index and the row in that rank's received rows. In a
/// Plan the row counts from the first row of the same source; −1 local marks an unused entry.
struct RowRef {
  std::int32_t local = -1;
  std::int32_t row = -1;
  friend bool operator==(const RowRef&, const RowRef&) = default;
};

/// That a token goes to `node`; `record` is its position among this rank's records for that node
/// (for the own node: among own_tokens).
struct NodeCopy {
  std::int32_t node = 0;
  std::int32_t record = 0;
  friend bool operator==(const NodeCopy&, const NodeCopy&) = default;
};

struct PlanOptions {
  int experts = 1;        ///< Of the world; a multiple of the world size.
  int chunk_tokens = 64;  ///< Records per put, ≥ 1.
};

/// All orders are ascending by token, nodes ascending within a token, ranks ascending within a
/// node.
struct Plan {
  cluster::Shape shape;
  int rank = 0;
  int topk = 1;
  int experts_per_rank = 1;
  int chunk_tokens = 64;
  int fanout = 1;  ///< Most ranks of one node that a token can need: min(topk, ranks_per_node).
  std::int64_t tokens = 0;

  std::vector<std::int32_t> rows_to_rank;  ///< [world]: rows that this rank sends to each rank.
  std::vector<std::int64_t> send_begin;    ///< [peers + 1]: into send_tokens, by peer index.
  std::vector<std::int32_t> send_tokens;   ///< Token of each record.
  std::vector<std::int64_t> chunk_begin;   ///< [peers + 1]: into chunks, by peer index.
  std::vector<std::int32_t> chunk_prefix;  ///< [chunks][ranks_per_node]: rows before the chunk.
  std::vector<std::int32_t> own_tokens;    ///< Tokens with an expert on the own node.
  std::vector<RowRef> own_rows;            ///< [own_tokens][fanout].
  std::vector<std::int64_t> copies_begin;  ///< [tokens + 1]: into copies.
  std::vector<NodeCopy> copies;            ///< Node copies of each token.

  [[nodiscard]] std::int64_t records(int peer) const {
    return send_begin[peer + 1] - send_begin[peer];
  }
  [[nodiscard]] std::int64_t chunks(int peer) const {
    return chunk_begin[peer + 1] - chunk_begin[peer];
  }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Errors: experts not a multiple of the world, chunk size below 1, an id outside −1 … experts − 1
/// (named with token and slot), more tokens than a row index can count. `used`: a plan that nobody
/// needs any more, whose memory is taken over: fresh pages cost as much as the planning.
[[nodiscard]] Result<Plan> make_plan(const routing::RoutingView& routing,
                                     const cluster::Shape& shape,
                                     int rank,
                                     const PlanOptions& options,
                                     Plan used = {});

}  // namespace shunt::plan
