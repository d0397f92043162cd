// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The ledger: what a routing must move, counted, before anything moves. in: routings, shape, record
// layout → out: Ledger per rank and summed. Pure. Definitions: docs/ledger.md. called from: bench,
// engine, reports.
#pragma once

#include <cstdint>

#include "cluster/shape.hpp"
#include "routing/routing.hpp"
#include "shunt/result.hpp"
#include "traffic/record_layout.hpp"

namespace shunt::traffic {

/// One rank's dispatch traffic as a source, or the sum over ranks. Bytes are exact.
struct Ledger {
  std::uint64_t tokens = 0;
  std::uint64_t selections = 0;     ///< Valid (token, expert) pairs.
  std::uint64_t rank_copies = 0;    ///< Distinct (token, rank).
  std::uint64_t node_copies = 0;    ///< Distinct (token, node), own node included: peers' "RDMA".
  std::uint64_t remote_copies = 0;  ///< Node copies without the own node: the only ones on the NIC.
  std::uint64_t payload_bytes = 0;  ///< remote_copies · hidden · sizeof(type).
  std::uint64_t record_bytes =
      0;  ///< remote_copies · record bytes (payload, ids, weights, source).
  std::uint64_t framing_bytes = 0;  ///< Chunk headers and the padding between their arrays.
  std::uint64_t all_to_all_nodes_bytes = 0;  ///< tokens · record · (nodes − 1): no filter at all.
  std::uint64_t chunks = 0;                  ///< Puts that carry records.
  std::uint64_t count_bytes = 0;             ///< Count messages, zero rows included.
  std::uint64_t combine_payload_bytes = 0;  ///< Partials this rank *receives*: remote_copies · row.

  Ledger& operator+=(const Ledger& other);
  friend Ledger operator+(Ledger left, const Ledger& right) { return left += right; }
  friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// The ledger of `source` for a routing over `experts` experts, expert e on rank e / (experts /
/// world). Refuses ids outside [−1, experts), experts that the world does not divide, and a layout
/// of another shape or top-k. `combine_row_bytes` is one partial on the wire; 0 = a dispatched row.
[[nodiscard]] Result<Ledger> ledger(const routing::RoutingView& routing,
                                    const cluster::Shape& shape,
                                    int experts,
                                    const RecordLayout& layout,
                                    int source,
                                    std::uint64_t combine_row_bytes = 0);

}  // namespace shunt::traffic
