// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/cuda/plan_kernels.hpp"
#include "exec/cuda/report.cuh"

namespace shunt::engine::cuda {
namespace {

using exec::cuda::Context;
using exec::cuda::FailureRecord;
using plan::PieceArgs;
using plan::PieceWords;

constexpr int kLanes = plan::kPieceTokens;
constexpr unsigned kAllLanes = 0xffffffffU;
/// Of a block that takes pieces: few, so that small routings reach many multiprocessors.
constexpr int kPieceWarps = 4;
constexpr int kScanWarps = 16;
/// What every block gets without asking.
constexpr std::size_t kSharedBytes = std::size_t{48} * 1024;

class DeviceWarp {
 public:
  __device__ DeviceWarp() : lane_(static_cast<int>(threadIdx.x) % kLanes) {}

  template <typename Visit>
  __device__ void each(int count, Visit&& visit) {
    for (int i = lane_; i < count; i += kLanes) visit(i);
    __syncwarp();
  }
  template <typename Visit>
  __device__ void each_lane(Visit&& visit) {
    visit(lane_);
    __syncwarp();
  }
  __device__ void set_bits(std::uint32_t* word, std::uint32_t bits) { atomicOr(word, bits); }
  [[nodiscard]] __device__ std::int32_t popcount(std::uint32_t word) const { return __popc(word); }
  [[nodiscard]] __device__ std::int32_t exclusive_scan(std::int32_t* values, std::int64_t count) {
    std::int32_t before = 0;
    for (std::int64_t first = 0; first < count; first += kLanes) {
      const std::int64_t at = first + lane_;
      const std::int32_t value = at < count ? values[at] : 0;
      std::int32_t sum = value;
      for (int step = 1; step < kLanes; step *= 2) {
        const std::int32_t lower = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(step));
        if (lane_ >= step) sum += lower;
      }
      if (at < count) values[at] = before + sum - value;
      before += __shfl_sync(kAllLanes, sum, kLanes - 1);
    }
    __syncwarp();
    return before;
  }

 private:
  const int lane_;
};

/// The piece of the calling warp, and its words.
struct Mine {
  std::int64_t piece;
  PieceWords words;
};

__device__ Mine take_piece(const PieceArgs& args, unsigned char* memory) {
  const unsigned warp = threadIdx.x / kLanes;
  return {static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / kLanes) + warp,
          PieceWords::at(memory + warp * PieceWords::bytes(args.targets()), args.targets())};
}

__global__ void __launch_bounds__(kPieceWarps* kLanes)
    count_kernel(const __grid_constant__ Context context, const __grid_constant__ PieceArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  const Mine mine = take_piece(args, memory);
  if (mine.piece >= args.pieces()) return;
  DeviceWarp warp;
  plan::count_piece(
      warp, args, mine.words, mine.piece, [&](std::int64_t token, int slot, std::int32_t id) {
        if (!exec::cuda::claim_failure(context)) return;
        context.failure->token = token;
        context.failure->slot = slot;
        context.failure->id = id;
        exec::cuda::publish_failure(context, context.rank, FailureRecord::kId);
      });
}

__global__ void __launch_bounds__(kScanWarps* kLanes)
    scan_kernel(const __grid_constant__ PieceArgs args) {
  DeviceWarp warp;
  plan::scan_columns(
      warp, args, static_cast<int>(threadIdx.x) / kLanes, static_cast<int>(blockDim.x) / kLanes);
  __syncthreads();
  if (threadIdx.x == 0) plan::sum_peers(args);
}

__global__ void __launch_bounds__(kPieceWarps* kLanes)
    fill_kernel(const __grid_constant__ PieceArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  const Mine mine = take_piece(args, memory);
  if (mine.piece >= args.pieces()) return;
  DeviceWarp warp;
  plan::fill_piece(warp, args, mine.words, mine.piece);
}

}  // namespace

bool plan_fits(const PieceArgs& args) {
  return PieceWords::bytes(args.targets()) <= kSharedBytes;
}

cudaError_t load_plan_kernels() {
  cudaFuncAttributes attributes{};
  cudaError_t code = cudaFuncGetAttributes(&attributes, count_kernel);
  if (code == cudaSuccess) code = cudaFuncGetAttributes(&attributes, scan_kernel);
  if (code == cudaSuccess) code = cudaFuncGetAttributes(&attributes, fill_kernel);
  return code;
}

cudaError_t launch_plan(const Context& context,
                        const PieceArgs& args,
                        int warps,
                        cudaStream_t stream) {
  const std::size_t of_warp = PieceWords::bytes(args.targets());
  const int piece_warps = std::min({warps, kPieceWarps, static_cast<int>(kSharedBytes / of_warp)});
  const auto blocks = static_cast<unsigned>((args.pieces() + piece_warps - 1) / piece_warps);
  const auto threads = static_cast<unsigned>(piece_warps * kLanes);
  const std::size_t bytes = static_cast<std::size_t>(piece_warps) * of_warp;
  if (blocks > 0) count_kernel<<<blocks, threads, bytes, stream>>>(context, args);
  scan_kernel<<<1, std::min(warps, kScanWarps) * kLanes, 0, stream>>>(args);
  if (blocks > 0) fill_kernel<<<blocks, threads, bytes, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace shunt::engine::cuda
