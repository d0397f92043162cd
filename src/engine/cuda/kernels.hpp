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
};

/// What the sums of a combine look like.
struct SumShape {
  int max_terms = 1;
  std::size_t row_bytes = 16;
};

/// The largest number of warps of a block: register use is bounded for it, so that one such block
/// fills a multiprocessor. Half as many where spans are recorded, so that what open spans keep in
/// registers does not push out the rows.
[[nodiscard]] constexpr int max_warps(bool record) {
  return record ? 16 : 32;
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

/// Sets `geometry->stage_bytes` so that `wanted` blocks fit into the shared memory of the current
/// device, as far as that goes; returns the blocks of every kernel that `context` may launch that
/// it holds at once.
[[nodiscard]] cudaError_t fit_blocks(const exec::cuda::Context& context,
                                     const SumShape& sums,
                                     int wanted,
                                     Geometry* geometry,
                                     int* blocks);

}  // namespace shunt::engine::cuda
