// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Phase dispatch_inter_node_recv: the forwarder. in: chunks that landed from the sources on this
// rail → out: each record's row stored into every rank of this node that hosts one of its experts,
// and the map of where it went (combine reads it backwards).
#pragma once

#include "dispatch/landed.hpp"
#include "dispatch/send.hpp"
#include "dispatch/store.hpp"

namespace shunt::dispatch {

/// A landed chunk, taken apart.
struct ChunkView {
  const ChunkHeader* header = nullptr;
  const std::int32_t* prefix = nullptr;  ///< [ranks_per_node]
  const std::byte* rows = nullptr;
  const std::int32_t* ids = nullptr;
  const float* weights = nullptr;  ///< Null if no weights travel.
  const std::int32_t* tokens = nullptr;
};

[[nodiscard]] SHUNT_HOST_DEVICE inline ChunkView open_chunk(const std::byte* slot,
                                                            const traffic::RecordLayout& layout) {
  ChunkView view;
  view.header = reinterpret_cast<const ChunkHeader*>(slot);
  const auto n = static_cast<std::uint64_t>(view.header->records);
  view.prefix = reinterpret_cast<const std::int32_t*>(slot + layout.prefix_offset());
  view.rows = slot + layout.rows_offset();
  view.ids = reinterpret_cast<const std::int32_t*>(slot + layout.ids_offset(n));
  if (layout.has_weights) {
    view.weights = reinterpret_cast<const float*>(slot + layout.weights_offset(n));
  }
  view.tokens = reinterpret_cast<const std::int32_t*>(slot + layout.sources_offset(n));
  return view;
}

/// Fills mine[fanout] with the ranks of this node that record i is for, ascending; rows are open.
SHUNT_HOST_DEVICE inline void resolve_ranks(const exec::RankView& rank,
                                            const DispatchArgs& args,
                                            const std::int32_t* ids,
                                            plan::RowRef* mine) {
  const int locals = rank.shape.ranks_per_node;
  const int first = rank.shape.rank_of(rank.node, 0);
  int used = 0;
  for (int k = 0; k < args.layout.topk; ++k) {
    if (ids[k] < 0) continue;
    const int local = ids[k] / args.experts_per_rank - first;
    if (local < 0 || local >= locals) continue;
    int at = used;
    while (at > 0 && mine[at - 1].local > local) --at;
    if (at > 0 && mine[at - 1].local == local) continue;
    for (int j = used; j > at; --j) mine[j] = mine[j - 1];
    mine[at].local = local;
    ++used;
  }
  for (int j = used; j < args.fanout; ++j) mine[j] = {};
}

/// Fills refs[records][fanout] with the absolute rows of each record, ranks ascending: rows of a
/// rank follow one another in the order of the records. Whole block; ends with a meeting.
template <exec::Executor Exec>
SHUNT_DEVICE void resolve_rows(Exec& exec,
                               const DispatchArgs& args,
                               const ChunkView& chunk,
                               const std::int32_t* base,
                               plan::RowRef* refs) {
  const exec::RankView& rank = exec.rank();
  const std::int32_t records = chunk.header->records;
  const int lanes = exec.warps() * exec.lanes();
  const int lane = exec.warp() * exec.lanes() + exec.lane();
  for (std::int32_t i = lane; i < records; i += lanes) {
    resolve_ranks(rank,
                  args,
                  chunk.ids + static_cast<std::int64_t>(i) * args.layout.topk,
                  refs + static_cast<std::int64_t>(i) * args.fanout);
  }
  exec.block_sync();
  const std::int64_t count = static_cast<std::int64_t>(records) * args.fanout;
  for (int l = lane; l < rank.shape.ranks_per_node; l += lanes) {
    std::int32_t next = base[l] + chunk.prefix[l];
    for (std::int64_t i = 0; i < count; ++i) {
      if (refs[i].local == l) refs[i].row = next++;
    }
  }
  exec.block_sync();
}

/// Forwards one landed chunk. Whole block.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool forward_chunk(Exec& exec,
                                              const DispatchArgs& args,
                                              const exec::RowTarget* targets,
                                              int peer,
                                              std::int64_t chunk,
                                              std::uint64_t sequence) {
  const exec::RankView& rank = exec.rank();
  const int source = rank.rail_rank(peer);
  const exec::WaitSite site{record::Phase::kDispatchInterNodeRecv,
                            record::WaitReason::kNone,
                            source,
                            static_cast<int>(chunk)};
  const ChunkView view = open_chunk(rank.landing_slot(kDispatchKind, peer, sequence), args.layout);
  if (view.header->op != args.op || view.header->source != source || view.header->chunk != chunk ||
      view.header->records > args.layout.chunk_tokens) {
    if (exec.block_leader()) exec.fail_chunk(site, view.header->op, view.header->chunk);
    return false;
  }
  if (view.header->hash != args.hash) {
    if (exec.block_leader()) exec.fail_mismatch(source, args.op, view.header->hash, args.hash);
    return false;
  }
  exec::SpanScope copy(exec, site, record::SpanKind::kCopy);
  const std::int64_t first = chunk * args.layout.chunk_tokens;
  plan::RowRef* refs = args.maps.forward_rows + (peer * args.maps.max_tokens + first) * args.fanout;
  if (!args.cached) {
    resolve_rows(exec,
                 args,
                 view,
                 args.maps.row_base + rank.shape.node_of(source) * rank.shape.ranks_per_node,
                 refs);
  }
  const std::int32_t records = view.header->records;
  int stored = 0;
  for (std::int32_t i = exec.warp(); i < records; i += exec.warps()) {
    const auto at = static_cast<std::uint64_t>(i);
    const RecordView record{view.rows + at * args.layout.hidden_bytes,
                            view.ids + at * static_cast<std::uint64_t>(args.layout.topk),
                            view.weights != nullptr
                                ? view.weights + at * static_cast<std::uint64_t>(args.layout.topk)
                                : nullptr,
                            {source, view.tokens[i]}};
    stored += store_record(exec, args, targets, refs + i * args.fanout, record, {});
  }
  copy.add_bytes(static_cast<std::uint64_t>(stored) * args.layout.hidden_bytes);
  exec.block_sync();
  if (exec.block_leader()) release_chunk(exec, kDispatchKind, peer, sequence);
  return true;
}

/// The receive role: takes whichever chunk of this block has landed, until all have been forwarded.
template <exec::Executor Exec>
SHUNT_DEVICE void dispatch_receive(Exec& exec, const DispatchArgs& args) {
  const exec::RankView& rank = exec.rank();
  constexpr auto kRecv = record::Phase::kDispatchInterNodeRecv;
  if (!shunt::exec::enter_operation(exec, kRecv)) return;
  exec::SpanScope phase(exec, {kRecv, record::WaitReason::kNone, -1, -1}, record::SpanKind::kPhase);
  if (!await_bases(exec, args, kRecv)) return;
  const exec::RowTarget* targets =
      await_targets(exec, args.hash, nullptr, args.targets.receive, kRecv);
  if (targets == nullptr) return;
  const int peers = rank.peers();
  const auto sequence_of = [&](int peer, std::int64_t chunk) {
    return rank.received[kDispatchKind][peer] + static_cast<std::uint64_t>(chunk);
  };
  const bool all = shunt::exec::for_ready_chunks(
      exec,
      args.maps.serve_begin,
      args.receive_scratch + exec.block() * peers,
      rank.node,
      [&](int peer, std::int64_t chunk) {
        const std::uint64_t sequence = sequence_of(peer, chunk);
        return exec.load(shunt::exec::arrival_word(rank, kDispatchKind, peer, sequence)) >=
               sequence + 1;
      },
      [&](int peer, std::int64_t chunk) {
        const std::uint64_t sequence = sequence_of(peer, chunk);
        return exec::Stall{
            shunt::exec::arrival_word(rank, kDispatchKind, peer, sequence),
            sequence + 1,
            {kRecv, record::WaitReason::kArrival, rank.rail_rank(peer), static_cast<int>(chunk)}};
      },
      [&](int peer, std::int64_t chunk) {
        return forward_chunk(exec, args, targets, peer, chunk, sequence_of(peer, chunk));
      });
  if (!all) return;
  if (!exec.last_to_arrive(exec::Word::kReceiveArrivals)) return;
  signal_peers(exec, rank.layout.forward_done);
  shunt::exec::end_role(exec, rank.received[kDispatchKind], exec::Word::kReceiveDone, [&](int p) {
    return args.maps.chunks_from(p);
  });
}

}  // namespace shunt::dispatch
