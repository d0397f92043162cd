// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Phase combine_inter_node: the proxy. in: the node's expert outputs and dispatch's map → out: one
// partial per (token, this node), put back to the token's rank chunk by chunk.
#pragma once

#include "combine/terms.hpp"
#include "dispatch/store.hpp"
#include "exec/channel.hpp"

namespace shunt::combine {

inline constexpr int kCombineKind = static_cast<int>(fabric::SignalKind::kCombineChunk);

/// Records in chunk `chunk` of a list of `records`.
[[nodiscard]] SHUNT_HOST_DEVICE inline std::int32_t records_in(std::int64_t records,
                                                               std::int64_t chunk,
                                                               int size) {
  const std::int64_t left = records - chunk * size;
  return static_cast<std::int32_t>(left < size ? left : size);
}

/// Sums the rows of one chunk into its staging slot; returns the bytes to put. Whole block; ends
/// with a meeting.
template <exec::Executor Exec>
SHUNT_DEVICE std::uint32_t reduce_chunk(Exec& exec,
                                        const CombineArgs& args,
                                        const exec::RowTarget* targets,
                                        int peer,
                                        std::int64_t chunk,
                                        std::byte* slot) {
  const exec::RankView& rank = exec.rank();
  const std::int32_t records = records_in(args.maps.records_from[peer], chunk, args.chunk_tokens);
  const auto bytes = static_cast<std::uint32_t>(
      sizeof(ChunkHeader) + static_cast<std::uint64_t>(records) * args.wire_stride);
  if (exec.block_leader()) {
    *reinterpret_cast<ChunkHeader*>(slot) = {
        args.op, rank.rank, static_cast<std::int32_t>(chunk), records, bytes, args.hash};
  }
  const plan::RowRef* refs =
      args.maps.forward_rows +
      (peer * args.maps.max_tokens + chunk * args.chunk_tokens) * args.fanout;
  exec::SumTerm* terms = my_terms(exec, args, Region::kInter);
  exec::SpanScope sum(exec,
                      {record::Phase::kCombineInterNode,
                       record::WaitReason::kNone,
                       rank.rail_rank(peer),
                       static_cast<int>(chunk)},
                      record::SpanKind::kReduce);
  for (std::int32_t i = exec.warp(); i < records; i += exec.warps()) {
    const int count = add_node_rows(exec, args, targets, refs + i * args.fanout, 0, terms);
    exec.sum(slot + sizeof(ChunkHeader) + static_cast<std::uint64_t>(i) * args.wire_stride,
             {terms, static_cast<std::size_t>(count)},
             args.hidden,
             {args.types.partial, args.types.partial});
    sum.add_bytes(static_cast<std::uint64_t>(count) * args.hidden * size_of(args.row_type));
  }
  exec.block_sync();
  return bytes;
}

/// The send role of combine.
template <exec::Executor Exec>
SHUNT_DEVICE void combine_inter(Exec& exec, const CombineArgs& args) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kInter = record::Phase::kCombineInterNode;
  if (!shunt::exec::enter_operation(exec, kInter)) return;
  exec::SpanScope phase(
      exec, {kInter, record::WaitReason::kNone, -1, -1}, record::SpanKind::kPhase);
  const exec::RowTarget* targets =
      dispatch::await_targets(exec, args.hash, nullptr, args.targets.send, kInter);
  if (targets == nullptr) return;
  const auto sequence_of = [&](int peer, std::int64_t chunk) {
    return rank.sent[kCombineKind][peer] + static_cast<std::uint64_t>(chunk);
  };
  const auto site_of = [&](int peer, std::int64_t chunk) {
    return exec::WaitSite{
        kInter, record::WaitReason::kNone, rank.rail_rank(peer), static_cast<int>(chunk)};
  };
  const bool all = shunt::exec::for_ready_chunks(
      exec,
      args.maps.serve_begin,
      args.send_scratch + exec.block() * rank.peers(),
      rank.node,
      [&](int peer, std::int64_t chunk) {
        return shunt::exec::may_send(exec, kCombineKind, peer, sequence_of(peer, chunk));
      },
      [&](int peer, std::int64_t chunk) {
        return shunt::exec::send_stall(
            exec, kCombineKind, peer, sequence_of(peer, chunk), site_of(peer, chunk));
      },
      [&](int peer, std::int64_t chunk) {
        const std::uint64_t sequence = sequence_of(peer, chunk);
        const std::uint32_t bytes = reduce_chunk(
            exec, args, targets, peer, chunk, rank.staging_slot(kCombineKind, peer, sequence));
        phase.add_bytes(bytes);
        if (exec.block_leader()) {
          shunt::exec::post_slot(exec, kCombineKind, peer, sequence, bytes, site_of(peer, chunk));
        }
        return true;
      });
  if (!all || !exec.last_to_arrive(exec::Word::kSendArrivals)) return;
  shunt::exec::end_role(exec, rank.sent[kCombineKind], exec::Word::kSendDone, [&](int p) {
    return args.maps.chunks_from(p);
  });
}

}  // namespace shunt::combine
