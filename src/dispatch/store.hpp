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

/// Hands signal(local, to, words) what a rank posts for operation `op`, for every rank of its node,
/// itself included; one warp shares them.
template <typename Signal>
SHUNT_DEVICE void post_lines(const exec::RankView& rank,
                             const memory::Posting& mine,
                             std::uint64_t op,
                             int lane,
                             int lanes,
                             Signal&& signal) {
  const memory::PostingLine line = memory::PostingLine::of(mine, op);
  for (int l = lane; l < rank.shape.ranks_per_node; l += lanes) {
    auto* to = rank.at<memory::PostingLine>(l, rank.layout.postings) + rank.local;
    signal(l, to->words, line.words);
  }
}

/// The first thing that a rank does in an operation. One warp.
template <exec::Executor Exec>
SHUNT_DEVICE void publish_posting(Exec& exec, const memory::Posting& mine) {
  if constexpr (!Exec::kPostsFirst) {
    post_lines(exec.rank(),
               mine,
               exec.op(),
               exec.lane(),
               exec.lanes(),
               [&](int local, std::uint64_t* to, const std::uint64_t* words) {
                 exec.signal_line(local, to, words);
               });
  }
}

/// Takes the value of one word of a node peer's posting into where it is looked up.
SHUNT_HOST_DEVICE inline void place_word(exec::RowTarget& target,
                                         std::byte* heap,
                                         int word,
                                         std::uint64_t value) {
  using Line = memory::PostingLine;
  std::byte* at = value == kNoOffset ? nullptr : heap + value;
  if (word == Line::kRows) target.rows = at;
  if (word == Line::kCapacity) target.capacity = value;
  if (word == Line::kIds) target.ids = reinterpret_cast<std::int32_t*>(at);
  if (word == Line::kWeights) target.weights = reinterpret_cast<float*>(at);
  if (word == Line::kSources) target.sources = at;
}

/// Waits until every rank of this node has posted for this operation, and turns the postings into
/// addresses. `base`: first row of this rank's own tokens in each rank, null where rows are
/// absolute. `memory`: the calling role's scratch, args.targets. Fails where a rank has posted for
/// another operation than this: another kind, or after other ones. Whole block; null once the
/// operation has failed.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE const exec::RowTarget* await_targets(Exec& exec,
                                                                std::uint64_t hash,
                                                                const std::int32_t* base,
                                                                exec::RowTarget* memory,
                                                                record::Phase phase) {
  using Line = memory::PostingLine;
  const exec::RankView& rank = exec.rank();
  const int locals = rank.shape.ranks_per_node;
  const auto* table = rank.template at<Line>(rank.local, rank.layout.postings);
  exec::RowTarget* targets =
      exec.target_table(memory + static_cast<std::ptrdiff_t>(exec.block()) * locals);
  // Every word of every peer is one lane's: none waits for another's answer.
  const bool posted = shunt::exec::block_waits(
      exec, static_cast<std::int64_t>(locals) * Line::kUsed, [&](std::int64_t i, auto& waited) {
        const auto l = static_cast<int>(i) / Line::kUsed;
        const int w = static_cast<int>(i) % Line::kUsed;
        const int peer = rank.shape.rank_of(rank.node, l);
        std::uint64_t word = 0;
        const auto here = [&] {
          word = exec.load(&table[l].words[w]);
          return w == Line::kReady ? word >= exec.op() + 1 : Line::holds(word, exec.op());
        };
        if (!exec.wait_any(here,
                           &table[l].words[Line::kReady],
                           exec.op() + 1,
                           {phase, record::WaitReason::kPost, peer, -1, w == Line::kReady},
                           waited)) {
          return false;
        }
        if (w == Line::kHash && Line::value(word) != hash) {
          exec.fail_mismatch(peer, exec.op(), Line::value(word), hash);
          return false;
        }
        if (w == Line::kReady) {
          targets[l].first_row = base != nullptr ? base[l] : 0;
        } else {
          place_word(targets[l], rank.windows[l], w, Line::value(word));
        }
        return true;
      });
  return posted ? targets : nullptr;
}

/// Visits this rank's `done` line at every node peer, itself included. One warp.
template <exec::Executor Exec, typename Visit>
SHUNT_DEVICE void for_done_lines(Exec& exec, std::size_t done, Visit&& visit) {
  const exec::RankView& rank = exec.rank();
  const std::size_t line = done + static_cast<std::size_t>(rank.local) * memory::kLine;
  for (int l = exec.lane(); l < rank.shape.ranks_per_node; l += exec.lanes()) {
    visit(l, rank.peer_word(l, line));
  }
}

/// Tells all node peers, in their `done` lines, that this rank has got so far in this operation.
/// Whole block, after it has met.
template <exec::Executor Exec>
SHUNT_DEVICE void signal_peers(Exec& exec, std::size_t done) {
  if (exec.warp() != 0) return;
  for_done_lines(exec, done, [&](int local, std::uint64_t* word) {
    exec.signal(local, word, (exec.op() + 1) * memory::kWhole);
  });
}

/// This block has ended its part of the intra role; once all have, the node peers see it in their
/// `done` lines. Whole block. True on the one that goes on to end the operation: the first, which
/// has yet to wait for the others, or, where peers' words cannot be added to, the last to arrive.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool arrive_at_peers(Exec& exec, std::size_t done) {
  if (!exec.adds_at_peers()) {
    const bool last = exec.last_to_arrive(exec::Word::kIntraArrivals);
    if (last) signal_peers(exec, done);
    return last;
  }
  exec.block_sync();
  if (exec.warp() == 0) {
    const std::uint64_t share = memory::share_of(exec.block(), exec.blocks());
    for_done_lines(
        exec, done, [&](int local, std::uint64_t* word) { exec.signal_add(local, word, share); });
  }
  return exec.block() == 0;
}

/// A lane's share of a record's ids and weights, one of every `lanes`.
struct Choice {
  std::int32_t id = -1;
  float weight = 0.0F;
};

[[nodiscard]] SHUNT_HOST_DEVICE inline Choice load_choice(const RecordView& record, int k) {
  return {record.ids[k], record.weights != nullptr ? record.weights[k] : 0.0F};
}

/// Writes ids (local to the receiving rank, −1 elsewhere), weights and source beside the rows of a
/// batch. `first` is what load_choice gave for this lane's first choice, if it has one. One warp.
template <exec::Executor Exec>
SHUNT_DEVICE void store_metadata(Exec& exec,
                                 const DispatchArgs& args,
                                 const exec::RowTarget* targets,
                                 const exec::RowBatch& batch,
                                 int rows,
                                 const RecordView& record,
                                 Choice first) {
  const exec::RankView& rank = exec.rank();
  const auto topk = static_cast<std::uint64_t>(args.layout.topk);
  const int first_rank = rank.shape.rank_of(rank.node, 0);
  for (int k = exec.lane(); k < args.layout.topk; k += exec.lanes()) {
    const auto [id, weight] = k == exec.lane() ? first : load_choice(record, k);
    const bool weighted = record.weights != nullptr;
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

/// What of a row falls to a warp, in bytes: whole accesses of 32 lanes of 16 bytes.
[[nodiscard]] SHUNT_HOST_DEVICE inline exec::Slice row_slice(const DispatchArgs& args,
                                                             const exec::RowShare& share) {
  return exec::slice_of(share, args.layout.hidden_bytes, 512);
}

/// Stores one record into its rows (at most args.fanout; a −1 local ends the list early), reading
/// the row once. Rows at or beyond a posted capacity are left out. One warp, its slice of the row;
/// the first slice brings ids, weights and source. Returns how many rows got theirs.
template <exec::Executor Exec>
SHUNT_DEVICE int store_record(Exec& exec,
                              const DispatchArgs& args,
                              const exec::RowTarget* targets,
                              const plan::RowRef* refs,
                              const RecordView& record,
                              const exec::RowShare& share) {
  const std::uint64_t row_bytes = args.layout.hidden_bytes;
  const exec::Slice slice = row_slice(args, share);
  exec::RowBatch local;
  exec::RowBatch& batch = exec.row_batch(local);
  int stored = 0;
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
    // Asked for before the row, so as not to be waited for behind it.
    Choice choice;
    const bool brings = share.slice == 0;
    if (brings && exec.lane() < args.layout.topk) choice = load_choice(record, exec.lane());
    exec.copy_multi(batch.at, rows, record.row + slice.begin, slice.count);
    if (brings) store_metadata(exec, args, targets, batch, rows, record, choice);
    exec.warp_sync();
    stored += rows;
  }
  return stored;
}

}  // namespace shunt::dispatch
