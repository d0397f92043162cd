// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows that come ahead, part of phase combine_sync_barrier. in: this rank's expert outputs → out:
// some of them stored in the heaps of the node peers that sum them. All others are read where they
// lie, once postings have come; until then links would have nothing to do. World of one node.
//
// A place may be written before its owner is known to have entered: this rank has ended the
// operation before, which waited until every node peer had done its part of it, its last look at
// the place included.
#pragma once

#include "combine/args.hpp"
#include "exec/phase.hpp"

namespace shunt::combine {

/// Index of a place among all of a heap: those of one source follow one another.
[[nodiscard]] SHUNT_HOST_DEVICE inline std::size_t ahead_index(const exec::RankView& rank,
                                                               int source,
                                                               std::int32_t place) {
  return static_cast<std::size_t>(source) * rank.layout.ahead.rows +
         static_cast<std::size_t>(place);
}

/// In the heap of local rank `owner`: a place for rows of local rank `source`, and the word that
/// says that its row is there.
[[nodiscard]] SHUNT_HOST_DEVICE inline std::byte* ahead_row(const exec::RankView& rank,
                                                            int owner,
                                                            int source,
                                                            std::int32_t place) {
  return rank.windows[owner] + rank.layout.ahead_rows +
         ahead_index(rank, source, place) * rank.layout.ahead.row_bytes;
}
[[nodiscard]] SHUNT_HOST_DEVICE inline std::uint64_t* ahead_word(const exec::RankView& rank,
                                                                 int owner,
                                                                 int source,
                                                                 std::int32_t place) {
  return rank.peer_word(
      owner, rank.layout.ahead_ready + ahead_index(rank, source, place) * sizeof(std::uint64_t));
}

/// The place here of a row of this rank's tokens; −1: it is read where it lies.
[[nodiscard]] SHUNT_HOST_DEVICE inline std::int32_t ahead_place(const exec::RankView& rank,
                                                                const plan::RowRef& ref) {
  return ref.local == rank.local ? -1 : rank.layout.ahead.place(ref.row);
}

/// Waits until the row of local rank `source` is in its place. One lane.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_ahead(Exec& exec, int source, std::int32_t place) {
  const exec::RankView& rank = exec.rank();
  return exec.wait_until(ahead_word(rank, rank.local, source, place),
                         exec.op() + 1,
                         {record::Phase::kCombineIntraNode,
                          record::WaitReason::kPeerDone,
                          rank.shape.rank_of(rank.node, source),
                          -1});
}

/// The places in the heaps of all node peers that one block fills: every `blocks`-th, of which
/// neighbours lie in different heaps.
struct AheadShare {
  int block = 0;
  int blocks = 1;
  int local = 0;
  int locals = 1;
  int count = 0;

  [[nodiscard]] static SHUNT_HOST_DEVICE AheadShare of(const exec::RankView& rank,
                                                       int block,
                                                       int blocks) {
    const int all = (rank.shape.ranks_per_node - 1) * static_cast<int>(rank.layout.ahead.rows);
    return {block,
            blocks,
            rank.local,
            rank.shape.ranks_per_node,
            block < all ? (all - block + blocks - 1) / blocks : 0};
  }
  [[nodiscard]] SHUNT_HOST_DEVICE int owner(int i) const {
    const int to = local + 1 + (block + i * blocks) % (locals - 1);
    return to < locals ? to : to - locals;
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int32_t place(int i) const {
    return (block + i * blocks) / (locals - 1);
  }
};

/// Where among this rank's rows the one lies that has a place at rank `to`; a negative number:
/// there is none.
[[nodiscard]] SHUNT_HOST_DEVICE inline std::int64_t find_ahead(const exec::RankView& rank,
                                                               const CombineArgs& args,
                                                               int to,
                                                               std::int32_t place) {
  std::int64_t row = rank.layout.ahead.row(place);
  if (row >= args.maps.rows_from[to]) return -1;
  for (int source = 0; source < to; ++source) row += args.maps.rows_from[source];
  return static_cast<std::uint64_t>(row) < args.input.capacity_rows ? row : -1;
}

/// Stores this block's share. Whole block; where rows are few, several warps share one.
template <exec::Executor Exec>
SHUNT_DEVICE void store_ahead(Exec& exec, const CombineArgs& args) {
  if constexpr (!Exec::kRowsAhead) return;
  const exec::RankView& rank = exec.rank();
  const AheadShare mine = AheadShare::of(rank, exec.block(), exec.blocks());
  if (mine.count == 0) return;
  const std::size_t row_bytes = rank.layout.ahead.row_bytes;
  const std::byte* rows = rank.heap + args.input.rows_offset;
  const int slices = mine.count < exec.warps() ? exec.warps() / mine.count : 1;
  for (int unit = exec.warp(); unit < mine.count * slices; unit += exec.warps()) {
    const int owner = mine.owner(unit / slices);
    const std::int32_t place = mine.place(unit / slices);
    const std::int64_t row = find_ahead(rank, args, rank.shape.rank_of(rank.node, owner), place);
    if (row < 0) continue;
    // Whole accesses of a warp.
    const exec::Slice slice = exec::slice_of({unit % slices, slices}, row_bytes, 512);
    exec.copy(ahead_row(rank, owner, rank.local, place) + slice.begin,
              rows + static_cast<std::uint64_t>(row) * row_bytes + slice.begin,
              slice.count);
  }
}

/// Says so, of places without a row too, after the block has met. By one warp, which is not the one
/// that waits for the others; it also records the copies, which it made from `begin` to `end`, with
/// the bytes of the whole block.
template <exec::Executor Exec>
SHUNT_DEVICE void signal_ahead(Exec& exec,
                               const CombineArgs& args,
                               std::uint64_t begin,
                               std::uint64_t end) {
  if constexpr (!Exec::kRowsAhead) return;
  if (exec.warp() != exec.warps() - 1) return;
  const exec::RankView& rank = exec.rank();
  const AheadShare mine = AheadShare::of(rank, exec.block(), exec.blocks());
  for (int i = exec.lane(); i < mine.count; i += exec.lanes()) {
    const int owner = mine.owner(i);
    exec.signal(owner, ahead_word(rank, owner, rank.local, mine.place(i)), exec.op() + 1);
  }
  if (!exec.recording() || mine.count == 0) return;
  int rows = 0;
  for (int first = 0; first < mine.count; first += exec.lanes()) {
    const int i = first + exec.lane();
    const bool stored =
        i < mine.count &&
        find_ahead(rank, args, rank.shape.rank_of(rank.node, mine.owner(i)), mine.place(i)) >= 0;
    rows += exec.warp_pack(stored).all;
  }
  exec.span({record::Phase::kCombineSyncBarrier, record::WaitReason::kNone, -1, -1},
            record::SpanKind::kCopy,
            begin,
            static_cast<std::uint64_t>(rows) * rank.layout.ahead.row_bytes,
            end);
}

}  // namespace shunt::combine
