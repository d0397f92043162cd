// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

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

__global__ void raise(std::uint64_t* const* flags, std::uint64_t value) {
  ptx::store_release(flags[threadIdx.x], value);
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

/// 16 bits that are a finite number in bf16 (between −2 and 2) and in fp16 (1 to 2), all mantissas.
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

/// Elements of the types of a row: their bits from 16, and back to what a sum rounds to.
template <DType kType>
struct Element {
  using Bits = std::uint16_t;
  static __device__ Bits from(std::uint16_t value) { return value; }
  static __device__ float widen(Bits bits) {
    return kType == DType::kBF16 ? exec::bf16_to_f32(bits) : exec::f16_to_f32(bits);
  }
  static __device__ Bits narrow(float value) {
    return kType == DType::kBF16 ? exec::f32_to_bf16(value) : exec::f32_to_f16(value);
  }
};
template <>
struct Element<DType::kF32> {
  using Bits = std::uint32_t;
  static __device__ Bits from(std::uint16_t value) {
    return static_cast<std::uint32_t>(value) << 16 | value;
  }
  static __device__ float widen(Bits bits) { return __uint_as_float(bits); }
  static __device__ Bits narrow(float value) { return __float_as_uint(value); }
};

/// Every thread of the grid takes its share of `count` elements.
template <typename Body>
__device__ __forceinline__ void for_my_elements(std::int64_t count, Body&& body) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    body(i);
  }
}

template <DType kType>
__global__ void fill(void* rows, int rank, std::int64_t tokens, std::int64_t hidden) {
  using E = Element<kType>;
  auto* to = static_cast<typename E::Bits*>(rows);
  for_my_elements(tokens * hidden,
                  [&](std::int64_t i) { to[i] = E::from(value_of(rank, i / hidden, i % hidden)); });
}

template <DType kType>
__global__ void verify_rows(const void* rows,
                            const std::int32_t* origins,
                            std::int64_t count,
                            std::int64_t hidden,
                            unsigned long long* wrong) {
  using E = Element<kType>;
  const auto* got = static_cast<const typename E::Bits*>(rows);
  unsigned long long mine = 0;
  for_my_elements(count * hidden, [&](std::int64_t i) {
    const std::int64_t row = i / hidden;
    if (got[i] != E::from(value_of(origins[2 * row], origins[2 * row + 1], i % hidden))) ++mine;
  });
  if (mine != 0) atomicAdd(wrong, mine);
}

template <DType kType>
__global__ void verify_sums(const void* sums,
                            const std::int32_t* begin,
                            int rank,
                            std::int64_t tokens,
                            std::int64_t hidden,
                            unsigned long long* wrong) {
  using E = Element<kType>;
  const auto* got = static_cast<const typename E::Bits*>(sums);
  unsigned long long mine = 0;
  for_my_elements(tokens * hidden, [&](std::int64_t i) {
    const std::int64_t token = i / hidden;
    const float value = E::widen(E::from(value_of(rank, token, i % hidden)));
    const std::int32_t rows = begin[token + 1] - begin[token];
    float total = rows > 0 ? value : 0.0F;
    for (std::int32_t r = 1; r < rows; ++r) total = __fadd_rn(total, value);
    if (got[i] != E::narrow(total)) ++mine;
  });
  if (mine != 0) atomicAdd(wrong, mine);
}

/// Calls `call` with the type as a constant.
template <typename Call>
void with_type(DType type, Call&& call) {
  if (type == DType::kBF16) {
    call(std::integral_constant<DType, DType::kBF16>());
  } else if (type == DType::kF16) {
    call(std::integral_constant<DType, DType::kF16>());
  } else {
    call(std::integral_constant<DType, DType::kF32>());
  }
}

/// One block a value of `a`, neighbouring threads on neighbouring pairs of values of `b`.
template <DType kType>
__global__ void verify_pairs(unsigned long long* wrong) {
  using E = Element<kType>;
  const auto a = static_cast<std::uint16_t>(blockIdx.x);
  const std::uint32_t both = static_cast<std::uint32_t>(a) * 0x10001U;
  unsigned long long mine = 0;
  for (std::uint32_t b = 2 * threadIdx.x; b < 0x10000U; b += 2 * blockDim.x) {
    const std::uint32_t sums = exec::cuda::Vector<kType>::add(both, b | (b + 1) << 16);
    for (std::uint32_t half = 0; half < 2; ++half) {
      const auto got = static_cast<std::uint16_t>(sums >> (16 * half));
      const float want = __fadd_rn(E::widen(a), E::widen(static_cast<std::uint16_t>(b + half)));
      const bool same = want != want ? E::widen(got) != E::widen(got) : got == E::narrow(want);
      if (!same) ++mine;
    }
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

}  // namespace

void launch_gate(const std::uint64_t* flag, std::uint64_t value, cudaStream_t stream) {
  gate<<<1, 1, 0, stream>>>(flag, value);
}

void launch_raise(std::uint64_t* const* flags,
                  int count,
                  std::uint64_t value,
                  cudaStream_t stream) {
  raise<<<1, count, 0, stream>>>(flags, value);
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

void launch_fill(const Rows& rows, int rank, cudaStream_t stream) {
  with_type(rows.type, [&](auto type) {
    fill<type()><<<256, 256, 0, stream>>>(rows.data, rank, rows.count, rows.hidden);
  });
}

void launch_verify_rows(const Rows& rows,
                        const std::int32_t* origins,
                        unsigned long long* wrong,
                        cudaStream_t stream) {
  with_type(rows.type, [&](auto type) {
    verify_rows<type()>
        <<<256, 256, 0, stream>>>(rows.data, origins, rows.count, rows.hidden, wrong);
  });
}

void launch_verify_sums(const Rows& sums,
                        const std::int32_t* begin,
                        int rank,
                        unsigned long long* wrong,
                        cudaStream_t stream) {
  with_type(sums.type, [&](auto type) {
    verify_sums<type()>
        <<<256, 256, 0, stream>>>(sums.data, begin, rank, sums.count, sums.hidden, wrong);
  });
}

void launch_verify_pairs(DType type, unsigned long long* wrong, cudaStream_t stream) {
  constexpr int kValues = 1 << 16;
  if (type == DType::kF16) {
    verify_pairs<DType::kF16><<<kValues, 256, 0, stream>>>(wrong);
  } else {
    verify_pairs<DType::kBF16><<<kValues, 256, 0, stream>>>(wrong);
  }
}

}  // namespace shunt::bench::gpu
