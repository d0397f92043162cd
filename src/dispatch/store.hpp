// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// How one record reaches the final rows of the node peers that need it: shared by the forwarder
// (records that came by the fabric) and the intra role (the caller's own rows).
#pragma once

#include "dispatch/args.hpp"
#include "exec/phase.hpp"

namespace shunt::dispatch {

/// One token's data, wherever it lies.
struct RecordView {
  const std::byte* row = nullptr;
  const std::int32_t* ids = nullptr;
  const float* weights = nullptr;  ///< Null if no weights travel.
  RowSource source;
};

/// Waits until every rank of this node has posted its output for this operation. Whole block.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_postings(Exec& exec,
                                               std::size_t postings,
                                               record::Phase phase) {
  const exec::RankView& rank = exec.rank();
  const auto* table = rank.template at<memory::Posting>(rank.local, postings);
  return shunt::exec::block_waits(exec, rank.shape.ranks_per_node, [&](std::int64_t l) {
    return exec.wait_until(
        &table[l].ready,
        exec.op() + 1,
        {phase, record::WaitReason::kPost, rank.shape.rank_of(rank.node, static_cast<int>(l)), -1});
  });
}

/// Tells all node peers, in their `done` lines, that this rank has got so far in this operation.
/// Whole block, after it has met.
template <exec::Executor Exec>
SHUNT_DEVICE void signal_peers(Exec& exec, std::size_t done) {
  const exec::RankView& rank = exec.rank();
  if (exec.warp() != 0) return;
  const std::size_t line = done + static_cast<std::size_t>(rank.local) * memory::kLine;
  for (int l = exec.lane(); l < rank.shape.ranks_per_node; l += exec.lanes()) {
    exec.signal(l, rank.peer_word(l, line), exec.op() + 1);
  }
}

/// Publishes this rank's posting to all ranks of its node, itself included. One warp.
template <exec::Executor Exec>
SHUNT_DEVICE void publish_posting(Exec& exec, std::size_t postings, const memory::Posting& mine) {
  const exec::RankView& rank = exec.rank();
  for (int l = exec.lane(); l < rank.shape.ranks_per_node; l += exec.lanes()) {
    auto* to = rank.at<memory::Posting>(l, postings) + rank.local;
    to->rows_offset = mine.rows_offset;
    to->ids_offset = mine.ids_offset;
    to->weights_offset = mine.weights_offset;
    to->sources_offset = mine.sources_offset;
    to->capacity_rows = mine.capacity_rows;
    exec.signal(l, &to->ready, exec.op() + 1);
  }
}

/// Writes ids (local to the receiving rank, −1 elsewhere), weights and source beside a row.
template <exec::Executor Exec>
SHUNT_DEVICE void store_metadata(Exec& exec,
                                 const DispatchArgs& args,
                                 const memory::Posting& posting,
                                 int local,
                                 std::uint64_t row,
                                 const RecordView& record) {
  const exec::RankView& rank = exec.rank();
  std::byte* heap = rank.windows[local];
  const int topk = args.layout.topk;
  const std::int32_t first = rank.shape.rank_of(rank.node, local) * args.experts_per_rank;
  const bool with_weights = record.weights != nullptr && posting.weights_offset != kNoOffset;
  auto* ids = reinterpret_cast<std::int32_t*>(heap + posting.ids_offset) + row * topk;
  auto* weights = reinterpret_cast<float*>(heap + posting.weights_offset) + row * topk;
  for (int k = exec.lane(); k < topk; k += exec.lanes()) {
    const std::int32_t id = record.ids[k] - first;
    const bool mine = record.ids[k] >= 0 && id >= 0 && id < args.experts_per_rank;
    if (posting.ids_offset != kNoOffset) ids[k] = mine ? id : -1;
    if (with_weights) weights[k] = mine ? record.weights[k] : 0.0F;
  }
  if (posting.sources_offset != kNoOffset && exec.warp_leader()) {
    reinterpret_cast<RowSource*>(heap + posting.sources_offset)[row] = record.source;
  }
}

/// Stores one record into `count` rows (a −1 local ends the list early), reading the row once.
/// Rows at or beyond a posted capacity are left out. One warp, its slice of the row; the first
/// slice brings ids, weights and source. Returns the bytes stored.
template <exec::Executor Exec>
SHUNT_DEVICE std::uint64_t store_record(Exec& exec,
                                        const DispatchArgs& args,
                                        const plan::RowRef* refs,
                                        const std::int32_t* base,
                                        const RecordView& record,
                                        const exec::RowShare& share) {
  constexpr int kBatch = 16;
  const exec::RankView& rank = exec.rank();
  const auto* postings = rank.at<memory::Posting>(rank.local, rank.layout.dispatch_postings);
  const std::uint64_t row_bytes = args.layout.hidden_bytes;
  // Whole accesses of a warp: 32 lanes of 16 bytes.
  const exec::Slice slice = exec::slice_of(share, row_bytes, 512);
  std::byte* targets[kBatch];
  std::uint64_t stored = 0;
  for (int first = 0; first < args.fanout; first += kBatch) {
    int used = 0;
    for (int i = first; i < args.fanout && i < first + kBatch; ++i) {
      if (refs[i].local < 0) break;
      const int local = refs[i].local;
      const auto row =
          static_cast<std::uint64_t>(refs[i].row + (base != nullptr ? base[local] : 0));
      if (row >= postings[local].capacity_rows) continue;
      targets[used++] =
          rank.windows[local] + postings[local].rows_offset + row * row_bytes + slice.begin;
      if (share.slice == 0) store_metadata(exec, args, postings[local], local, row, record);
    }
    if (used == 0) break;
    exec.copy_multi(targets, used, record.row + slice.begin, slice.count);
    stored += static_cast<std::uint64_t>(used) * slice.count;
  }
  return stored;
}

}  // namespace shunt::dispatch
