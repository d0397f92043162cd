// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// How a block uses a channel: a staging slot to fill, a credit to send it, a landing slot to read.
// Sequence numbers run for the life of the Buffer (fabric/signal.hpp).
#pragma once

#include "exec/phase.hpp"

namespace shunt::exec {

/// Waits until the staging slot of `sequence` may be written: the put that used it has completed.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_staging(
    Exec& exec, int kind, int peer, std::uint64_t sequence, WaitSite site) {
  const memory::Layout& layout = exec.rank().layout;
  const std::uint32_t capacity = layout.capacity[kind];
  if (sequence < capacity) return true;
  site.reason = record::WaitReason::kStaging;
  return exec.wait_until(
      exec.rank().heap_word(layout.completed[kind]) + layout.slot(kind, peer, sequence),
      sequence - capacity + 1,
      site);
}

/// Waits until the put of `sequence` has completed locally.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_completed(
    Exec& exec, int kind, int peer, std::uint64_t sequence, WaitSite site) {
  const memory::Layout& layout = exec.rank().layout;
  site.reason = record::WaitReason::kStaging;
  return exec.wait_until(
      exec.rank().heap_word(layout.completed[kind]) + layout.slot(kind, peer, sequence),
      sequence + 1,
      site);
}

/// Waits until the target has room for `sequence`.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool await_credit(
    Exec& exec, int kind, int peer, std::uint64_t sequence, WaitSite site) {
  const memory::Layout& layout = exec.rank().layout;
  const std::uint32_t capacity = layout.capacity[kind];
  if (sequence < capacity) return true;
  site.reason = record::WaitReason::kCredit;
  return exec.wait_until(
      exec.rank().heap_word(layout.credit[kind]) + peer, sequence - capacity + 1, site);
}

/// The flag that `sequence` has landed: it holds sequence + 1 then.
[[nodiscard]] SHUNT_HOST_DEVICE inline std::uint64_t* arrival_word(const RankView& rank,
                                                                   int kind,
                                                                   int peer,
                                                                   std::uint64_t sequence) {
  const memory::Layout& layout = rank.layout;
  return rank.heap_word(layout.arrived[kind]) +
         layout.slot(kind, static_cast<std::uint32_t>(peer), sequence);
}

/// Hands the filled staging slot to the progress thread. The caller holds a credit.
template <Executor Exec>
SHUNT_DEVICE void post_slot(Exec& exec,
                            int kind,
                            int peer,
                            std::uint64_t sequence,
                            std::uint32_t bytes,
                            const WaitSite& site) {
  const RankView& rank = exec.rank();
  const SpanScope post(exec, site, record::SpanKind::kPost);
  rank.notes[kind][rank.layout.slot(kind, static_cast<std::uint32_t>(peer), sequence)] = {
      static_cast<std::uint32_t>(exec.op()), site.chunk};
  exec.post({DescriptorKind::kPut,
             static_cast<fabric::SignalKind>(kind),
             static_cast<std::uint32_t>(peer),
             bytes,
             sequence});
}

/// The landing slot of `sequence` has been read for good.
template <Executor Exec>
SHUNT_DEVICE void release_slot(Exec& exec, int kind, int peer, std::uint64_t sequence) {
  exec.post({DescriptorKind::kConsumed,
             static_cast<fabric::SignalKind>(kind),
             static_cast<std::uint32_t>(peer),
             0,
             sequence});
}

/// Whether the staging slot of `sequence` is free and the target has room for it.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool may_send(Exec& exec, int kind, int peer, std::uint64_t sequence) {
  const RankView& rank = exec.rank();
  const std::uint32_t capacity = rank.layout.capacity[kind];
  if (sequence < capacity) return true;
  const std::uint64_t before = sequence - capacity + 1;
  const std::size_t slot = rank.layout.slot(kind, static_cast<std::uint32_t>(peer), sequence);
  return exec.load(rank.heap_word(rank.layout.credit[kind]) + peer) >= before &&
         exec.load(rank.heap_word(rank.layout.completed[kind]) + slot) >= before;
}

/// Takes the chunks that fall to this block, [begin[p], begin[p + 1]) of every peer p, in order per
/// peer but whichever peer is ready: ready(peer, chunk) must become true by what others do. A block
/// that waited for one peer in particular could close a circle of ranks that wait for each other.
/// `next` is scratch [peers]; stall(peer, chunk) describes the wait (word, value, site) for the
/// case that nothing becomes ready. Stops, and returns false, when visit or the wait does.
template <Executor Exec, typename Ready, typename Stall, typename Visit>
SHUNT_DEVICE bool for_ready_chunks(Exec& exec,
                                   const std::int64_t* begin,
                                   std::int32_t* next,
                                   int first,
                                   Ready&& ready,
                                   Stall&& stall,
                                   Visit&& visit) {
  const int peers = exec.rank().peers();
  std::int64_t left = 0;
  for (int p = 0; p < peers; ++p) {
    // Chunk c of peer p falls to block (c + p) mod blocks.
    next[p] = (exec.block() + exec.blocks() - p % exec.blocks()) % exec.blocks();
    for (std::int64_t c = next[p]; c < begin[p + 1] - begin[p]; c += exec.blocks()) ++left;
  }
  int turn = first % peers;
  while (left > 0) {
    int open = -1;
    int found = -1;
    const auto look = [&] {
      for (int i = 0; i < peers; ++i) {
        const int p = (turn + i) % peers;
        if (next[p] >= begin[p + 1] - begin[p]) continue;
        if (open < 0) open = p;
        if (!ready(p, next[p])) continue;
        found = p;
        return true;
      }
      return false;
    };
    if (!look()) {
      const auto [word, value, site] = stall(open, next[open]);
      if (!exec.wait_any(look, word, value, site)) return false;
    }
    if (!visit(found, static_cast<std::int64_t>(next[found]))) return false;
    next[found] += exec.blocks();
    --left;
    turn = (found + 1) % peers;
  }
  return true;
}

/// What a wait for a word looks like to for_ready_chunks.
struct Stall {
  const std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
  WaitSite site;
};

/// The stall of a block that may not send: no credit, or no staging slot.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE Stall
send_stall(Exec& exec, int kind, int peer, std::uint64_t sequence, WaitSite site) {
  const RankView& rank = exec.rank();
  const std::uint64_t before = sequence - rank.layout.capacity[kind] + 1;
  const std::uint64_t* credit = rank.heap_word(rank.layout.credit[kind]) + peer;
  if (exec.load(credit) < before) {
    site.reason = record::WaitReason::kCredit;
    return {credit, before, site};
  }
  site.reason = record::WaitReason::kStaging;
  return {rank.heap_word(rank.layout.completed[kind]) +
              rank.layout.slot(kind, static_cast<std::uint32_t>(peer), sequence),
          before,
          site};
}

}  // namespace shunt::exec
