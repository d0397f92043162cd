// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A plan made on the device: three small launches on the caller's stream (plan/pieces.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include "exec/cuda/context.hpp"
#include "plan/pieces.hpp"

namespace shunt::engine::cuda {

/// Whether one warp's words for so many ranks and nodes fit into the shared memory of a block.
[[nodiscard]] bool plan_fits(const plan::PieceArgs& args);

/// Loads the kernels: one that is loaded at its first launch would wait for those that run.
[[nodiscard]] cudaError_t load_plan_kernels();

/// Blocks have at most `warps` warps and need few registers and little shared memory: there is room
/// for one wherever a block of an operation would fit, so that a rank can plan while other ranks'
/// operations hold the rest of the device and wait for it. An id that is not allowed becomes the
/// rank's failure (FailureRecord::kId) and counts as none. REQUIRES: plan_fits(args).
[[nodiscard]] cudaError_t launch_plan(const exec::cuda::Context& context,
                                      const plan::PieceArgs& args,
                                      int warps,
                                      cudaStream_t stream);

}  // namespace shunt::engine::cuda
