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

/// Where the rows of one warp's sum meet: shared memory, filled by the copy engine.
struct SumStage {
  std::byte* buffer = nullptr;
  std::uint32_t bytes = 0;  ///< Of the buffer; 0: there is none.
  std::uint64_t* barrier = nullptr;
  std::uint32_t parity = 0;
};

/// Bytes of every row that a warp brings in at a time: whole accesses of its lanes, as many as the
/// stage holds for `count` rows. 0: not even one.
[[nodiscard]] __device__ __forceinline__ std::uint32_t stage_part(const SumStage& stage,
                                                                  int count) {
  constexpr std::uint32_t kAccess = kLanes * sizeof(uint4);
  return stage.bytes / static_cast<std::uint32_t>(count) / kAccess * kAccess;
}

/// Sums of rows of one type, partials and output of the same. Partials are rounded where
/// `kPartials` says that there is more than one. `part` from stage_part.
template <DType kType, bool kPartials>
__device__ __forceinline__ void sum_staged(std::byte* dst,
                                           const SumTerm* terms,
                                           int count,
                                           std::size_t row_bytes,
                                           std::uint32_t part,
                                           int lane,
                                           SumStage& stage) {
  using V = Vector<kType>;
  for (std::size_t at = 0; at < row_bytes; at += part) {
    const auto bytes = static_cast<std::uint32_t>(row_bytes - at < part ? row_bytes - at : part);
    if (lane == 0) {
      ptx::barrier_expect(stage.barrier, bytes * static_cast<std::uint32_t>(count));
    }
    __syncwarp();
    for (int t = lane; t < count; t += kLanes) {
      ptx::bulk_load(stage.buffer + static_cast<std::uint32_t>(t) * part,
                     terms[t].data + at,
                     bytes,
                     stage.barrier);
    }
    ptx::barrier_wait(stage.barrier, stage.parity);
    stage.parity ^= 1U;
    auto* to = reinterpret_cast<uint4*>(dst + at);
    for (auto v = static_cast<std::uint32_t>(lane); v < bytes / sizeof(uint4); v += kLanes) {
      const auto* from = reinterpret_cast<const uint4*>(stage.buffer) + v;
      // A single row passes through unchanged, NaNs included.
      uint4 result = *from;
      if (count > 1) {
        float partial[V::kElements];
        float total[V::kElements];
        V::widen(result, partial);
        bool first = true;
        for (int t = 1; t < count; ++t) {
          from += part / sizeof(uint4);
          float term[V::kElements];
          V::widen(*from, term);
          if (kPartials && terms[t - 1].ends_partial) {
            V::widen(V::narrow(partial), partial);
#pragma unroll
            for (int e = 0; e < V::kElements; ++e) {
              total[e] = first ? partial[e] : __fadd_rn(total[e], partial[e]);
              partial[e] = term[e];
            }
            first = false;
          } else {
#pragma unroll
            for (int e = 0; e < V::kElements; ++e) partial[e] = __fadd_rn(partial[e], term[e]);
          }
        }
        result = V::narrow(partial);
        if (kPartials && !first) {
          V::widen(result, partial);
#pragma unroll
          for (int e = 0; e < V::kElements; ++e) total[e] = __fadd_rn(total[e], partial[e]);
          result = V::narrow(total);
        }
      }
      ptx::store_once(to + v, result);
    }
    ptx::fence_shared_for_bulk();
    __syncwarp();
  }
}

template <DType kType>
__device__ __forceinline__ void sum_staged(std::byte* dst,
                                           const SumTerm* terms,
                                           int count,
                                           std::size_t row_bytes,
                                           std::uint32_t part,
                                           int lane,
                                           SumStage& stage) {
  bool partials = false;
  for (int t = 0; t < count - 1; ++t) partials = partials || terms[t].ends_partial;
  if (partials) {
    sum_staged<kType, true>(dst, terms, count, row_bytes, part, lane, stage);
  } else {
    sum_staged<kType, false>(dst, terms, count, row_bytes, part, lane, stage);
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
                                int lane,
                                SumStage& stage) {
  bool uniform = types.partial == types.output;
  for (int t = 0; t < count; ++t) {
    uniform = uniform && terms[t].type == types.output;
  }
  const std::uint32_t part = uniform && count > 0 ? stage_part(stage, count) : 0;
  const std::size_t row_bytes = elements * size_of(types.output);
  if (part == 0) {
    sum_any(dst, terms, count, elements, types, lane);
  } else if (types.output == DType::kBF16) {
    sum_staged<DType::kBF16>(dst, terms, count, row_bytes, part, lane, stage);
  } else if (types.output == DType::kF16) {
    sum_staged<DType::kF16>(dst, terms, count, row_bytes, part, lane, stage);
  } else {
    sum_staged<DType::kF32>(dst, terms, count, row_bytes, part, lane, stage);
  }
}

}  // namespace shunt::exec::cuda
