// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/cuda/kernels.hpp"
#include "engine/roles.hpp"
#include "exec/cuda/exec.cuh"

namespace shunt::engine::cuda {
namespace {

using exec::SumTerm;
using exec::cuda::Context;
using exec::cuda::CudaExec;
using exec::cuda::Place;

static_assert(exec::Executor<CudaExec<false>> && exec::Executor<CudaExec<true>>);

/// Shared memory of a block: what every warp reads all the time, and the terms of its sums.
template <typename Args>
struct alignas(64) Shared {
  exec::RankView rank;
  Args args;
  exec::cuda::Scratch scratch;
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
    shared.scratch.spans = context.spans.spans != nullptr ? context.spans.written[blockIdx.x] : 0;
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

/// Blocks that send come before blocks that wait.
__device__ Role role_of_block(int rdma_blocks, Place& place) {
  const auto block = static_cast<int>(blockIdx.x);
  if (block < 2 * rdma_blocks) {
    place = {block % rdma_blocks, rdma_blocks};
    return block < rdma_blocks ? Role::kSend : Role::kReceive;
  }
  place = {block - 2 * rdma_blocks, static_cast<int>(gridDim.x) - 2 * rdma_blocks};
  return Role::kIntra;
}

/// The whole of a block. True on the block whose end is the operation's.
template <bool kNodes, bool kRecord, typename Args>
__device__ bool run_block(const Context& context,
                          Shared<Args>& shared,
                          SumTerm* terms,
                          record::Phase operation) {
  Place place{static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)};
  Role role = Role::kIntra;
  if constexpr (kNodes) role = role_of_block(context.rdma_blocks, place);
  CudaExec<kRecord> exec(context, shared.rank, place, shared.scratch, terms, shared.args.op);
  const std::uint64_t begin = exec.stamp();
  bool last = false;
  if constexpr (kNodes) {
    last = run_role(exec, role, shared.args);
  } else {
    last = run_role(exec, Role::kIntra, shared.args);
  }
  if constexpr (kRecord) {
    if (role == Role::kIntra) {
      exec.span({operation, record::WaitReason::kNone, -1, -1}, record::SpanKind::kPhase, begin, 0);
    }
    __syncthreads();
    if (exec.block_leader()) context.spans.written[blockIdx.x] = shared.scratch.spans;
  }
  return last;
}

/// The operation has ended on this rank: the progress thread may fall asleep.
__device__ void tell_host(const Context& context, std::uint64_t op) {
  if (context.ended != nullptr) exec::cuda::ptx::store_release(context.ended, op + 1);
}

template <bool kNodes, bool kRecord>
__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    dispatch_kernel(const __grid_constant__ Context context,
                    const __grid_constant__ dispatch::DispatchArgs launched) {
  extern __shared__ __align__(64) unsigned char memory[];
  Shared<dispatch::DispatchArgs>& shared = set_up(memory, context, launched);
  if (threadIdx.x == 0) {
    shared.args.exchange = exec::cuda::ptx::load_acquire(context.exchanges);
  }
  __syncthreads();
  const bool last = run_block<kNodes, kRecord>(context, shared, nullptr, record::Phase::kDispatch);
  if (!last || threadIdx.x != 0) return;
  // After every block has read it; the next kernel of the stream sees it.
  if (!launched.cached) *context.exchanges += 1;
  tell_host(context, shared.args.op);
}

template <bool kNodes, bool kRecord>
__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    combine_kernel(const __grid_constant__ Context context,
                   const __grid_constant__ combine::CombineArgs launched) {
  extern __shared__ __align__(64) unsigned char memory[];
  Shared<combine::CombineArgs>& shared = set_up(memory, context, launched);
  auto* terms = reinterpret_cast<SumTerm*>(
      memory + sizeof(Shared<combine::CombineArgs>) +
      static_cast<std::size_t>(context.rank.shape.ranks_per_node + 1) / 2 * 16);
  const unsigned warp = threadIdx.x / 32;
  const bool last =
      run_block<kNodes, kRecord>(context,
                                 shared,
                                 terms + warp * static_cast<unsigned>(launched.max_terms),
                                 record::Phase::kCombine);
  if (last && threadIdx.x == 0) tell_host(context, shared.args.op);
}

using DispatchKernel = void (*)(Context, dispatch::DispatchArgs);
using CombineKernel = void (*)(Context, combine::CombineArgs);

DispatchKernel dispatch_kernel_for(const Context& context) {
  const bool nodes = context.rank.peers() > 0;
  const bool record = context.spans.spans != nullptr;
  if (nodes) return record ? dispatch_kernel<true, true> : dispatch_kernel<true, false>;
  return record ? dispatch_kernel<false, true> : dispatch_kernel<false, false>;
}

CombineKernel combine_kernel_for(const Context& context) {
  const bool nodes = context.rank.peers() > 0;
  const bool record = context.spans.spans != nullptr;
  if (nodes) return record ? combine_kernel<true, true> : combine_kernel<true, false>;
  return record ? combine_kernel<false, true> : combine_kernel<false, false>;
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
  const DispatchKernel kernel = dispatch_kernel_for(context);
  if (const cudaError_t code = allow_shared(kernel, bytes); code != cudaSuccess) return code;
  kernel<<<geometry.blocks, geometry.warps * 32, bytes, stream>>>(context, args);
  return cudaGetLastError();
}

cudaError_t launch_combine(const Context& context,
                           const combine::CombineArgs& args,
                           const Geometry& geometry,
                           cudaStream_t stream) {
  const std::size_t bytes = shared_bytes<combine::CombineArgs>(
      context.rank.shape.ranks_per_node, geometry.warps, args.max_terms);
  const CombineKernel kernel = combine_kernel_for(context);
  if (const cudaError_t code = allow_shared(kernel, bytes); code != cudaSuccess) return code;
  kernel<<<geometry.blocks, geometry.warps * 32, bytes, stream>>>(context, args);
  return cudaGetLastError();
}

cudaError_t resident_blocks(const Context& context, int warps, int max_terms, int* blocks) {
  int device = 0;
  int processors = 0;
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) {
    code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  const auto look = [&](auto kernel, std::size_t bytes) {
    int fit = 0;
    if (code == cudaSuccess) code = allow_shared(kernel, bytes);
    if (code == cudaSuccess) {
      code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, warps * 32, bytes);
    }
    return fit;
  };
  const int locals = context.rank.shape.ranks_per_node;
  int least =
      look(dispatch_kernel_for(context), shared_bytes<dispatch::DispatchArgs>(locals, warps, 0));
  least = std::min(least,
                   look(combine_kernel_for(context),
                        shared_bytes<combine::CombineArgs>(locals, warps, max_terms)));
  *blocks = processors * least;
  return code;
}

}  // namespace shunt::engine::cuda
