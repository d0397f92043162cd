// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One launch per direction: the whole of a rank's dispatch or combine, its blocks in three groups.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "combine/args.hpp"
#include "dispatch/args.hpp"
#include "exec/cuda/context.hpp"

namespace shunt::engine::cuda {

/// Kernels are built twice. For blocks of at most kFewWarps a thread may hold 128 registers, and
/// nothing spills in the loops over rows; one such block fills a multiprocessor. For up to
/// kMostWarps, or two blocks of kFewWarps on a multiprocessor, it may hold 64.
inline constexpr int kFewWarps = 16;
inline constexpr int kMostWarps = 32;

/// Whether the kernels for blocks of so many warps know of rows that come ahead
/// (combine/ahead.hpp); those of one node do. With 64 registers a thread all sums would pay for it.
[[nodiscard]] constexpr bool rows_may_come_ahead(int max_warps) {
  return max_warps <= kFewWarps;
}

/// Blocks of a launch; all of them must be resident at once, since blocks wait for one another.
struct Geometry {
  int blocks = 16;
  int warps = 16;
  int row_warps = 0;  ///< Warps that share a row; divides `warps`. 0: more than one only where
                      ///< tokens are too few to keep single warps busy.
  int rdma_blocks =
      2;  ///< Of the blocks so many send to other nodes, as many receive, and the rest
          ///< works inside the node; at least one each. Nothing in a world of one node.
  std::uint32_t stage_bytes = 0;  ///< Shared memory per warp for the rows of a sum; fit_blocks
                                  ///< chooses it.
  int max_warps = kMostWarps;     ///< kFewWarps or kMostWarps: which kernels; fit_blocks chooses.
};

/// What the sums of a combine look like.
struct SumShape {
  int max_terms = 1;
  std::size_t row_bytes = 16;
};

/// The largest number of warps of a block. Half as many where spans are recorded: those kernels are
/// built for kFewWarps only.
[[nodiscard]] constexpr int max_warps(bool record) {
  return record ? kFewWarps : kMostWarps;
}

/// Operation numbers come from the rank's own words, so that a captured launch can be replayed:
/// `op` and `exchange` of the arguments are ignored. Kernels of one Buffer follow one another on
/// one stream.
[[nodiscard]] cudaError_t launch_dispatch(const exec::cuda::Context& context,
                                          const dispatch::DispatchArgs& args,
                                          const Geometry& geometry,
                                          cudaStream_t stream);
[[nodiscard]] cudaError_t launch_combine(const exec::cuda::Context& context,
                                         const combine::CombineArgs& args,
                                         const Geometry& geometry,
                                         cudaStream_t stream);

/// Sets `geometry->stage_bytes` and `geometry->max_warps` so that `wanted` blocks fit on the
/// current device, as far as that goes; returns how many blocks of every kernel that `context` may
/// launch it holds at once: none, where rows come ahead and no kernel that knows of them fits.
[[nodiscard]] cudaError_t fit_blocks(const exec::cuda::Context& context,
                                     const SumShape& sums,
                                     int wanted,
                                     Geometry* geometry,
                                     int* blocks);

}  // namespace shunt::engine::cuda
