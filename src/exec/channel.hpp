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
      exec.rank().fabric_word(layout.completed[kind]) + layout.slot(kind, peer, sequence),
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
      exec.rank().fabric_word(layout.completed[kind]) + layout.slot(kind, peer, sequence),
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
      exec.rank().fabric_word(layout.credit[kind]) + peer, sequence - capacity + 1, site);
}

/// The flag that `sequence` has landed: it holds sequence + 1 then.
[[nodiscard]] SHUNT_HOST_DEVICE inline std::uint64_t* arrival_word(const RankView& rank,
                                                                   int kind,
                                                                   int peer,
                                                                   std::uint64_t sequence) {
  const memory::Layout& layout = rank.layout;
  return rank.fabric_word(layout.arrived[kind]) +
         layout.slot(kind, static_cast<std::uint32_t>(peer), sequence);
}

/// Hands the filled staging slot to the peer's progress thread. The caller holds a credit. One
/// lane, after its block (or warp, if that alone filled the slot) has met.
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
      exec.stamp(), static_cast<std::uint32_t>(exec.op()), site.chunk};
  exec.post({DescriptorKind::kPut,
             static_cast<fabric::SignalKind>(kind),
             static_cast<std::uint32_t>(peer),
             bytes,
             sequence});
}

/// The landing slot of `sequence` has been read for good. One lane, as post_slot.
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
  return exec.load(rank.fabric_word(rank.layout.credit[kind]) + peer) >= before &&
         exec.load(rank.fabric_word(rank.layout.completed[kind]) + slot) >= before;
}

/// The chunks that fall to a block, [begin[p], begin[p + 1]) of every peer p: which of them is next
/// of each peer. One lane's own; `next` is scratch [peers] of the block.
class ChunkQueue {
 public:
  ChunkQueue() = default;
  SHUNT_HOST_DEVICE ChunkQueue(
      const std::int64_t* begin, std::int32_t* next, int peers, int block, int blocks)
      : begin_(begin), next_(next), peers_(peers), blocks_(blocks) {
    for (int p = 0; p < peers; ++p) {
      // Chunk c of peer p falls to block (c + p) mod blocks.
      next[p] = (block + blocks - p % blocks) % blocks;
      const std::int64_t count = begin[p + 1] - begin[p];
      if (count > next[p]) left_ += (count - next[p] + blocks - 1) / blocks;
    }
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t left() const { return left_; }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t chunk(int peer) const { return next_[peer]; }

  /// The first peer from `turn` on whose next chunk is ready(peer, chunk); −1 if there is none, and
  /// then `open` is the first that still has a chunk.
  template <typename Ready>
  [[nodiscard]] SHUNT_HOST_DEVICE int look(int turn, int& open, Ready&& ready) const {
    open = -1;
    for (int i = 0; i < peers_; ++i) {
      const int p = (turn + i) % peers_;
      if (next_[p] >= begin_[p + 1] - begin_[p]) continue;
      if (open < 0) open = p;
      if (ready(p, static_cast<std::int64_t>(next_[p]))) return p;
    }
    return -1;
  }
  /// Takes the next chunk of `peer`.
  SHUNT_HOST_DEVICE std::int64_t take(int peer) {
    const std::int64_t chunk = next_[peer];
    next_[peer] += blocks_;
    --left_;
    return chunk;
  }

 private:
  const std::int64_t* begin_ = nullptr;
  std::int32_t* next_ = nullptr;
  int peers_ = 0;
  int blocks_ = 1;
  std::int64_t left_ = 0;
};

/// Takes the chunks that fall to this block, in order per peer but whichever peer is ready:
/// ready(peer, chunk) must become true by what others do. A block that waited for one peer in
/// particular could close a circle of ranks that wait for each other. Whole block: its leader
/// chooses (ready and stall are its own doing), all warps enter visit(peer, chunk) together and
/// answer alike. `next` is scratch [peers] of this block; stall(peer, chunk) describes the wait
/// (word, value, site) for the case that nothing becomes ready. Stops, and returns false on all
/// lanes, when visit or the wait does.
template <Executor Exec, typename Ready, typename Stall, typename Visit>
[[nodiscard]] SHUNT_DEVICE bool for_ready_chunks(Exec& exec,
                                                 const std::int64_t* begin,
                                                 std::int32_t* next,
                                                 int first,
                                                 Ready&& ready,
                                                 Stall&& stall,
                                                 Visit&& visit) {
  constexpr std::int64_t kNone = -1;
  constexpr std::int64_t kFailed = -2;
  const int peers = exec.rank().peers();
  int turn = first % peers;
  ChunkQueue queue;
  if (exec.block_leader()) queue = ChunkQueue(begin, next, peers, exec.block(), exec.blocks());
  const auto choose = [&]() -> std::int64_t {
    if (queue.left() == 0) return kNone;
    int open = -1;
    int found = -1;
    const auto look = [&] {
      found = queue.look(turn, open, ready);
      return found >= 0;
    };
    if (!look()) {
      const auto [word, value, site] = stall(open, queue.chunk(open));
      if (!exec.wait_any(look, word, value, site)) return kFailed;
    }
    return queue.take(found) * peers + found;
  };
  for (;;) {
    std::int64_t taken = kNone;
    if (exec.block_leader()) taken = choose();
    taken = exec.block_broadcast(taken);
    if (taken < 0) return taken == kNone;
    const int peer = static_cast<int>(taken % peers);
    if (!visit(peer, taken / peers)) return false;
    turn = (peer + 1) % peers;
  }
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
  const std::uint64_t* credit = rank.fabric_word(rank.layout.credit[kind]) + peer;
  if (exec.load(credit) < before) {
    site.reason = record::WaitReason::kCredit;
    return {credit, before, site};
  }
  site.reason = record::WaitReason::kStaging;
  return {rank.fabric_word(rank.layout.completed[kind]) +
              rank.layout.slot(kind, static_cast<std::uint32_t>(peer), sequence),
          before,
          site};
}

}  // namespace shunt::exec
