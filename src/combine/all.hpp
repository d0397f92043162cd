// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Phase combine_all. in: landed partials and the own node's rows → out: the final sum of every
// token that has a remote partial, in token order, so that landing slots come free in order.
#pragma once

#include "combine/inter.hpp"
#include "dispatch/landed.hpp"

namespace shunt::combine {

/// Makes the landed partial of (token's) `copy` a term; waits until it is here. One warp, all lanes
/// answer alike.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool add_partial(Exec& exec,
                                            const CombineArgs& args,
                                            const plan::NodeCopy& copy,
                                            std::uint64_t first,
                                            exec::SumTerm* term) {
  const exec::RankView& rank = exec.rank();
  const int peer = rank.shape.peer_index(rank.node, copy.node);
  const std::int32_t chunk = copy.record / args.chunk_tokens;
  const std::uint64_t sequence =
      rank.received[kCombineKind][peer] + static_cast<std::uint64_t>(chunk);
  const exec::WaitSite site{
      record::Phase::kCombineAll, record::WaitReason::kArrival, rank.rail_rank(peer), chunk};
  const std::uint64_t* arrived = shunt::exec::arrival_word(rank, kCombineKind, peer, sequence);
  const bool here = shunt::exec::warp_waits(
      exec, 1, [&](std::int64_t) { return exec.wait_until(arrived, sequence + 1, site); });
  if (!here) return false;
  const std::byte* slot = rank.landing_slot(kCombineKind, peer, sequence);
  const auto* header = reinterpret_cast<const ChunkHeader*>(slot);
  if (header->op != args.op || header->source != site.peer || header->chunk != chunk) {
    if (exec.warp_leader()) exec.fail_chunk(site, header->op, header->chunk);
    return false;
  }
  if (header->hash != args.hash) {
    if (exec.warp_leader()) exec.fail_mismatch(site.peer, args.op, header->hash, args.hash);
    return false;
  }
  if (!exec.warp_leader()) return true;
  *term = {slot + sizeof(ChunkHeader) +
               static_cast<std::uint64_t>(copy.record % args.chunk_tokens) * args.wire_stride +
               first * size_of(args.types.partial),
           args.types.partial,
           true};
  return true;
}

/// Token t has been summed: releases the landing slots that nobody needs any more. One lane, after
/// its warp has met.
template <exec::Executor Exec>
SHUNT_DEVICE void release_partials(Exec& exec, const CombineArgs& args, std::int64_t token) {
  const exec::RankView& rank = exec.rank();
  for (std::int64_t c = args.copies_begin[token]; c < args.copies_begin[token + 1]; ++c) {
    const plan::NodeCopy& copy = args.copies[c];
    if (copy.node == rank.node) continue;
    const int peer = rank.shape.peer_index(rank.node, copy.node);
    const std::int32_t chunk = copy.record / args.chunk_tokens;
    std::uint32_t* pending = args.pending + args.chunk_begin[peer] + chunk;
    if (exec.subtract(pending, 1) != 0) continue;
    *pending = static_cast<std::uint32_t>(
        records_in(args.send_begin[peer + 1] - args.send_begin[peer], chunk, args.chunk_tokens));
    dispatch::release_chunk(exec,
                            kCombineKind,
                            peer,
                            rank.received[kCombineKind][peer] + static_cast<std::uint64_t>(chunk));
  }
}

/// Sums one warp's slice of one token over its node copies, ascending. False once the operation has
/// failed.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool sum_token(Exec& exec,
                                          const CombineArgs& args,
                                          const exec::RowTarget* targets,
                                          std::int64_t token,
                                          exec::SumTerm* terms,
                                          const exec::RowShare& share) {
  const exec::RankView& rank = exec.rank();
  // Whole accesses of a warp in every type: 32 lanes of at most 8 elements.
  const exec::Slice slice = exec::slice_of(share, args.hidden, 256);
  const std::int64_t begin = args.copies_begin[token];
  const std::int64_t end = args.copies_begin[token + 1];
  const auto own_rows = [&](std::int64_t record) { return args.own_rows + record * args.fanout; };
  int used = 0;
  if (rank.peers() == 0) {
    // All copies are this node's, one a token, in the order of the records.
    if (begin < end) used = add_node_rows(exec, args, targets, own_rows(begin), slice.begin, terms);
    if (used < 0) return false;
  } else {
    for (std::int64_t c = begin; c < end; ++c) {
      const plan::NodeCopy& copy = args.copies[c];
      if (copy.node == rank.node) {
        used +=
            add_node_rows(exec, args, targets, own_rows(copy.record), slice.begin, terms + used);
      } else if (!add_partial(exec, args, copy, slice.begin, terms + used++)) {
        return false;
      }
    }
  }
  const std::uint64_t out_bytes = args.hidden * size_of(args.types.output);
  exec.sum_stream(args.output + static_cast<std::uint64_t>(token) * out_bytes +
                      slice.begin * size_of(args.types.output),
                  {terms, static_cast<std::size_t>(used)},
                  slice.count,
                  args.types);
  return true;
}

/// First row of this rank's own tokens in each rank of its node.
[[nodiscard]] SHUNT_HOST_DEVICE inline const std::int32_t* own_rows_base(const exec::RankView& rank,
                                                                         const CombineArgs& args) {
  return args.maps.row_base + rank.node * rank.shape.ranks_per_node;
}

/// Whether any partial of the token comes from another node.
[[nodiscard]] SHUNT_HOST_DEVICE inline bool has_remote(const CombineArgs& args,
                                                       const exec::RankView& rank,
                                                       std::int64_t token) {
  if (rank.peers() == 0) return false;
  const std::int64_t begin = args.copies_begin[token];
  const std::int64_t end = args.copies_begin[token + 1];
  return end - begin > 1 || (end - begin == 1 && args.copies[begin].node != rank.node);
}

/// The receive role of combine.
template <exec::Executor Exec>
SHUNT_DEVICE void combine_all(Exec& exec, const CombineArgs& args) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kAll = record::Phase::kCombineAll;
  if (!shunt::exec::enter_operation(exec, kAll)) return;
  exec::SpanScope phase(exec, {kAll, record::WaitReason::kNone, -1, -1}, record::SpanKind::kPhase);
  const exec::RowTarget* targets = dispatch::await_targets(
      exec, args.hash, own_rows_base(rank, args), args.targets.receive, kAll);
  if (targets == nullptr) return;
  exec::SumTerm* terms = my_terms(exec, args, Region::kAll);
  bool summed = true;
  std::uint64_t stored = 0;
  const std::int64_t stride = static_cast<std::int64_t>(exec.blocks()) * exec.warps();
  for (std::int64_t t = static_cast<std::int64_t>(exec.block()) * exec.warps() + exec.warp();
       t < args.tokens;
       t += stride) {
    if (!has_remote(args, rank, t)) continue;
    summed = sum_token(exec, args, targets, t, terms, {});
    if (!summed) break;
    exec.warp_sync();
    if (exec.warp_leader()) release_partials(exec, args, t);
    stored += args.hidden * size_of(args.types.output);
  }
  phase.add_bytes(exec.block_total(stored));
  if (!exec.block_agree(summed) || !exec.last_to_arrive(exec::Word::kReceiveArrivals)) return;
  shunt::exec::end_role(exec, rank.received[kCombineKind], exec::Word::kReceiveDone, [&](int p) {
    return args.chunk_begin[p + 1] - args.chunk_begin[p];
  });
}

}  // namespace shunt::combine
