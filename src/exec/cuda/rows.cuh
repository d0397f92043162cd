// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What one warp does with rows: copies to several places, sums. Sizes are multiples of 16 bytes,
// pointers 16-byte aligned. Sums give the bits of exec/cpu, except for the payload of NaNs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/cpu/convert.hpp"
#include "exec/cuda/ptx.cuh"
#include "exec/sum.hpp"

namespace shunt::exec::cuda {

inline constexpr int kLanes = 32;

/// Copies as many whole groups of kUnroll · 32 vectors as fit; returns the next vector of this
/// lane. All loads of a group are in flight before its first store; the source is read once.
template <int kUnroll>
__device__ __forceinline__ std::size_t copy_groups(
    std::byte* const* dst, int count, const uint4* src, std::size_t at, std::size_t vectors) {
  for (; at + (kUnroll - 1) * kLanes < vectors; at += kUnroll * kLanes) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = ptx::load_once(src + at + u * kLanes);
    for (int d = 0; d < count; ++d) {
      uint4* to = reinterpret_cast<uint4*>(dst[d]) + at;
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) ptx::store_once(to + u * kLanes, v[u]);
    }
  }
  return at;
}

/// 7 vectors a lane: a row of 7168 two-byte elements is 4 such groups, and 32 warps have 112 KiB in
/// flight on their SM.
__device__ __forceinline__ void copy_rows(
    std::byte* const* dst, int count, const std::byte* src, std::size_t bytes, int lane) {
  const auto* from = reinterpret_cast<const uint4*>(src);
  const std::size_t vectors = bytes / sizeof(uint4);
  std::size_t at = static_cast<std::size_t>(lane);
  // Lanes leave a group loop at different times at the end of a row; no lane depends on another.
  at = copy_groups<7>(dst, count, from, at, vectors);
  at = copy_groups<2>(dst, count, from, at, vectors);
  copy_groups<1>(dst, count, from, at, vectors);
}

template <DType kType>
struct Vector;  // 16 bytes of elements: widening adds, and rounding back.

template <>
struct Vector<DType::kBF16> {
  static constexpr int kElements = 8;
  static __device__ __forceinline__ void widen(const uint4& v, float* out) {
    const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = __uint_as_float(words[i] << 16);
      out[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000U);
    }
  }
  static __device__ __forceinline__ uint4 narrow(const float* in) {
    return {ptx::to_bf16x2(in[0], in[1]),
            ptx::to_bf16x2(in[2], in[3]),
            ptx::to_bf16x2(in[4], in[5]),
            ptx::to_bf16x2(in[6], in[7])};
  }
};

template <>
struct Vector<DType::kF16> {
  static constexpr int kElements = 8;
  static __device__ __forceinline__ void widen(const uint4& v, float* out) {
    const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = f16_to_f32(static_cast<std::uint16_t>(words[i]));
      out[2 * i + 1] = f16_to_f32(static_cast<std::uint16_t>(words[i] >> 16));
    }
  }
  static __device__ __forceinline__ uint4 narrow(const float* in) {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[i] = f32_to_f16(in[2 * i]) | static_cast<std::uint32_t>(f32_to_f16(in[2 * i + 1]))
                                             << 16;
    }
    return {words[0], words[1], words[2], words[3]};
  }
};

template <>
struct Vector<DType::kF32> {
  static constexpr int kElements = 4;
  static __device__ __forceinline__ void widen(const uint4& v, float* out) {
    out[0] = __uint_as_float(v.x);
    out[1] = __uint_as_float(v.y);
    out[2] = __uint_as_float(v.z);
    out[3] = __uint_as_float(v.w);
  }
  static __device__ __forceinline__ uint4 narrow(const float* in) {
    return {__float_as_uint(in[0]),
            __float_as_uint(in[1]),
            __float_as_uint(in[2]),
            __float_as_uint(in[3])};
  }
};

/// kTerms rows of one type, one partial, kGroup vectors a lane at a time: all kGroup · kTerms loads
/// are in flight together.
template <DType kType, int kTerms, int kGroup>
__device__ __forceinline__ std::size_t sum_groups(uint4* dst,
                                                  const SumTerm* terms,
                                                  std::size_t at,
                                                  std::size_t vectors) {
  using V = Vector<kType>;
  for (; at + (kGroup - 1) * kLanes < vectors; at += kGroup * kLanes) {
    uint4 v[kTerms][kGroup];
#pragma unroll
    for (int t = 0; t < kTerms; ++t) {
      const uint4* from = reinterpret_cast<const uint4*>(terms[t].data) + at;
#pragma unroll
      for (int g = 0; g < kGroup; ++g) v[t][g] = ptx::load_once(from + g * kLanes);
    }
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      float total[V::kElements];
      V::widen(v[0][g], total);
#pragma unroll
      for (int t = 1; t < kTerms; ++t) {
        float term[V::kElements];
        V::widen(v[t][g], term);
#pragma unroll
        for (int e = 0; e < V::kElements; ++e) total[e] = __fadd_rn(total[e], term[e]);
      }
      // A single row passes through unchanged, NaNs included.
      ptx::store_once(dst + at + g * kLanes, kTerms == 1 ? v[0][g] : V::narrow(total));
    }
  }
  return at;
}

template <DType kType, int kTerms>
__device__ __forceinline__ void sum_terms(uint4* dst,
                                          const SumTerm* terms,
                                          std::size_t vectors,
                                          int lane) {
  constexpr int kGroup = kTerms >= 5 ? 1 : (kTerms >= 3 ? 2 : 4);
  std::size_t at = static_cast<std::size_t>(lane);
  at = sum_groups<kType, kTerms, kGroup>(dst, terms, at, vectors);
  if constexpr (kGroup > 1) sum_groups<kType, kTerms, 1>(dst, terms, at, vectors);
}

/// The common sum: rows, partial and output of one type, one partial of at most 8 rows.
template <DType kType>
__device__ __forceinline__ bool sum_uniform(
    std::byte* dst, const SumTerm* terms, int count, std::size_t elements, int lane) {
  auto* to = reinterpret_cast<uint4*>(dst);
  const std::size_t vectors = elements / Vector<kType>::kElements;
  switch (count) {
    case 1:
      sum_terms<kType, 1>(to, terms, vectors, lane);
      return true;
    case 2:
      sum_terms<kType, 2>(to, terms, vectors, lane);
      return true;
    case 3:
      sum_terms<kType, 3>(to, terms, vectors, lane);
      return true;
    case 4:
      sum_terms<kType, 4>(to, terms, vectors, lane);
      return true;
    case 5:
      sum_terms<kType, 5>(to, terms, vectors, lane);
      return true;
    case 6:
      sum_terms<kType, 6>(to, terms, vectors, lane);
      return true;
    case 7:
      sum_terms<kType, 7>(to, terms, vectors, lane);
      return true;
    case 8:
      sum_terms<kType, 8>(to, terms, vectors, lane);
      return true;
    default:
      return false;
  }
}

/// One element of a row, widened.
__device__ __forceinline__ float load_element(const std::byte* row, std::size_t e, DType type) {
  if (type == DType::kF32) return reinterpret_cast<const float*>(row)[e];
  const std::uint16_t raw = reinterpret_cast<const std::uint16_t*>(row)[e];
  return type == DType::kBF16 ? bf16_to_f32(raw) : f16_to_f32(raw);
}

__device__ __forceinline__ float round_element(float value, DType type) {
  if (type == DType::kBF16) return bf16_to_f32(f32_to_bf16(value));
  return type == DType::kF16 ? f16_to_f32(f32_to_f16(value)) : value;
}

/// Any sum, element by element, neighbouring lanes on neighbouring elements.
__device__ inline void sum_any(std::byte* dst,
                               const SumTerm* terms,
                               int count,
                               std::size_t elements,
                               SumTypes types,
                               int lane) {
  for (auto e = static_cast<std::size_t>(lane); e < elements; e += kLanes) {
    float total = 0;
    float partial = 0;
    bool first_partial = true;
    bool first_term = true;
    for (int t = 0; t < count; ++t) {
      const float value = load_element(terms[t].data, e, terms[t].type);
      partial = first_term ? value : __fadd_rn(partial, value);
      first_term = terms[t].ends_partial;
      if (!terms[t].ends_partial) continue;
      const float rounded = round_element(partial, types.partial);
      total = first_partial ? rounded : __fadd_rn(total, rounded);
      first_partial = false;
    }
    if (types.output == DType::kF32) {
      reinterpret_cast<float*>(dst)[e] = total;
    } else {
      reinterpret_cast<std::uint16_t*>(dst)[e] =
          types.output == DType::kBF16 ? f32_to_bf16(total) : f32_to_f16(total);
    }
  }
}

__device__ inline void sum_rows(std::byte* dst,
                                const SumTerm* terms,
                                int count,
                                std::size_t elements,
                                SumTypes types,
                                int lane) {
  bool uniform = types.partial == types.output;
  for (int t = 0; t < count; ++t) {
    uniform = uniform && terms[t].type == types.output && terms[t].ends_partial == (t == count - 1);
  }
  bool done = false;
  if (uniform && types.output == DType::kBF16) {
    done = sum_uniform<DType::kBF16>(dst, terms, count, elements, lane);
  } else if (uniform && types.output == DType::kF16) {
    done = sum_uniform<DType::kF16>(dst, terms, count, elements, lane);
  } else if (uniform) {
    done = sum_uniform<DType::kF32>(dst, terms, count, elements, lane);
  }
  if (!done) sum_any(dst, terms, count, elements, types, lane);
}

}  // namespace shunt::exec::cuda
