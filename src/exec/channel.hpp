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
[[nodiscard]] bool await_staging(
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
[[nodiscard]] bool await_completed(
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
[[nodiscard]] bool await_credit(
    Exec& exec, int kind, int peer, std::uint64_t sequence, WaitSite site) {
  const memory::Layout& layout = exec.rank().layout;
  const std::uint32_t capacity = layout.capacity[kind];
  if (sequence < capacity) return true;
  site.reason = record::WaitReason::kCredit;
  return exec.wait_until(
      exec.rank().heap_word(layout.credit[kind]) + peer, sequence - capacity + 1, site);
}

/// The flag that `sequence` has landed: it holds sequence + 1 then.
[[nodiscard]] inline std::uint64_t* arrival_word(const RankView& rank,
                                                 int kind,
                                                 int peer,
                                                 std::uint64_t sequence) {
  const memory::Layout& layout = rank.layout;
  return rank.heap_word(layout.arrived[kind]) +
         layout.slot(kind, static_cast<std::uint32_t>(peer), sequence);
}

/// Hands the filled staging slot to the progress thread. The caller holds a credit.
template <Executor Exec>
void post_slot(Exec& exec,
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
void release_slot(Exec& exec, int kind, int peer, std::uint64_t sequence) {
  exec.post({DescriptorKind::kConsumed,
             static_cast<fabric::SignalKind>(kind),
             static_cast<std::uint32_t>(peer),
             0,
             sequence});
}

/// Calls visit(peer, chunk) for the chunks that fall to this block: chunk by chunk, within a chunk
/// number over the peers from `first` on, so that all peers get work from the start. Stops, and
/// returns false, when visit does.
template <Executor Exec, typename Visit>
bool for_my_chunks(
    Exec& exec, const std::int64_t* begin, int peers, int first, Visit&& visit) {
  std::int64_t most = 0;
  for (int p = 0; p < peers; ++p) {
    const std::int64_t n = begin[p + 1] - begin[p];
    most = n > most ? n : most;
  }
  std::int64_t turn = 0;
  for (std::int64_t chunk = 0; chunk < most; ++chunk) {
    for (int i = 0; i < peers; ++i) {
      const int peer = (first + i) % peers;
      if (chunk >= begin[peer + 1] - begin[peer]) continue;
      if (turn++ % exec.blocks() != exec.block()) continue;
      if (!visit(peer, chunk)) return false;
    }
  }
  return true;
}

}  // namespace shunt::exec
