// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/cuda/kernels.hpp"
#include "engine/roles.hpp"
#include "exec/cuda/exec.cuh"

namespace shunt::engine::cuda {
namespace {

using exec::SumTerm;
using exec::cuda::BlockSpans;
using exec::cuda::Context;
using exec::cuda::CudaExec;
using exec::cuda::Place;

static_assert(exec::Executor<CudaExec<false, true>> && exec::Executor<CudaExec<true, false>>);

/// Shared memory of a block: what every warp reads all the time, and the terms of its sums.
template <typename Args>
struct alignas(64) Shared {
  exec::RankView rank;
  Args args;
  exec::cuda::Scratch scratch;
};

/// The threads that fill a block's shared memory: all but the first warp, which may have to fence
/// (post_first), if there are others.
struct Fillers {
  unsigned first = 0;
  unsigned count = 0;
  [[nodiscard]] static __device__ Fillers of_block() {
    const unsigned first = blockDim.x > exec::cuda::kLanes ? exec::cuda::kLanes : 0;
    return {first, blockDim.x - first};
  }
  /// Whether this thread is the first of them.
  [[nodiscard]] __device__ bool leader() const { return threadIdx.x == first; }
  template <typename Body>
  __device__ void share(unsigned n, Body&& body) const {
    if (threadIdx.x < first) return;
    for (unsigned i = threadIdx.x - first; i < n; i += count) body(i);
  }
};

template <typename T>
__device__ void copy_words(const Fillers& fillers, T* to, const T* from) {
  static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  const auto* in = reinterpret_cast<const std::uint32_t*>(from);
  fillers.share(sizeof(T) / sizeof(std::uint32_t), [&](unsigned i) { out[i] = in[i]; });
}

/// Shared memory of a launch, in bytes from its start: Shared<Args>, the windows' addresses, the
/// block's targets; then per warp its batch (dispatch), or its terms, barrier and stage (sums).
struct SharedLayout {
  std::size_t windows = 0;
  std::size_t targets = 0;
  std::size_t batches = 0;
  std::size_t terms = 0;
  std::size_t barriers = 0;
  std::size_t stages = 0;
  std::size_t bytes = 0;

  [[nodiscard]] static SHUNT_HOST_DEVICE SharedLayout of_dispatch(int ranks_per_node, int warps) {
    SharedLayout l;
    l.begin(sizeof(Shared<dispatch::DispatchArgs>), ranks_per_node);
    l.batches = l.bytes;
    l.bytes += align(static_cast<std::size_t>(warps) * sizeof(exec::RowBatch));
    return l;
  }
  [[nodiscard]] static SHUNT_HOST_DEVICE SharedLayout of_combine(int ranks_per_node,
                                                                 int warps,
                                                                 int max_terms,
                                                                 std::size_t stage_bytes) {
    SharedLayout l;
    l.begin(sizeof(Shared<combine::CombineArgs>), ranks_per_node);
    const auto n = static_cast<std::size_t>(warps);
    l.terms = l.bytes;
    l.barriers = l.terms + align(n * static_cast<std::size_t>(max_terms) * sizeof(SumTerm));
    l.stages = l.barriers + align(2 * n * sizeof(std::uint64_t));
    l.bytes = l.stages + n * stage_bytes;
    return l;
  }

 private:
  static SHUNT_HOST_DEVICE std::size_t align(std::size_t at) { return (at + 127) / 128 * 128; }
  SHUNT_HOST_DEVICE void begin(std::size_t shared, int ranks_per_node) {
    const auto locals = static_cast<std::size_t>(ranks_per_node);
    windows = shared;
    targets = align(windows + locals * sizeof(std::byte*));
    bytes = align(targets + locals * sizeof(exec::RowTarget));
  }
};

/// The first of all, where spans are recorded.
template <bool kRecord, typename Args>
__device__ void enter(unsigned char* memory) {
  if constexpr (!kRecord) return;
  if (threadIdx.x != 0) return;
  reinterpret_cast<Shared<Args>*>(memory)->scratch.spans.entered = exec::cuda::ptx::global_timer();
}

/// The rank's posting, before anything else, by the first warp of the first block of the intra
/// role. Its fence orders what was there before this kernel, on whichever device; it takes longer
/// than all else that leads to the first row, and so stands beside the setting up.
template <bool kNodes, typename Args>
__device__ void post_first(const Context& context, const Args& args) {
  const int first_intra = kNodes ? 2 * context.rdma_blocks : 0;
  if (static_cast<int>(blockIdx.x) != first_intra || threadIdx.x >= exec::cuda::kLanes) return;
  dispatch::post_lines(context.rank,
                       args.posting(),
                       *context.rank.word(exec::Word::kIntraDone),
                       static_cast<int>(threadIdx.x),
                       exec::cuda::kLanes,
                       [](int /*local*/, std::uint64_t* to, const std::uint64_t* words) {
                         exec::cuda::ptx::fence_release();
                         exec::cuda::ptx::store_pairs<memory::PostingLine::kWords>(to, words);
                       });
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

/// Fills the shared memory. Whole block; `fillers.leader()` sets the number of the operation.
template <bool kRecord, typename Args>
__device__ Shared<Args>& set_up(unsigned char* memory,
                                const Fillers& fillers,
                                const Context& context,
                                const Args& args) {
  // The kernel before has stored it; no block moves it before all blocks have arrived at the end.
  std::uint64_t op = 0;
  std::uint32_t written = 0;
  if (fillers.leader()) {
    op = *context.rank.word(exec::Word::kIntraDone);
    if constexpr (kRecord) written = context.spans.written[blockIdx.x];
  }
  auto& shared = *reinterpret_cast<Shared<Args>*>(memory);
  auto** windows = reinterpret_cast<std::byte**>(memory + sizeof(Shared<Args>));
  copy_words(fillers, &shared.rank, &context.rank);
  copy_words(fillers, &shared.args, &args);
  fillers.share(static_cast<unsigned>(context.rank.shape.ranks_per_node),
                [&](unsigned l) { windows[l] = context.rank.windows[l]; });
  __syncthreads();
  if (fillers.leader()) {
    shared.rank.windows = windows;
    shared.args.op = op;
    if constexpr (kRecord) {
      Place place;
      (void)role_of_block(context.rdma_blocks, place);
      BlockSpans& spans = shared.scratch.spans;
      spans.ring =
          context.spans.spans + static_cast<std::size_t>(blockIdx.x) * context.spans.capacity;
      spans.capacity = context.spans.capacity;
      spans.written = written;
      spans.op = static_cast<std::uint32_t>(op);
      spans.block = static_cast<std::uint16_t>(place.block);
    }
  }
  return shared;
}

/// The whole of a block. True on the block whose end is the operation's.
template <bool kNodes, bool kRecord, int kMaxWarps, typename Args>
__device__ bool run_block(const Context& context,
                          Shared<Args>& shared,
                          const exec::cuda::Tables& tables,
                          record::Phase operation) {
  Place place{static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)};
  Role role = Role::kIntra;
  if constexpr (kNodes) role = role_of_block(context.rdma_blocks, place);
  // As rows_may_come_ahead() says.
  constexpr bool kAhead = !kNodes && rows_may_come_ahead(kMaxWarps);
  CudaExec<kRecord, kAhead> exec(
      context, shared.rank, place, shared.scratch, tables, shared.args.op);
  bool last = false;
  if constexpr (kNodes) {
    last = run_role(exec, role, shared.args);
  } else {
    last = run_role(exec, Role::kIntra, shared.args);
  }
  if constexpr (kRecord) {
    if (role == Role::kIntra) {
      exec.span({operation, record::WaitReason::kNone, -1, -1},
                record::SpanKind::kPhase,
                exec.entered(),
                0);
    }
    __syncthreads();
    if (exec.block_leader()) context.spans.written[blockIdx.x] = shared.scratch.spans.written;
  }
  return last;
}

/// The operation has ended on this rank: the progress thread may fall asleep.
__device__ void tell_host(const Context& context, std::uint64_t op) {
  if (context.ended != nullptr) exec::cuda::ptx::store_release(context.ended, op + 1);
}

template <bool kNodes, bool kRecord, int kMaxWarps>
__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    dispatch_kernel(const __grid_constant__ Context context,
                    const __grid_constant__ dispatch::DispatchArgs launched) {
  extern __shared__ __align__(128) unsigned char memory[];
  enter<kRecord, dispatch::DispatchArgs>(memory);
  post_first<kNodes>(context, launched);
  const Fillers fillers = Fillers::of_block();
  std::uint64_t exchange = 0;
  std::int64_t own_count = launched.own_count;
  if (fillers.leader()) {
    exchange = *context.exchanges;
    if (launched.own_count_at != nullptr) own_count = *launched.own_count_at;
  }
  Shared<dispatch::DispatchArgs>& shared = set_up<kRecord>(memory, fillers, context, launched);
  if (fillers.leader()) {
    shared.args.exchange = exchange;
    shared.args.own_count = own_count;
  }
  __syncthreads();
  const auto layout = SharedLayout::of_dispatch(context.rank.shape.ranks_per_node,
                                                static_cast<int>(blockDim.x / 32));
  exec::cuda::Tables tables;
  tables.targets = reinterpret_cast<exec::RowTarget*>(memory + layout.targets);
  tables.batch = reinterpret_cast<exec::RowBatch*>(memory + layout.batches) + threadIdx.x / 32;
  const bool last =
      run_block<kNodes, kRecord, kMaxWarps>(context, shared, tables, record::Phase::kDispatch);
  if (!last || threadIdx.x != 0) return;
  // After every block has read it; the next kernel of the stream sees it.
  if (!launched.cached) *context.exchanges += 1;
  tell_host(context, shared.args.op);
}

template <bool kNodes, bool kRecord, int kMaxWarps>
__global__ void __launch_bounds__(kMaxWarps * 32, 1)
    combine_kernel(const __grid_constant__ Context context,
                   const __grid_constant__ combine::CombineArgs launched,
                   std::uint32_t stage_bytes) {
  extern __shared__ __align__(128) unsigned char memory[];
  enter<kRecord, combine::CombineArgs>(memory);
  post_first<kNodes>(context, launched);
  const unsigned warps = blockDim.x / 32;
  const unsigned warp = threadIdx.x / 32;
  const auto layout = SharedLayout::of_combine(
      context.rank.shape.ranks_per_node, static_cast<int>(warps), launched.max_terms, stage_bytes);
  auto* barriers = reinterpret_cast<std::uint64_t*>(memory + layout.barriers) + 2 * warp;
  if (threadIdx.x % 32 < 2) exec::cuda::ptx::barrier_init(barriers + threadIdx.x % 32);
  Shared<combine::CombineArgs>& shared =
      set_up<kRecord>(memory, Fillers::of_block(), context, launched);
  __syncthreads();
  exec::cuda::Tables tables;
  tables.targets = reinterpret_cast<exec::RowTarget*>(memory + layout.targets);
  tables.terms = reinterpret_cast<SumTerm*>(memory + layout.terms) +
                 warp * static_cast<unsigned>(launched.max_terms);
  tables.stage = {reinterpret_cast<std::byte*>(memory + layout.stages) + warp * stage_bytes,
                  stage_bytes,
                  barriers};
  const bool last =
      run_block<kNodes, kRecord, kMaxWarps>(context, shared, tables, record::Phase::kCombine);
  if (last && threadIdx.x == 0) tell_host(context, shared.args.op);
}

using DispatchKernel = void (*)(Context, dispatch::DispatchArgs);
using CombineKernel = void (*)(Context, combine::CombineArgs, std::uint32_t);

/// The kernels of one launch. kMaxWarps bounds their registers, see Geometry::max_warps.
struct Kernels {
  DispatchKernel dispatch = nullptr;
  CombineKernel combine = nullptr;
};

template <bool kRecord, int kMaxWarps>
Kernels kernels_for(bool nodes) {
  return nodes ? Kernels{dispatch_kernel<true, kRecord, kMaxWarps>,
                         combine_kernel<true, kRecord, kMaxWarps>}
               : Kernels{dispatch_kernel<false, kRecord, kMaxWarps>,
                         combine_kernel<false, kRecord, kMaxWarps>};
}

Kernels kernels_for(const Context& context, int max_warps) {
  const bool nodes = context.rank.peers() > 0;
  if (context.spans.spans != nullptr) return kernels_for<true, kFewWarps>(nodes);
  return max_warps == kFewWarps ? kernels_for<false, kFewWarps>(nodes)
                                : kernels_for<false, kMostWarps>(nodes);
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
      SharedLayout::of_dispatch(context.rank.shape.ranks_per_node, geometry.warps).bytes;
  const DispatchKernel kernel = kernels_for(context, geometry.max_warps).dispatch;
  if (const cudaError_t code = allow_shared(kernel, bytes); code != cudaSuccess) return code;
  kernel<<<geometry.blocks, geometry.warps * 32, bytes, stream>>>(context, args);
  return cudaGetLastError();
}

cudaError_t launch_combine(const Context& context,
                           const combine::CombineArgs& args,
                           const Geometry& geometry,
                           cudaStream_t stream) {
  const std::size_t bytes =
      SharedLayout::of_combine(
          context.rank.shape.ranks_per_node, geometry.warps, args.max_terms, geometry.stage_bytes)
          .bytes;
  const CombineKernel kernel = kernels_for(context, geometry.max_warps).combine;
  if (const cudaError_t code = allow_shared(kernel, bytes); code != cudaSuccess) return code;
  kernel<<<geometry.blocks, geometry.warps * 32, bytes, stream>>>(
      context, args, geometry.stage_bytes);
  return cudaGetLastError();
}

cudaError_t fit_blocks(
    const Context& context, const SumShape& sums, int wanted, Geometry* geometry, int* blocks) {
  int device = 0;
  int processors = 0;
  int per_processor = 0;
  int per_block = 0;
  int reserved = 0;
  cudaError_t code = cudaGetDevice(&device);
  const auto ask = [&](int* value, cudaDeviceAttr what) {
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(value, what, device);
  };
  ask(&processors, cudaDevAttrMultiProcessorCount);
  ask(&per_processor, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  ask(&per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  ask(&reserved, cudaDevAttrReservedSharedMemoryPerBlock);
  if (code != cudaSuccess) return code;

  // Every block a share of its multiprocessor's shared memory; no more than whole rows need.
  const int locals = context.rank.shape.ranks_per_node;
  const int warps = geometry->warps;
  const int sharing = std::max(1, (wanted + processors - 1) / processors);
  const auto room = static_cast<std::size_t>(
      std::max(0, std::min(per_block, per_processor / sharing - reserved)));
  const std::size_t fixed = SharedLayout::of_combine(locals, warps, sums.max_terms, 0).bytes;
  constexpr std::size_t kAccess = exec::cuda::kLanes * sizeof(uint4);
  const std::size_t row = (sums.row_bytes + kAccess - 1) / kAccess * kAccess;
  const std::size_t left = room > fixed ? room - fixed : 0;
  geometry->stage_bytes = static_cast<std::uint32_t>(
      std::min(row * static_cast<std::size_t>(sums.max_terms),
               left / static_cast<std::size_t>(warps) / kAccess * kAccess));

  const auto look = [&](auto kernel, std::size_t bytes) {
    int fit = 0;
    if (code == cudaSuccess) code = allow_shared(kernel, bytes);
    if (code == cudaSuccess) {
      code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, warps * 32, bytes);
    }
    return fit;
  };
  const std::size_t dispatch_bytes = SharedLayout::of_dispatch(locals, warps).bytes;
  const std::size_t combine_bytes =
      SharedLayout::of_combine(locals, warps, sums.max_terms, geometry->stage_bytes).bytes;
  for (const int most : {kFewWarps, kMostWarps}) {
    if (warps > most) continue;
    if (context.rank.layout.ahead.rows > 0 && !rows_may_come_ahead(most)) break;
    geometry->max_warps = most;
    const Kernels kernels = kernels_for(context, most);
    const int per =
        std::min(look(kernels.dispatch, dispatch_bytes), look(kernels.combine, combine_bytes));
    *blocks = processors * per;
    if (code != cudaSuccess || *blocks >= wanted) break;
  }
  return code;
}

}  // namespace shunt::engine::cuda
