// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Phases copy_to_staging and dispatch_inter_node_send. in: the caller's rows, the Plan → out:
// chunks in staging, one put each to the proxy rank of every remote node that needs them.
#pragma once

#include <cstring>

#include "dispatch/args.hpp"
#include "exec/channel.hpp"

namespace shunt::dispatch {

inline constexpr int kDispatchKind = static_cast<int>(fabric::SignalKind::kDispatchChunk);

/// Packs records [first, first + records) of the list for `peer` into the staging slot. Whole
/// block; the slot is full once it has met.
template <exec::Executor Exec>
SHUNT_DEVICE void pack_chunk(Exec& exec,
                             const DispatchArgs& args,
                             int peer,
                             std::int64_t chunk,
                             std::byte* slot,
                             std::int32_t records) {
  const traffic::RecordLayout& layout = args.layout;
  const auto n = static_cast<std::uint64_t>(records);
  const std::int32_t* tokens =
      args.send_tokens + args.send_begin[peer] + chunk * layout.chunk_tokens;
  if (exec.block_leader()) {
    auto* header = reinterpret_cast<ChunkHeader*>(slot);
    *header = {args.op,
               exec.rank().rank,
               static_cast<std::int32_t>(chunk),
               records,
               static_cast<std::uint32_t>(layout.chunk_bytes(n)),
               args.hash};
    const std::int32_t* prefix =
        args.chunk_prefix + (args.chunk_begin[peer] + chunk) * layout.ranks_per_node;
    auto* out = reinterpret_cast<std::int32_t*>(slot + layout.prefix_offset());
    for (int l = 0; l < layout.ranks_per_node; ++l) out[l] = prefix[l];
  }
  auto* sources = reinterpret_cast<std::int32_t*>(slot + layout.sources_offset(n));
  for (std::int32_t i = exec.warp(); i < records; i += exec.warps()) {
    const auto token = static_cast<std::uint64_t>(tokens[i]);
    const auto at = static_cast<std::uint64_t>(i);
    exec.copy(slot + layout.rows_offset() + at * layout.hidden_bytes,
              args.rows + token * layout.hidden_bytes,
              layout.hidden_bytes);
    exec.copy_small(slot + layout.ids_offset(n) + at * layout.ids_bytes(),
                    reinterpret_cast<const std::byte*>(args.ids) + token * layout.ids_bytes(),
                    layout.ids_bytes());
    if (layout.has_weights) {
      exec.copy_small(
          slot + layout.weights_offset(n) + at * layout.weights_bytes(),
          reinterpret_cast<const std::byte*>(args.weights) + token * layout.weights_bytes(),
          layout.weights_bytes());
    }
    if (exec.warp_leader()) sources[i] = tokens[i];
  }
}

/// Packs and posts one chunk; staging slot and credit are there. Whole block.
template <exec::Executor Exec>
SHUNT_DEVICE void send_chunk(
    Exec& exec, const DispatchArgs& args, int peer, std::int64_t chunk, std::uint64_t sequence) {
  const exec::RankView& rank = exec.rank();
  const traffic::RecordLayout& layout = args.layout;
  const std::int64_t left =
      args.send_begin[peer + 1] - args.send_begin[peer] - chunk * layout.chunk_tokens;
  const auto records =
      static_cast<std::int32_t>(left < layout.chunk_tokens ? left : layout.chunk_tokens);
  exec::WaitSite site{record::Phase::kCopyToStaging,
                      record::WaitReason::kNone,
                      rank.rail_rank(peer),
                      static_cast<int>(chunk)};
  {
    exec::SpanScope phase(exec, site, record::SpanKind::kPhase);
    exec::SpanScope copy(exec, site, record::SpanKind::kCopy);
    pack_chunk(exec, args, peer, chunk, rank.staging_slot(kDispatchKind, peer, sequence), records);
    exec.block_sync();
    phase.add_bytes(static_cast<std::uint64_t>(records) * layout.record_bytes());
    copy.add_bytes(static_cast<std::uint64_t>(records) * layout.record_bytes());
  }
  site.phase = record::Phase::kDispatchInterNodeSend;
  exec::SpanScope phase(exec, site, record::SpanKind::kPhase);
  const auto bytes =
      static_cast<std::uint32_t>(layout.chunk_bytes(static_cast<std::uint64_t>(records)));
  phase.add_bytes(bytes);
  if (exec.block_leader()) {
    shunt::exec::post_slot(exec, kDispatchKind, peer, sequence, bytes, site);
  }
}

/// The send role: all chunks for all remote nodes, gated by staging and credits.
template <exec::Executor Exec>
SHUNT_DEVICE void dispatch_send(Exec& exec, const DispatchArgs& args) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kSend = record::Phase::kDispatchInterNodeSend;
  if (!shunt::exec::enter_operation(exec, kSend)) return;
  // Counts go first: behind bulk data they would hold up every rank of the target node.
  if (!args.cached &&
      !shunt::exec::block_wait(exec,
                               rank.word(exec::Word::kCountsSent),
                               args.op + 1,
                               {kSend, record::WaitReason::kCounts, rank.rank, -1})) {
    return;
  }
  const std::uint64_t* sent = rank.sent[kDispatchKind];
  const auto sequence_of = [&](int peer, std::int64_t chunk) {
    return sent[peer] + static_cast<std::uint64_t>(chunk);
  };
  const bool all = shunt::exec::for_ready_chunks(
      exec,
      args.chunk_begin,
      args.send_scratch + exec.block() * rank.peers(),
      rank.node,
      [&](int peer, std::int64_t chunk) {
        return shunt::exec::may_send(exec, kDispatchKind, peer, sequence_of(peer, chunk));
      },
      [&](int peer, std::int64_t chunk) {
        return shunt::exec::send_stall(
            exec,
            kDispatchKind,
            peer,
            sequence_of(peer, chunk),
            {kSend, record::WaitReason::kNone, rank.rail_rank(peer), static_cast<int>(chunk)});
      },
      [&](int peer, std::int64_t chunk) {
        send_chunk(exec, args, peer, chunk, sequence_of(peer, chunk));
        return true;
      });
  if (!all || !exec.last_to_arrive(exec::Word::kSendArrivals)) return;
  shunt::exec::end_role(exec, rank.sent[kDispatchKind], exec::Word::kSendDone, [&](int p) {
    return args.chunk_begin[p + 1] - args.chunk_begin[p];
  });
}

}  // namespace shunt::dispatch
