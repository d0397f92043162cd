// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Phases dispatch_intra and dispatch_sync. in: the caller's rows → out: rows stored straight into
// the node peers' outputs; then row counts final, all rows visible, staging reusable. Block 0 also
// posts this rank's output and exchanges counts.
#pragma once

#include "dispatch/counts.hpp"
#include "dispatch/send.hpp"
#include "dispatch/store.hpp"

namespace shunt::dispatch {

/// Of the last rows. (Sums have none: a slice is brought in and summed by itself, which costs more
/// than warps that end together gain.)
inline constexpr int kTailSlices = 4;

/// Stores the caller's own rows and tells the node peers. Whole block. False once the operation has
/// failed; `ends`: whether this block is the one that goes on to end it.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool store_own_rows(Exec& exec, const DispatchArgs& args, bool* ends) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kIntra = record::Phase::kDispatchIntra;
  const exec::WaitSite site{kIntra, record::WaitReason::kNone, -1, -1};
  exec::SpanScope phase(exec, site, record::SpanKind::kPhase);
  if (!await_bases(exec, args, kIntra)) return false;
  const exec::RowTarget* targets =
      await_targets(exec,
                    args.hash,
                    args.maps.row_base + rank.node * rank.shape.ranks_per_node,
                    args.targets.intra,
                    kIntra);
  if (targets == nullptr) return false;
  const auto topk = static_cast<std::int64_t>(args.layout.topk);
  exec::SpanScope copy(exec, site, record::SpanKind::kCopy);
  // Counted apart from the bytes of slices, so that next to nothing is counted where rows move.
  int whole = 0;
  (void)exec::for_my_rows(
      exec, args.own_count, kTailSlices, [&](std::int64_t i, const exec::RowShare& share) {
        const std::int32_t token = args.own_tokens[i];
        const RecordView record{
            args.rows + static_cast<std::uint64_t>(token) * args.layout.hidden_bytes,
            args.ids + token * topk,
            args.layout.has_weights ? args.weights + token * topk : nullptr,
            {rank.rank, token}};
        const int stored =
            store_record(exec, args, targets, args.own_rows + i * args.fanout, record, share);
        if (share.slices == 1) {
          whole += stored;
        } else if (exec.recording()) {
          copy.add_bytes(static_cast<std::uint64_t>(stored) * row_slice(args, share).count);
        }
        return true;
      });
  copy.add_bytes(static_cast<std::uint64_t>(whole) * args.layout.hidden_bytes);
  copy.stop();
  *ends = arrive_at_peers(exec, rank.layout.intra_done);
  phase.stop();
  return true;
}

/// Puts of one kind with sequences [begin, end): all have completed locally.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_puts(
    Exec& exec, int kind, int peer, std::uint64_t begin, std::uint64_t end, record::Phase phase) {
  const std::uint32_t capacity = exec.rank().layout.capacity[kind];
  const std::uint64_t first = end - begin > capacity ? end - capacity : begin;
  return shunt::exec::block_waits(
      exec, static_cast<std::int64_t>(end - first), [&](std::int64_t i, auto& /*waited*/) {
        const std::uint64_t sequence = first + static_cast<std::uint64_t>(i);
        return shunt::exec::await_completed(exec,
                                            kind,
                                            peer,
                                            sequence,
                                            {phase,
                                             record::WaitReason::kStaging,
                                             exec.rank().rail_rank(peer),
                                             static_cast<int>(sequence - begin)});
      });
}

/// Waits until `done` lines of all node peers show this operation.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_peers(Exec& exec, std::size_t done, record::Phase phase) {
  const exec::RankView& rank = exec.rank();
  return shunt::exec::block_waits(
      exec, rank.shape.ranks_per_node, [&](std::int64_t l, auto& waited) {
        return exec.wait_until(rank.heap_word(done + static_cast<std::size_t>(l) * memory::kLine),
                               (exec.op() + 1) * memory::kWhole,
                               {phase,
                                record::WaitReason::kPeerDone,
                                rank.shape.rank_of(rank.node, static_cast<int>(l)),
                                -1},
                               waited);
      });
}

template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool dispatch_sync(Exec& exec, const DispatchArgs& args) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kSync = record::Phase::kDispatchSync;
  const exec::SpanScope phase(
      exec, {kSync, record::WaitReason::kNone, -1, -1}, record::SpanKind::kPhase);
  if (!await_peers(exec, rank.layout.intra_done, kSync)) return false;
  if (rank.peers() == 0) return true;
  const exec::WaitSite own{kSync, record::WaitReason::kPeerDone, rank.rank, -1};
  if (!await_peers(exec, rank.layout.forward_done, kSync) ||
      !shunt::exec::block_wait(exec, rank.word(exec::Word::kReceiveDone), args.op + 1, own) ||
      !shunt::exec::block_wait(exec, rank.word(exec::Word::kSendDone), args.op + 1, own)) {
    return false;
  }
  for (int p = 0; p < rank.peers(); ++p) {
    const std::uint64_t end = rank.sent[kDispatchKind][p];
    const auto chunks = static_cast<std::uint64_t>(args.chunk_begin[p + 1] - args.chunk_begin[p]);
    if (!await_puts(exec, kDispatchKind, p, end - chunks, end, kSync)) return false;
    if (!args.cached && !await_puts(exec, kCountKind, p, args.exchange, args.exchange + 1, kSync)) {
      return false;
    }
  }
  return true;
}

/// The intra role. True on the one block whose return ends the operation on this rank.
template <exec::Executor Exec>
SHUNT_DEVICE bool dispatch_intra(Exec& exec, const DispatchArgs& args) {
  if (!shunt::exec::enter_operation(exec, record::Phase::kDispatchIntra)) return false;
  bool counted = true;
  if (exec.block() == 0 && exec.warp() == 0) {
    publish_posting(exec, args.posting());
    counted = count_exchange(exec, args);
  }
  const std::int64_t first = shunt::exec::first_row(exec);
  if (exec.warp_leader() && first < args.own_count) {
    exec.prefetch(args.own_tokens + first);
    exec.prefetch(args.own_rows + first * args.fanout);
  }
  bool ends = false;
  if (!exec.block_agree(counted) || !store_own_rows(exec, args, &ends)) return false;
  if (!ends || !dispatch_sync(exec, args)) return false;
  if (exec.block_leader()) exec.end_operation();
  return true;
}

}  // namespace shunt::dispatch
