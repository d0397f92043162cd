// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Phases combine_sync, combine_sync_barrier, combine_intra_node and combine_release. in: this
// rank's expert outputs → out: posted for the node peers, some of them stored there; the tokens
// that only this node served, summed; then: nobody reads this rank's rows any more. Block 0 posts.
#pragma once

#include "combine/all.hpp"
#include "dispatch/intra.hpp"

namespace shunt::combine {

template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool combine_release(Exec& exec, const CombineArgs& args) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kRelease = record::Phase::kCombineRelease;
  const exec::SpanScope phase(
      exec, {kRelease, record::WaitReason::kNone, -1, -1}, record::SpanKind::kPhase);
  if (rank.peers() > 0) {
    const exec::WaitSite own{kRelease, record::WaitReason::kPeerDone, rank.rank, -1};
    if (!shunt::exec::block_wait(exec, rank.word(exec::Word::kSendDone), args.op + 1, own) ||
        !shunt::exec::block_wait(exec, rank.word(exec::Word::kReceiveDone), args.op + 1, own)) {
      return false;
    }
    dispatch::signal_peers(exec, rank.layout.intra_done);
  }
  if (!dispatch::await_peers(exec, rank.layout.intra_done, kRelease)) return false;
  for (int p = 0; p < rank.peers(); ++p) {
    const std::uint64_t end = rank.sent[kCombineKind][p];
    const auto chunks = static_cast<std::uint64_t>(args.maps.chunks_from(p));
    if (!dispatch::await_puts(exec, kCombineKind, p, end - chunks, end, kRelease)) return false;
  }
  return true;
}

/// Asks for what this warp's first sum is made of, while postings are on their way. One lane.
template <exec::Executor Exec>
SHUNT_DEVICE void prefetch_first(Exec& exec, const CombineArgs& args) {
  const std::int64_t first = shunt::exec::first_row(exec);
  if (first >= args.tokens) return;
  const std::int64_t copy = args.copies_begin[first];
  // In a world of one node a copy's number is its record's.
  if (exec.rank().peers() > 0) {
    exec.prefetch(args.copies + copy);
  } else {
    exec.prefetch(args.own_rows + copy * args.fanout);
  }
}

/// Sums the tokens that only this node served. Whole block. False once the operation has failed;
/// `ends`: whether this block is the one that goes on to end it.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool sum_own_tokens(Exec& exec,
                                               const CombineArgs& args,
                                               const exec::RowTarget* targets,
                                               bool* ends) {
  const exec::RankView& rank = exec.rank();
  const exec::WaitSite site{record::Phase::kCombineIntraNode, record::WaitReason::kNone, -1, -1};
  exec::SpanScope phase(exec, site, record::SpanKind::kPhase);
  exec::SpanScope sum(exec, site, record::SpanKind::kReduce);
  exec::SumTerm* terms = my_terms(exec, args, Region::kIntra);
  int tokens = 0;
  const bool summed =
      exec::for_my_rows(exec, args.tokens, 1, [&](std::int64_t t, const exec::RowShare& share) {
        if (has_remote(args, rank, t)) return true;
        if (!sum_token(exec, args, targets, t, terms, share)) return false;
        if (share.slice == 0) ++tokens;
        return true;
      });
  sum.add_bytes(static_cast<std::uint64_t>(tokens) * args.hidden * size_of(args.types.output));
  sum.stop();
  if (!exec.block_agree(summed)) return false;
  // Between nodes the other roles read rows of node peers too.
  *ends = rank.peers() > 0 ? exec.last_to_arrive(exec::Word::kIntraArrivals)
                           : dispatch::arrive_at_peers(exec, rank.layout.intra_done);
  phase.stop();
  return true;
}

/// The intra role of combine. True on the one block whose return ends the operation on this rank.
template <exec::Executor Exec>
SHUNT_DEVICE bool combine_intra(Exec& exec, const CombineArgs& args) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kIntra = record::Phase::kCombineIntraNode;
  if (!shunt::exec::enter_operation(exec, kIntra)) return false;
  if (exec.block() == 0 && exec.warp() == 0) {
    const exec::SpanScope phase(exec,
                                {record::Phase::kCombineSync, record::WaitReason::kNone, -1, -1},
                                record::SpanKind::kPhase,
                                exec.entered());
    dispatch::publish_posting(exec, args.posting());
  }
  if (exec.warp_leader()) prefetch_first(exec, args);
  const exec::RowTarget* targets = nullptr;
  std::uint64_t ahead_begin = 0;
  std::uint64_t ahead_end = 0;
  {
    constexpr auto kBarrier = record::Phase::kCombineSyncBarrier;
    const exec::SpanScope phase(
        exec, {kBarrier, record::WaitReason::kNone, -1, -1}, record::SpanKind::kPhase);
    ahead_begin = exec.stamp();
    store_ahead(exec, args);
    ahead_end = exec.stamp();
    targets = dispatch::await_targets(
        exec, args.hash, own_rows_base(rank, args), args.targets.intra, kBarrier);
    if (targets == nullptr) return false;
  }
  signal_ahead(exec, args, ahead_begin, ahead_end);
  bool ends = false;
  if (!sum_own_tokens(exec, args, targets, &ends)) return false;
  if (!ends || !combine_release(exec, args)) return false;
  if (exec.block_leader()) exec.end_operation();
  return true;
}

}  // namespace shunt::combine
