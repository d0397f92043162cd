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

/// 16 bytes of elements: widening, and rounding back. add(): one word of two rows. A sum of two
/// rows needs no more, be they one partial or two: its exact value, rounded once, has the bits of a
/// sum in fp32 that is rounded then, since fp32 holds the sum of two such elements exactly, or one
/// of them is too small to matter to either (`bench_gpu` tries all pairs).
template <DType kType>
struct Vector;

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
  static __device__ __forceinline__ std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return ptx::add_bf16x2(a, b);
  }
};

template <>
struct Vector<DType::kF16> {
  static constexpr int kElements = 8;
  static __device__ __forceinline__ void widen(const uint4& v, float* out) {
    const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::from_f16x2(words[i], &out[2 * i], &out[2 * i + 1]);
  }
  static __device__ __forceinline__ uint4 narrow(const float* in) {
    return {ptx::to_f16x2(in[0], in[1]),
            ptx::to_f16x2(in[2], in[3]),
            ptx::to_f16x2(in[4], in[5]),
            ptx::to_f16x2(in[6], in[7])};
  }
  static __device__ __forceinline__ std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return ptx::add_f16x2(a, b);
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
  static __device__ __forceinline__ std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
  }
};

/// Where the rows of one warp's sum meet: two slots of shared memory in turn, filled by the copy
/// engine, so that one part of the rows is summed while the next is on its way.
struct SumStage {
  std::byte* buffer = nullptr;
  std::uint32_t bytes = 0;            ///< Of the buffer; 0: there is none.
  std::uint64_t* barriers = nullptr;  ///< [2]
  std::uint32_t parities = 0;         ///< Bit s: what the next wait on slot s waits for.
};

/// Bytes of every row that a warp brings in at a time: whole accesses of its lanes, parts of about
/// equal size, `count` rows to one of `slots` slots. 0: not even one access fits.
[[nodiscard]] __device__ __forceinline__ std::uint32_t stage_part(const SumStage& stage,
                                                                  std::uint32_t slots,
                                                                  int count,
                                                                  std::size_t row_bytes) {
  constexpr std::uint32_t kAccess = kLanes * sizeof(uint4);
  const std::uint32_t most =
      stage.bytes / (slots * static_cast<std::uint32_t>(count)) / kAccess * kAccess;
  if (most == 0) return 0;
  const auto row = static_cast<std::uint32_t>(row_bytes);
  const std::uint32_t parts = (row + most - 1) / most;
  return ((row + parts - 1) / parts + kAccess - 1) / kAccess * kAccess;
}

/// Starts to fill a slot with the part of the rows that begins at `at`; `bytes` of each. One warp,
/// which has read the slot's last content.
__device__ __forceinline__ void load_part(const SumStage& stage,
                                          std::uint32_t slot,
                                          const SumTerm* terms,
                                          int count,
                                          std::uint32_t at,
                                          std::uint32_t bytes,
                                          std::uint32_t part,
                                          int lane) {
  std::uint64_t* barrier = stage.barriers + slot;
  std::byte* to = stage.buffer + slot * (stage.bytes / 2);
  if (lane == 0) ptx::barrier_expect(barrier, bytes * static_cast<std::uint32_t>(count));
  __syncwarp();
  for (int t = lane; t < count; t += kLanes) {
    ptx::bulk_load(to + static_cast<std::uint32_t>(t) * part, terms[t].data + at, bytes, barrier);
  }
}

/// What the terms of a sum are. Each kind has loops of its own, so that none costs the others an
/// instruction: thirteen more for every two vectors made combine 4 % slower.
enum class Terms { kTwo, kOnePartial, kPartials };

/// Adds the vectors at `from`, `stride` vectors between the rows, kGroup of them a lane apart. The
/// rows are `count` terms in fp32; partials are rounded where kPartials says that there is more
/// than one. A single row passes through unchanged, NaNs included.
template <DType kType, bool kPartials, int kGroup>
__device__ __forceinline__ void add_vectors(
    uint4* to, const uint4* from, const SumTerm* terms, int count, std::uint32_t stride) {
  using V = Vector<kType>;
  uint4 result[kGroup];
#pragma unroll
  for (int g = 0; g < kGroup; ++g) result[g] = from[g * kLanes];
  if (count > 1) {
    float partial[kGroup][V::kElements];
    float total[kGroup][V::kElements];
#pragma unroll
    for (int g = 0; g < kGroup; ++g) V::widen(result[g], partial[g]);
    bool first = true;
    for (int t = 1; t < count; ++t) {
      from += stride;
      uint4 row[kGroup];
#pragma unroll
      for (int g = 0; g < kGroup; ++g) row[g] = from[g * kLanes];
      const bool ended = kPartials && terms[t - 1].ends_partial;
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        float term[V::kElements];
        V::widen(row[g], term);
        if (ended) V::widen(V::narrow(partial[g]), partial[g]);
#pragma unroll
        for (int e = 0; e < V::kElements; ++e) {
          if (ended) {
            total[g][e] = first ? partial[g][e] : __fadd_rn(total[g][e], partial[g][e]);
            partial[g][e] = term[e];
          } else {
            partial[g][e] = __fadd_rn(partial[g][e], term[e]);
          }
        }
      }
      first = first && !ended;
    }
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      result[g] = V::narrow(partial[g]);
      if (!kPartials || first) continue;
      V::widen(result[g], partial[g]);
#pragma unroll
      for (int e = 0; e < V::kElements; ++e) {
        total[g][e] = __fadd_rn(total[g][e], partial[g][e]);
      }
      result[g] = V::narrow(total[g]);
    }
  }
#pragma unroll
  for (int g = 0; g < kGroup; ++g) ptx::store_once(to + g * kLanes, result[g]);
}

/// The same of two rows, with packed adds: an eighth of the instructions.
template <DType kType, int kGroup>
__device__ __forceinline__ void add_pairs(uint4* to, const uint4* from, std::uint32_t stride) {
  using V = Vector<kType>;
  uint4 a[kGroup];
  uint4 b[kGroup];
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    a[g] = from[g * kLanes];
    b[g] = from[g * kLanes + stride];
  }
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    ptx::store_once(to + g * kLanes,
                    {V::add(a[g].x, b[g].x),
                     V::add(a[g].y, b[g].y),
                     V::add(a[g].z, b[g].z),
                     V::add(a[g].w, b[g].w)});
  }
}

/// One part of a sum: `vectors` of each row, `stride` apart.
template <DType kType, Terms kTerms>
__device__ __forceinline__ void add_part(uint4* to,
                                         const uint4* from,
                                         const SumTerm* terms,
                                         int count,
                                         std::uint32_t vectors,
                                         std::uint32_t stride,
                                         int lane) {
  auto v = static_cast<std::uint32_t>(lane);
  if constexpr (kTerms == Terms::kTwo) {
    for (; v + 3 * kLanes < vectors; v += 4 * kLanes) add_pairs<kType, 4>(to + v, from + v, stride);
    for (; v < vectors; v += kLanes) add_pairs<kType, 1>(to + v, from + v, stride);
  } else {
    constexpr bool kPartials = kTerms == Terms::kPartials;
    constexpr int kGroup = kPartials ? 1 : 2;
    for (; v + (kGroup - 1) * kLanes < vectors; v += kGroup * kLanes) {
      add_vectors<kType, kPartials, kGroup>(to + v, from + v, terms, count, stride);
    }
    if (v < vectors) add_vectors<kType, kPartials, 1>(to + v, from + v, terms, count, stride);
  }
}

/// Sums of rows of one type, partials and output of the same. `part` from stage_part for so many
/// slots: with two, the next part is on its way while one is added.
template <DType kType, Terms kTerms>
__device__ __forceinline__ void sum_staged(std::byte* dst,
                                           const SumTerm* terms,
                                           int count,
                                           std::uint32_t row,
                                           std::uint32_t part,
                                           std::uint32_t slots,
                                           int lane,
                                           SumStage& stage) {
  const auto load = [&](std::uint32_t slot, std::uint32_t at) {
    load_part(stage, slot, terms, count, at, row - at < part ? row - at : part, part, lane);
  };
  load(0, 0);
  std::uint32_t slot = 0;
  for (std::uint32_t at = 0; at < row; at += part, slot ^= slots - 1U) {
    const bool more = row - at > part;
    if (more && slots == 2) load(slot ^ 1U, at + part);
    ptx::barrier_wait(stage.barriers + slot, (stage.parities >> slot) & 1U);
    stage.parities ^= 1U << slot;
    const auto* from = reinterpret_cast<const uint4*>(stage.buffer + slot * (stage.bytes / 2));
    auto* to = reinterpret_cast<uint4*>(dst + at);
    const std::uint32_t vectors =
        (more ? part : row - at) / static_cast<std::uint32_t>(sizeof(uint4));
    const std::uint32_t stride = part / static_cast<std::uint32_t>(sizeof(uint4));
    add_part<kType, kTerms>(to, from, terms, count, vectors, stride, lane);
    ptx::fence_shared_for_bulk();
    __syncwarp();
    if (more && slots == 1) load(0, at + part);
  }
}

template <DType kType>
__device__ __forceinline__ void sum_staged(std::byte* dst,
                                           const SumTerm* terms,
                                           int count,
                                           std::size_t row_bytes,
                                           int lane,
                                           SumStage& stage) {
  bool partials = false;
  for (int t = 0; t < count - 1; ++t) partials = partials || terms[t].ends_partial;
  std::uint32_t slots = 2;
  std::uint32_t part = stage_part(stage, slots, count, row_bytes);
  if (part == 0) part = stage_part(stage, --slots, count, row_bytes);
  const auto row = static_cast<std::uint32_t>(row_bytes);
  if (count == 2) {
    sum_staged<kType, Terms::kTwo>(dst, terms, count, row, part, slots, lane, stage);
  } else if (partials) {
    sum_staged<kType, Terms::kPartials>(dst, terms, count, row, part, slots, lane, stage);
  } else {
    sum_staged<kType, Terms::kOnePartial>(dst, terms, count, row, part, slots, lane, stage);
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
  if (elements == 0) return;
  bool uniform = types.partial == types.output;
  for (int t = 0; t < count; ++t) {
    uniform = uniform && terms[t].type == types.output;
  }
  const std::size_t row_bytes = elements * size_of(types.output);
  if (!uniform || count == 0 || stage_part(stage, 1, count, row_bytes) == 0) {
    sum_any(dst, terms, count, elements, types, lane);
  } else if (types.output == DType::kBF16) {
    sum_staged<DType::kBF16>(dst, terms, count, row_bytes, lane, stage);
  } else if (types.output == DType::kF16) {
    sum_staged<DType::kF16>(dst, terms, count, row_bytes, lane, stage);
  } else {
    sum_staged<DType::kF32>(dst, terms, count, row_bytes, lane, stage);
  }
}

}  // namespace shunt::exec::cuda
