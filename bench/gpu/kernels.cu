// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/rows.cuh"
#include "gpu/kernels.hpp"

namespace shunt::bench::gpu {
namespace {

constexpr int kThreads = 1024;
constexpr int kLanes = exec::cuda::kLanes;
namespace ptx = exec::cuda::ptx;

constexpr std::uint64_t kGateLimit_ns = 5'000'000'000;

__global__ void gate(const std::uint64_t* flag, std::uint64_t value) {
  const std::uint64_t begin = ptx::global_timer();
  while (ptx::load_acquire(flag) < value && ptx::global_timer() - begin < kGateLimit_ns) {
  }
}

__global__ void raise(std::uint64_t* flag, std::uint64_t value) {
  ptx::store_release(flag, value);
}

__global__ void nothing() {}

/// One warp a token, a fixed share each.
template <typename Body>
__device__ __forceinline__ void for_my_tokens(std::int64_t tokens, Body&& body) {
  constexpr int kWarps = kThreads / kLanes;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kLanes;
       t < tokens;
       t += stride) {
    body(t);
  }
}

/// All threads of the grid on neighbouring vectors of a token's row; one loop, no lists.
__global__ void __launch_bounds__(kThreads, 1) copy_mix(std::byte* to,
                                                        const std::byte* from,
                                                        const std::int32_t* begin,
                                                        std::int64_t tokens,
                                                        std::size_t row_bytes) {
  constexpr int kUnroll = 7;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::size_t vectors = row_bytes / sizeof(uint4);
  for_my_tokens(tokens, [&](std::int64_t t) {
    const auto* src =
        reinterpret_cast<const uint4*>(from + static_cast<std::size_t>(t) * row_bytes);
    const std::int32_t first = begin[t];
    const std::int32_t last = begin[t + 1];
    for (std::size_t at = static_cast<std::size_t>(lane); at < vectors; at += kUnroll * kLanes) {
      uint4 v[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (at + u * kLanes < vectors) v[u] = ptx::load_once(src + at + u * kLanes);
      }
      for (std::int32_t r = first; r < last; ++r) {
        auto* dst = reinterpret_cast<uint4*>(to + static_cast<std::size_t>(r) * row_bytes) + at;
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          if (at + u * kLanes < vectors) ptx::store_once(dst + u * kLanes, v[u]);
        }
      }
    }
  });
}

__device__ __forceinline__ void mix_in(uint4& into, const uint4& v) {
  into.x ^= v.x;
  into.y ^= v.y;
  into.z ^= v.z;
  into.w ^= v.w;
}

__global__ void __launch_bounds__(kThreads, 1) read_mix(std::byte* to,
                                                        const std::byte* from,
                                                        const std::int32_t* begin,
                                                        std::int64_t tokens,
                                                        std::size_t row_bytes) {
  constexpr int kUnroll = 4;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::size_t vectors = row_bytes / sizeof(uint4);
  for_my_tokens(tokens, [&](std::int64_t t) {
    const std::int32_t first = begin[t];
    const std::int32_t count = begin[t + 1] - first;
    const auto* src =
        reinterpret_cast<const uint4*>(from + static_cast<std::size_t>(first) * row_bytes);
    auto* dst = reinterpret_cast<uint4*>(to + static_cast<std::size_t>(t) * row_bytes);
    for (std::size_t at = static_cast<std::size_t>(lane); at < vectors; at += kLanes) {
      uint4 total = {};
      int r = 0;
      for (; r + kUnroll <= count; r += kUnroll) {
        uint4 v[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          v[u] = ptx::load_once(src + at + static_cast<std::size_t>(r + u) * vectors);
        }
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) mix_in(total, v[u]);
      }
      for (; r < count; ++r) {
        mix_in(total, ptx::load_once(src + at + static_cast<std::size_t>(r) * vectors));
      }
      ptx::store_once(dst + at, total);
    }
  });
}

/// A finite bf16 between −2 and 2 with all mantissas.
__device__ std::uint16_t value_of(std::int64_t rank, std::int64_t token, std::int64_t element) {
  std::uint64_t h = static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15ULL +
                    static_cast<std::uint64_t>(token) * 0xbf58476d1ce4e5b9ULL +
                    static_cast<std::uint64_t>(element) * 0x94d049bb133111ebULL;
  h ^= h >> 31;
  h *= 0xd6e8feb86659fd93ULL;
  h ^= h >> 32;
  const auto exponent = static_cast<std::uint16_t>(120 + (h >> 16) % 8);
  return static_cast<std::uint16_t>((h & 0x807fU) | (exponent << 7));
}

__global__ void fill(std::uint16_t* rows, int rank, std::int64_t tokens, std::int64_t hidden) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < tokens * hidden;
       i += stride) {
    rows[i] = value_of(rank, i / hidden, i % hidden);
  }
}

__global__ void verify_rows(const std::uint16_t* rows,
                            const std::int32_t* origins,
                            std::int64_t count,
                            std::int64_t hidden,
                            unsigned long long* wrong) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count * hidden;
       i += stride) {
    const std::int64_t row = i / hidden;
    if (rows[i] != value_of(origins[2 * row], origins[2 * row + 1], i % hidden)) ++mine;
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

__global__ void verify_sums(const std::uint16_t* sums,
                            const std::int32_t* begin,
                            int rank,
                            std::int64_t tokens,
                            std::int64_t hidden,
                            unsigned long long* wrong) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < tokens * hidden;
       i += stride) {
    const std::int64_t token = i / hidden;
    const float value = exec::bf16_to_f32(value_of(rank, token, i % hidden));
    const std::int32_t rows = begin[token + 1] - begin[token];
    float total = rows > 0 ? value : 0.0F;
    for (std::int32_t r = 1; r < rows; ++r) total = __fadd_rn(total, value);
    if (sums[i] != exec::f32_to_bf16(total)) ++mine;
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

}  // namespace

void launch_gate(const std::uint64_t* flag, std::uint64_t value, cudaStream_t stream) {
  gate<<<1, 1, 0, stream>>>(flag, value);
}

void launch_raise(std::uint64_t* flag, std::uint64_t value, cudaStream_t stream) {
  raise<<<1, 1, 0, stream>>>(flag, value);
}

void launch_nothing(int blocks, int warps, cudaStream_t stream) {
  nothing<<<blocks, warps * kLanes, 0, stream>>>();
}

void launch_copy_mix(std::byte* to,
                     const std::byte* from,
                     const std::int32_t* begin,
                     std::int64_t tokens,
                     std::size_t row_bytes,
                     int blocks,
                     cudaStream_t stream) {
  copy_mix<<<blocks, kThreads, 0, stream>>>(to, from, begin, tokens, row_bytes);
}

void launch_read_mix(std::byte* to,
                     const std::byte* from,
                     const std::int32_t* begin,
                     std::int64_t tokens,
                     std::size_t row_bytes,
                     int blocks,
                     cudaStream_t stream) {
  read_mix<<<blocks, kThreads, 0, stream>>>(to, from, begin, tokens, row_bytes);
}

void launch_fill(
    std::byte* rows, int rank, std::int64_t tokens, std::int64_t hidden, cudaStream_t stream) {
  fill<<<256, 256, 0, stream>>>(reinterpret_cast<std::uint16_t*>(rows), rank, tokens, hidden);
}

void launch_verify_rows(const std::byte* rows,
                        const std::int32_t* origins,
                        std::int64_t count,
                        std::int64_t hidden,
                        unsigned long long* wrong,
                        cudaStream_t stream) {
  verify_rows<<<256, 256, 0, stream>>>(
      reinterpret_cast<const std::uint16_t*>(rows), origins, count, hidden, wrong);
}

void launch_verify_sums(const std::byte* sums,
                        const std::int32_t* begin,
                        int rank,
                        std::int64_t tokens,
                        std::int64_t hidden,
                        unsigned long long* wrong,
                        cudaStream_t stream) {
  verify_sums<<<256, 256, 0, stream>>>(
      reinterpret_cast<const std::uint16_t*>(sums), begin, rank, tokens, hidden, wrong);
}

}  // namespace shunt::bench::gpu
