// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// How a lane that has found a failure tells the host and the node peers.
#pragma once

#include "exec/cuda/context.hpp"
#include "exec/cuda/ptx.cuh"

namespace shunt::exec::cuda {

/// True on the one lane of the rank that reports; it fills the record and then publishes it.
[[nodiscard]] __device__ inline bool claim_failure(const Context& context) {
  return ptx::add_acq_rel(context.claimed, 1) == 0;
}

/// Completes the record and ends the operation on all node peers. `rank` may be a copy of the
/// context's; `waited` is the other rank that has not done what was waited for.
__device__ inline void publish_failure(const Context& context,
                                       const RankView& rank,
                                       FailureRecord::Kind kind,
                                       int waited = -1) {
  const std::uint64_t word = abort_for(context.abort, waited == rank.rank ? -1 : waited);
  ptx::store_release(&context.failure->kind, kind);
  for (int l = 0; l < rank.shape.ranks_per_node; ++l) {
    ptx::store_release(&rank.control(l)->abort, word);
  }
}

}  // namespace shunt::exec::cuda
