// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/host_device.hpp"
#include "exec/rank_view.hpp"
#include "exec/targets.hpp"
#include "plan/plan.hpp"
#include "traffic/record_layout.hpp"

namespace shunt::dispatch {

/// First 64 bytes of a chunk; then int32 prefix[ranks_per_node], then the arrays (RecordLayout).
struct alignas(64) ChunkHeader {
  std::uint64_t op = 0;
  std::int32_t source = 0;  ///< Rank.
  std::int32_t chunk = 0;   ///< Position among the chunks of (op, source, target node).
  std::int32_t records = 0;
  std::uint32_t bytes = 0;  ///< Of the whole put.
  std::uint64_t hash = 0;   ///< Of the operations so far: all ranks must agree.
};
static_assert(sizeof(ChunkHeader) == traffic::RecordLayout::kFixedHeaderBytes);
static_assert(sizeof(memory::CountEntry) == traffic::RecordLayout::kFixedHeaderBytes);

/// In Posting offsets: the owner does not want this array.
inline constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

/// Where a received row comes from.
struct RowSource {
  std::int32_t rank = -1;
  std::int32_t token = -1;
  friend bool operator==(const RowSource&, const RowSource&) = default;
};

/// What dispatch learns and combine (and a replay) needs; lives in the handle.
struct HandleMaps {
  std::int32_t* row_base = nullptr;      ///< [nodes][ranks_per_node]: first row that rank
                                         ///< (node, own local) has in each rank of this node.
  std::int64_t* serve_begin = nullptr;   ///< [peers + 1]: prefix sums of the chunks that this rank
                                         ///< forwards, per source.
  std::int64_t* records_from = nullptr;  ///< [peers]
  std::int64_t* rows_from = nullptr;     ///< [world]: rows received here, by source rank.
  plan::RowRef* forward_rows = nullptr;  ///< [peers][max_tokens][fanout], rows absolute.
  std::int64_t max_tokens = 0;

  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t chunks_from(int peer) const {
    return serve_begin[peer + 1] - serve_begin[peer];
  }
};

/// Scratch of the roles, [role blocks][ranks_per_node] each.
struct RoleTargets {
  exec::RowTarget* intra = nullptr;
  exec::RowTarget* send = nullptr;  ///< Combine's.
  exec::RowTarget* receive = nullptr;
};

/// One dispatch as the blocks of one rank see it.
struct DispatchArgs {
  traffic::RecordLayout layout;
  std::uint64_t op = 0;
  std::uint64_t exchange = 0;  ///< Number of count exchanges before this one.
  std::uint64_t hash = 0;      ///< Of the operations so far, this one included: all ranks alike.
  bool cached = false;         ///< The maps are known: no count exchange.
  int experts_per_rank = 1;
  int fanout = 1;

  const std::byte* rows = nullptr;    ///< [tokens][hidden_bytes]
  const std::int32_t* ids = nullptr;  ///< [tokens][topk]
  const float* weights = nullptr;     ///< [tokens][topk] or null.
  memory::Posting output;             ///< In this rank's heap.

  const std::int32_t* rows_to_rank = nullptr;  // The Plan, see there.
  const std::int64_t* send_begin = nullptr;
  const std::int32_t* send_tokens = nullptr;
  const std::int64_t* chunk_begin = nullptr;
  const std::int32_t* chunk_prefix = nullptr;
  const std::int32_t* own_tokens = nullptr;
  const plan::RowRef* own_rows = nullptr;
  std::int64_t own_count = 0;
  const std::int64_t* own_count_at = nullptr;  ///< Where a plan made on the device has it; a launch
                                               ///< takes it from there. Else null.

  HandleMaps maps;
  std::int32_t* send_scratch = nullptr;     ///< [send blocks][peers].
  std::int32_t* receive_scratch = nullptr;  ///< [receive blocks][peers].
  RoleTargets targets;

  /// What this rank tells its node peers on entering.
  [[nodiscard]] SHUNT_HOST_DEVICE memory::Posting posting() const {
    memory::Posting mine = output;
    mine.hash = hash;
    return mine;
  }
};
static_assert(std::is_trivially_copyable_v<DispatchArgs>);

}  // namespace shunt::dispatch
