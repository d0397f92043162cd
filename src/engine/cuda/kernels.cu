// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "combine/intra.hpp"
#include "dispatch/intra.hpp"
#include "engine/cuda/kernels.hpp"
#include "exec/cuda/exec.cuh"

namespace shunt::engine::cuda {
namespace {

using exec::SumTerm;
using exec::cuda::Context;
using exec::cuda::CudaExec;

static_assert(exec::Executor<CudaExec>);

/// Shared memory of a block: what every warp reads all the time, and the terms of its sums.
template <typename Args>
struct alignas(64) Shared {
  exec::RankView rank;
  Args args;
};

template <typename T>
__device__ void copy_words(T* to, const T* from) {
  static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  const auto* in = reinterpret_cast<const std::uint32_t*>(from);
  for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof(std::uint32_t); i += blockDim.x) {
    out[i] = in[i];
  }
}

/// Fills the shared memory, the windows' addresses behind it. Whole block.
template <typename Args>
__device__ Shared<Args>& set_up(unsigned char* memory, const Context& context, const Args& args) {
  auto& shared = *reinterpret_cast<Shared<Args>*>(memory);
  auto** windows = reinterpret_cast<std::byte**>(memory + sizeof(Shared<Args>));
  copy_words(&shared.rank, &context.rank);
  copy_words(&shared.args, &args);
  const auto locals = static_cast<unsigned>(context.rank.shape.ranks_per_node);
  for (unsigned l = threadIdx.x; l < locals; l += blockDim.x) windows[l] = context.rank.windows[l];
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.rank.windows = windows;
    // No block moves this word before all blocks have arrived at the end of the operation.
    shared.args.op = exec::cuda::ptx::load_acquire(context.rank.word(exec::Word::kIntraDone));
  }
  __syncthreads();
  return shared;
}

template <typename Args>
[[nodiscard]] std::size_t shared_bytes(int ranks_per_node, int warps, int max_terms) {
  const std::size_t windows = static_cast<std::size_t>(ranks_per_node + 1) / 2 * 16;
  return sizeof(Shared<Args>) + windows +
         static_cast<std::size_t>(warps) * static_cast<std::size_t>(max_terms) * sizeof(SumTerm);
}

__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    dispatch_kernel(const __grid_constant__ Context context,
                    const __grid_constant__ dispatch::DispatchArgs launched) {
  extern __shared__ __align__(64) unsigned char memory[];
  Shared<dispatch::DispatchArgs>& shared = set_up(memory, context, launched);
  if (threadIdx.x == 0) {
    shared.args.exchange = exec::cuda::ptx::load_acquire(context.exchanges);
  }
  __syncthreads();
  CudaExec exec(context, shared.rank, nullptr, shared.args.op);
  const bool last = dispatch::dispatch_intra(exec, shared.args);
  // After every block has read it; the next kernel of the stream sees it.
  if (last && !launched.cached && exec.block_leader()) *context.exchanges += 1;
}

__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    combine_kernel(const __grid_constant__ Context context,
                   const __grid_constant__ combine::CombineArgs launched) {
  extern __shared__ __align__(64) unsigned char memory[];
  Shared<combine::CombineArgs>& shared = set_up(memory, context, launched);
  auto* terms = reinterpret_cast<SumTerm*>(
      memory + sizeof(Shared<combine::CombineArgs>) +
      static_cast<std::size_t>(context.rank.shape.ranks_per_node + 1) / 2 * 16);
  const unsigned warp = threadIdx.x / 32;
  CudaExec exec(context,
                shared.rank,
                terms + warp * static_cast<unsigned>(launched.max_terms),
                shared.args.op);
  (void)combine::combine_intra(exec, shared.args);
}

/// More than 48 KiB of shared memory has to be asked for.
template <typename Kernel>
cudaError_t allow_shared(Kernel kernel, std::size_t bytes) {
  constexpr std::size_t kDefault = std::size_t{48} * 1024;
  if (bytes <= kDefault) return cudaSuccess;
  return cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

}  // namespace

cudaError_t launch_dispatch(const Context& context,
                            const dispatch::DispatchArgs& args,
                            const Geometry& geometry,
                            cudaStream_t stream) {
  const std::size_t bytes =
      shared_bytes<dispatch::DispatchArgs>(context.rank.shape.ranks_per_node, geometry.warps, 0);
  if (const cudaError_t code = allow_shared(dispatch_kernel, bytes); code != cudaSuccess) {
    return code;
  }
  dispatch_kernel<<<geometry.blocks, geometry.warps * 32, bytes, stream>>>(context, args);
  return cudaGetLastError();
}

cudaError_t launch_combine(const Context& context,
                           const combine::CombineArgs& args,
                           const Geometry& geometry,
                           cudaStream_t stream) {
  const std::size_t bytes = shared_bytes<combine::CombineArgs>(
      context.rank.shape.ranks_per_node, geometry.warps, args.max_terms);
  if (const cudaError_t code = allow_shared(combine_kernel, bytes); code != cudaSuccess) {
    return code;
  }
  combine_kernel<<<geometry.blocks, geometry.warps * 32, bytes, stream>>>(context, args);
  return cudaGetLastError();
}

cudaError_t resident_blocks(int warps, int ranks_per_node, int max_terms, int* blocks) {
  int device = 0;
  int processors = 0;
  int fit[2] = {0, 0};
  const std::size_t bytes[2] = {
      shared_bytes<dispatch::DispatchArgs>(ranks_per_node, warps, 0),
      shared_bytes<combine::CombineArgs>(ranks_per_node, warps, max_terms)};
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) {
    code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (code == cudaSuccess) code = allow_shared(dispatch_kernel, bytes[0]);
  if (code == cudaSuccess) code = allow_shared(combine_kernel, bytes[1]);
  if (code == cudaSuccess) {
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &fit[0], dispatch_kernel, warps * 32, bytes[0]);
  }
  if (code == cudaSuccess) {
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &fit[1], combine_kernel, warps * 32, bytes[1]);
  }
  *blocks = processors * std::min(fit[0], fit[1]);
  return code;
}

}  // namespace shunt::engine::cuda
