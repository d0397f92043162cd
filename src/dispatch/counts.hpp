// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Phase count_exchange. in: rows of this rank for every rank → out: row bases, chunk counts and
// received rows per source in the handle's maps. One message per (source, node), zero included;
// the proxy rank copies it to its node peers. Run by one warp, all lanes.
#pragma once

#include "dispatch/args.hpp"
#include "exec/channel.hpp"

namespace shunt::dispatch {

inline constexpr int kCountKind = static_cast<int>(fabric::SignalKind::kCount);

/// What one rank can receive in a dispatch: references to rows are 32 bits wide.
inline constexpr std::int64_t kMostRows = 0x7fff'ffff;

/// Copies a count entry with its rows; `ready` is left to the caller's release.
SHUNT_HOST_DEVICE inline void copy_entry(memory::CountEntry* to,
                                         const memory::CountEntry& from,
                                         const std::int32_t* rows,
                                         int ranks_per_node) {
  to->op = from.op;
  to->hash = from.hash;
  to->records = from.records;
  to->source = from.source;
  auto* out = reinterpret_cast<std::int32_t*>(to + 1);
  for (int l = 0; l < ranks_per_node; ++l) out[l] = rows[l];
}

[[nodiscard]] SHUNT_HOST_DEVICE inline std::size_t count_offset(const exec::RankView& rank,
                                                                std::uint64_t exchange,
                                                                int source) {
  return rank.layout.counts + ((exchange & 1U) * static_cast<std::size_t>(rank.shape.world) +
                               static_cast<std::size_t>(source)) *
                                  rank.layout.count_stride;
}

/// Publishes `entry` and its rows in the count tables of all ranks of this node.
template <exec::Executor Exec>
SHUNT_DEVICE void publish_counts(Exec& exec,
                                 const DispatchArgs& args,
                                 const memory::CountEntry& entry,
                                 const std::int32_t* rows) {
  const exec::RankView& rank = exec.rank();
  const std::size_t offset = count_offset(rank, args.exchange, entry.source);
  for (int l = exec.lane(); l < rank.shape.ranks_per_node; l += exec.lanes()) {
    auto* to = rank.at<memory::CountEntry>(l, offset);
    copy_entry(to, entry, rows, rank.shape.ranks_per_node);
    exec.signal(l, &to->ready, args.exchange + 1);
  }
}

/// Sends this rank's counts to its proxy on every remote node.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool send_counts(Exec& exec, const DispatchArgs& args) {
  const exec::RankView& rank = exec.rank();
  for (int i = 0; i < rank.peers(); ++i) {
    const int peer = (rank.node + i) % rank.peers();
    const exec::WaitSite site{
        record::Phase::kCountExchange, record::WaitReason::kNone, rank.rail_rank(peer), -1};
    const bool may = shunt::exec::warp_waits(exec, 1, [&](std::int64_t) {
      return shunt::exec::await_staging(exec, kCountKind, peer, args.exchange, site) &&
             shunt::exec::await_credit(exec, kCountKind, peer, args.exchange, site);
    });
    if (!may) return false;
    if (!exec.warp_leader()) continue;
    auto* entry =
        reinterpret_cast<memory::CountEntry*>(rank.staging_slot(kCountKind, peer, args.exchange));
    const int node = rank.shape.peer_node(rank.node, peer);
    memory::CountEntry counts;
    counts.op = args.op;
    counts.hash = args.hash;
    counts.records = static_cast<std::uint64_t>(args.send_begin[peer + 1] - args.send_begin[peer]);
    counts.source = rank.rank;
    copy_entry(
        entry, counts, args.rows_to_rank + rank.shape.rank_of(node, 0), rank.shape.ranks_per_node);
    shunt::exec::post_slot(exec,
                           kCountKind,
                           peer,
                           args.exchange,
                           static_cast<std::uint32_t>(args.layout.count_message_bytes()),
                           site);
  }
  return true;
}

/// Passes on what the sources on this rail have sent.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool forward_counts(Exec& exec, const DispatchArgs& args) {
  const exec::RankView& rank = exec.rank();
  for (int peer = 0; peer < rank.peers(); ++peer) {
    const exec::WaitSite site{
        record::Phase::kCountExchange, record::WaitReason::kCounts, rank.rail_rank(peer), -1};
    const bool here = shunt::exec::warp_waits(exec, 1, [&](std::int64_t) {
      return exec.wait_until(shunt::exec::arrival_word(rank, kCountKind, peer, args.exchange),
                             args.exchange + 1,
                             site);
    });
    if (!here) return false;
    const auto* entry = reinterpret_cast<const memory::CountEntry*>(
        rank.landing_slot(kCountKind, peer, args.exchange));
    publish_counts(exec, args, *entry, reinterpret_cast<const std::int32_t*>(entry + 1));
    exec.warp_sync();
    if (!exec.warp_leader()) continue;
    args.maps.records_from[peer] = static_cast<std::int64_t>(entry->records);
    args.maps.serve_begin[peer + 1] =
        args.maps.serve_begin[peer] + static_cast<std::int64_t>(args.layout.chunks(entry->records));
    shunt::exec::release_slot(exec, kCountKind, peer, args.exchange);
  }
  return true;
}

/// Where the rows of each source begin on local rank `local`, given how many each source has. Row
/// references are 32 bits wide: the sum may be too large for them, the bases then mean nothing.
template <typename RowsOf>
[[nodiscard]] SHUNT_HOST_DEVICE std::int64_t sum_rows(
    const cluster::Shape& shape, int rail, int local, RowsOf rows_of, std::int32_t* row_base) {
  std::int64_t running = 0;
  for (int source = 0; source < shape.world; ++source) {
    if (shape.local_of(source) == rail) {
      row_base[shape.node_of(source) * shape.ranks_per_node + local] =
          static_cast<std::int32_t>(running);
    }
    running += rows_of(source)[local];
  }
  return running;
}

/// Waits for the counts of all sources and derives this rank's maps from them.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool derive_bases(Exec& exec, const DispatchArgs& args) {
  const exec::RankView& rank = exec.rank();
  const int locals = rank.shape.ranks_per_node;
  const auto entry_of = [&](int source) {
    return rank.template at<memory::CountEntry>(rank.local,
                                                count_offset(rank, args.exchange, source));
  };
  const auto rows_of = [&](int source) {
    return reinterpret_cast<const std::int32_t*>(entry_of(source) + 1);
  };
  const bool all = shunt::exec::warp_waits(exec, rank.shape.world, [&](std::int64_t s) {
    const int source = static_cast<int>(s);
    const memory::CountEntry* entry = entry_of(source);
    if (!exec.wait_until(
            &entry->ready,
            args.exchange + 1,
            {record::Phase::kCountExchange, record::WaitReason::kCounts, source, -1})) {
      return false;
    }
    if (entry->op == args.op && entry->hash == args.hash) return true;
    exec.fail_mismatch(source, entry->op, entry->hash, args.hash);
    return false;
  });
  if (!all) return false;
  const bool fits = shunt::exec::warp_waits(exec, locals, [&](std::int64_t l) {
    const int local = static_cast<int>(l);
    const std::int64_t rows = sum_rows(rank.shape, rank.local, local, rows_of, args.maps.row_base);
    if (rows <= kMostRows) return true;
    exec.fail_rows(rank.shape.rank_of(rank.node, local), rows);
    return false;
  });
  if (!fits) return false;
  for (int source = exec.lane(); source < rank.shape.world; source += exec.lanes()) {
    args.maps.rows_from[source] = rows_of(source)[rank.local];
  }
  return true;
}

/// Waits until the maps hold row bases and chunk counts; a replay has them from the start. Whole
/// block.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_bases(Exec& exec,
                                            const DispatchArgs& args,
                                            record::Phase phase) {
  if (args.cached) return true;
  const exec::RankView& rank = exec.rank();
  return shunt::exec::block_wait(exec,
                                 rank.word(exec::Word::kBasesReady),
                                 args.op + 1,
                                 {phase, record::WaitReason::kCounts, rank.rank, -1});
}

/// The whole phase; on return bases are published to the other blocks of this rank.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool count_exchange(Exec& exec, const DispatchArgs& args) {
  if (args.cached) return true;
  const exec::RankView& rank = exec.rank();
  const exec::SpanScope phase(exec,
                              {record::Phase::kCountExchange, record::WaitReason::kNone, -1, -1},
                              record::SpanKind::kPhase);
  memory::CountEntry own;
  own.op = args.op;
  own.hash = args.hash;
  own.source = rank.rank;
  publish_counts(exec, args, own, args.rows_to_rank + rank.shape.rank_of(rank.node, 0));
  if (!send_counts(exec, args)) return false;
  if (exec.warp_leader()) exec.signal_self(rank.word(exec::Word::kCountsSent), args.op + 1);
  if (!forward_counts(exec, args) || !derive_bases(exec, args)) return false;
  exec.warp_sync();
  if (exec.warp_leader()) exec.signal_self(rank.word(exec::Word::kBasesReady), args.op + 1);
  return true;
}

}  // namespace shunt::dispatch
