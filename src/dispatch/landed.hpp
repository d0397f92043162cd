// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dispatch/args.hpp"
#include "exec/channel.hpp"

namespace shunt::dispatch {

/// The landed chunk of `sequence` has been read for good. Tells the progress thread what it was,
/// where that cannot look for itself. One lane, after its block (or warp) has met.
template <exec::Executor Exec>
SHUNT_DEVICE void release_chunk(Exec& exec, int kind, int peer, std::uint64_t sequence) {
  const exec::RankView& rank = exec.rank();
  if (rank.landed[kind] != nullptr) {
    const auto& header =
        *reinterpret_cast<const ChunkHeader*>(rank.landing_slot(kind, peer, sequence));
    rank.landed[kind][rank.layout.slot(kind, static_cast<std::uint32_t>(peer), sequence)] = {
        header.bytes, static_cast<std::uint32_t>(header.op), header.chunk};
  }
  shunt::exec::release_slot(exec, kind, peer, sequence);
}

}  // namespace shunt::dispatch
