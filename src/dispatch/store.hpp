// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// How one record reaches the final rows of the node peers that need it: shared by the forwarder
// (records that came by the fabric) and the intra role (the caller's own rows).
#pragma once

#include "dispatch/args.hpp"
#include "exec/phase.hpp"
#include "exec/targets.hpp"

namespace shunt::dispatch {

/// One token's data, wherever it lies.
struct RecordView {
  const std::byte* row = nullptr;
  const std::int32_t* ids = nullptr;
  const float* weights = nullptr;  ///< Null if no weights travel.
  RowSource source;
};

/// Waits until every rank of this node has posted its output for this operation. Fails where one
/// has posted for another operation than this: another kind, or after other ones. Whole block.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_postings(Exec& exec,
                                               std::size_t postings,
                                               std::uint64_t hash,
                                               record::Phase phase) {
  // The other table is for who waits in vain: not in the way of a posting that is about to come.
  constexpr int kLooksBefore = 64;
  const exec::RankView& rank = exec.rank();
  const memory::Layout& layout = rank.layout;
  const std::size_t other =
      postings == layout.combine_postings ? layout.dispatch_postings : layout.combine_postings;
  const auto* table = rank.template at<memory::Posting>(rank.local, postings);
  const auto* others = rank.template at<memory::Posting>(rank.local, other);
  const std::uint64_t due = exec.op() + 1;
  return shunt::exec::block_waits(exec, rank.shape.ranks_per_node, [&](std::int64_t l) {
    const int peer = rank.shape.rank_of(rank.node, static_cast<int>(l));
    int looks = 0;
    const auto posted = [&] {
      return exec.load(&table[l].ready) >= due ||
             (++looks > kLooksBefore && exec.load(&others[l].ready) >= due);
    };
    if (!exec.wait_any(
            posted, &table[l].ready, due, {phase, record::WaitReason::kPost, peer, -1})) {
      return false;
    }
    const bool same_kind = exec.load(&table[l].ready) >= due;
    const std::uint64_t theirs = same_kind ? table[l].hash : others[l].hash;
    if (same_kind && theirs == hash) return true;
    exec.fail_mismatch(peer, exec.op(), theirs, hash);
    return false;
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
    to->hash = mine.hash;
    exec.signal(l, &to->ready, exec.op() + 1);
  }
}

/// Turns the postings of the node peers into addresses. `base`: first row of this rank's own tokens
/// in each rank, null where rows are absolute. `memory`: the calling role's scratch, args.targets.
/// After await_postings; whole block.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE const exec::RowTarget* resolve_targets(Exec& exec,
                                                                  std::size_t postings,
                                                                  const std::int32_t* base,
                                                                  exec::RowTarget* memory) {
  const exec::RankView& rank = exec.rank();
  const int locals = rank.shape.ranks_per_node;
  const auto* table = rank.template at<memory::Posting>(rank.local, postings);
  exec::RowTarget* targets =
      exec.target_table(memory + static_cast<std::ptrdiff_t>(exec.block()) * locals);
  if (exec.warp() == 0) {
    for (int l = exec.lane(); l < locals; l += exec.lanes()) {
      std::byte* heap = rank.windows[l];
      const auto array = [&](std::uint64_t offset) {
        return offset == kNoOffset ? nullptr : heap + offset;
      };
      targets[l] = {array(table[l].rows_offset),
                    reinterpret_cast<std::int32_t*>(array(table[l].ids_offset)),
                    reinterpret_cast<float*>(array(table[l].weights_offset)),
                    array(table[l].sources_offset),
                    table[l].capacity_rows,
                    base != nullptr ? base[l] : 0};
    }
  }
  exec.block_sync();
  return targets;
}

/// Writes ids (local to the receiving rank, −1 elsewhere), weights and source beside the rows of a
/// batch. One warp.
template <exec::Executor Exec>
SHUNT_DEVICE void store_metadata(Exec& exec,
                                 const DispatchArgs& args,
                                 const exec::RowTarget* targets,
                                 const exec::RowBatch& batch,
                                 int rows,
                                 const RecordView& record) {
  const exec::RankView& rank = exec.rank();
  const auto topk = static_cast<std::uint64_t>(args.layout.topk);
  const int first_rank = rank.shape.rank_of(rank.node, 0);
  for (int k = exec.lane(); k < args.layout.topk; k += exec.lanes()) {
    const std::int32_t id = record.ids[k];
    const bool weighted = record.weights != nullptr;
    const float weight = weighted ? record.weights[k] : 0.0F;
    for (int i = 0; i < rows; ++i) {
      const exec::RowTarget& target = targets[batch.local[i]];
      const std::int32_t own = id - (first_rank + batch.local[i]) * args.experts_per_rank;
      const bool mine = id >= 0 && own >= 0 && own < args.experts_per_rank;
      const std::uint64_t at = batch.row[i] * topk + static_cast<std::uint64_t>(k);
      if (target.ids != nullptr) target.ids[at] = mine ? own : -1;
      if (weighted && target.weights != nullptr) target.weights[at] = mine ? weight : 0.0F;
    }
  }
  for (int i = exec.lane(); i < rows; i += exec.lanes()) {
    std::byte* sources = targets[batch.local[i]].sources;
    if (sources != nullptr) reinterpret_cast<RowSource*>(sources)[batch.row[i]] = record.source;
  }
}

/// Stores one record into its rows (at most args.fanout; a −1 local ends the list early), reading
/// the row once. Rows at or beyond a posted capacity are left out. One warp, its slice of the row;
/// the first slice brings ids, weights and source. Returns the bytes stored.
template <exec::Executor Exec>
SHUNT_DEVICE std::uint64_t store_record(Exec& exec,
                                        const DispatchArgs& args,
                                        const exec::RowTarget* targets,
                                        const plan::RowRef* refs,
                                        const RecordView& record,
                                        const exec::RowShare& share) {
  const std::uint64_t row_bytes = args.layout.hidden_bytes;
  // Whole accesses of a warp: 32 lanes of 16 bytes.
  const exec::Slice slice = exec::slice_of(share, row_bytes, 512);
  exec::RowBatch local;
  exec::RowBatch& batch = exec.row_batch(local);
  std::uint64_t stored = 0;
  bool more = true;
  for (int first = 0; more && first < args.fanout; first += exec::RowBatch::kRows) {
    const int end =
        first + exec::RowBatch::kRows < args.fanout ? first + exec::RowBatch::kRows : args.fanout;
    int rows = 0;
    for (int begin = first; more && begin < end; begin += exec.lanes()) {
      const int i = begin + exec.lane();
      const plan::RowRef ref = i < end ? refs[i] : plan::RowRef{};
      std::uint64_t row = 0;
      bool present = ref.local >= 0;
      more = exec.warp_agree(present || i >= end);
      if (present) {
        row = static_cast<std::uint64_t>(ref.row + targets[ref.local].first_row);
        present = row < targets[ref.local].capacity;
      }
      const exec::Packed packed = exec.warp_pack(present);
      if (present) {
        const int at = rows + packed.before;
        batch.at[at] = targets[ref.local].rows + row * row_bytes + slice.begin;
        batch.local[at] = ref.local;
        batch.row[at] = static_cast<std::uint32_t>(row);
      }
      rows += packed.all;
    }
    if (rows == 0) continue;
    exec.warp_sync();
    exec.copy_multi(batch.at, rows, record.row + slice.begin, slice.count);
    if (share.slice == 0) store_metadata(exec, args, targets, batch, rows, record);
    exec.warp_sync();
    stored += static_cast<std::uint64_t>(rows) * slice.count;
  }
  return stored;
}

}  // namespace shunt::dispatch
