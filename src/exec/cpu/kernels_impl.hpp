// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Text of the kernels, included once per instruction set with SHUNT_KERNELS (the table's name) and
// SHUNT_KERNELS_NAME defined and the compiler told which instructions it may use. Internal linkage
// throughout: copies for different instruction sets must not be merged by the linker.
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "exec/cpu/convert.hpp"
#include "exec/cpu/kernels.hpp"

namespace shunt::exec::cpu {
namespace {

// ThreadSanitizer does not see non-temporal stores; plain copies keep it able to find races.
#if defined(__SANITIZE_THREAD__)
#define SHUNT_STREAM 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHUNT_STREAM 0
#else
#define SHUNT_STREAM 1
#endif
#else
#define SHUNT_STREAM 1
#endif

// Below this a row is likely to be read from the cache soon.
constexpr std::size_t kStreamFromBytes = 2048;

#if defined(__AVX512F__)
using Wide = __m512i;
inline Wide load_wide(const std::byte* p) {
  return _mm512_loadu_si512(p);
}
inline void stream_wide(std::byte* p, Wide v) {
  _mm512_stream_si512(reinterpret_cast<Wide*>(p), v);
}
#elif defined(__AVX2__)
using Wide = __m256i;
inline Wide load_wide(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const Wide*>(p));
}
inline void stream_wide(std::byte* p, Wide v) {
  _mm256_stream_si256(reinterpret_cast<Wide*>(p), v);
}
#else
using Wide = __m128i;
inline Wide load_wide(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const Wide*>(p));
}
inline void stream_wide(std::byte* p, Wide v) {
  _mm_stream_si128(reinterpret_cast<Wide*>(p), v);
}
#endif

inline bool wide_aligned(const std::byte* p) {
  return reinterpret_cast<std::uintptr_t>(p) % sizeof(Wide) == 0;
}

void copy_stream(std::byte* dst, const std::byte* src, std::size_t bytes) {
  if (SHUNT_STREAM == 0 || bytes < kStreamFromBytes || !wide_aligned(dst)) {
    std::memcpy(dst, src, bytes);
    return;
  }
  std::size_t at = 0;
  for (; at + 4 * sizeof(Wide) <= bytes; at += 4 * sizeof(Wide)) {
    const Wide a = load_wide(src + at);
    const Wide b = load_wide(src + at + sizeof(Wide));
    const Wide c = load_wide(src + at + 2 * sizeof(Wide));
    const Wide d = load_wide(src + at + 3 * sizeof(Wide));
    stream_wide(dst + at, a);
    stream_wide(dst + at + sizeof(Wide), b);
    stream_wide(dst + at + 2 * sizeof(Wide), c);
    stream_wide(dst + at + 3 * sizeof(Wide), d);
  }
  std::memcpy(dst + at, src + at, bytes - at);
}

void copy_multi(std::byte* const* dst, int count, const std::byte* src, std::size_t bytes) {
  // Tiles that stay in the first-level cache: the source is read from memory once.
  constexpr std::size_t kTile = 4096;
  for (std::size_t at = 0; at < bytes; at += kTile) {
    const std::size_t size = bytes - at < kTile ? bytes - at : kTile;
    for (int i = 0; i < count; ++i) copy_stream(dst[i] + at, src + at, size);
  }
}

// Elements summed at a time: few enough that accumulators stay in registers, a constant so that the
// loops below unroll.
constexpr std::size_t kBlock = 64;

template <std::size_t kCount>
struct Lanes {
  alignas(64) float v[kCount];
};

template <std::size_t kCount>
inline void widen(Lanes<kCount>& out, const std::byte* in, DType type) {
  if (type == DType::kF32) {
    std::memcpy(out.v, in, sizeof(out.v));
    return;
  }
  alignas(64) std::uint16_t raw[kCount];
  std::memcpy(raw, in, sizeof(raw));
  if (type == DType::kBF16) {
    for (std::size_t i = 0; i < kCount; ++i) out.v[i] = bf16_to_f32(raw[i]);
    return;
  }
#if defined(__F16C__)
  if constexpr (kCount % 8 == 0) {
    for (std::size_t i = 0; i < kCount; i += 8) {
      _mm256_storeu_ps(out.v + i,
                       _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(raw + i))));
    }
    return;
  }
#endif
  for (std::size_t i = 0; i < kCount; ++i) out.v[i] = f16_to_f32(raw[i]);
}

template <std::size_t kCount>
inline void narrow(std::byte* out, const Lanes<kCount>& in, DType type) {
  if (type == DType::kF32) {
    std::memcpy(out, in.v, sizeof(in.v));
    return;
  }
  alignas(64) std::uint16_t raw[kCount];
  if (type == DType::kBF16) {
    for (std::size_t i = 0; i < kCount; ++i) raw[i] = f32_to_bf16(in.v[i]);
  } else {
#if defined(__F16C__)
    if constexpr (kCount % 8 == 0) {
      for (std::size_t i = 0; i < kCount; i += 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(raw + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in.v + i), _MM_FROUND_TO_NEAREST_INT));
      }
      std::memcpy(out, raw, sizeof(raw));
      return;
    }
#endif
    for (std::size_t i = 0; i < kCount; ++i) raw[i] = f32_to_f16(in.v[i]);
  }
  std::memcpy(out, raw, sizeof(raw));
}

template <std::size_t kCount>
inline void round_to(Lanes<kCount>& values, DType type) {
  if (type == DType::kBF16) {
    for (float& value : values.v) value = bf16_to_f32(f32_to_bf16(value));
  } else if (type == DType::kF16) {
    std::byte raw[kCount * sizeof(std::uint16_t)];
    narrow(raw, values, type);
    widen(values, raw, type);
  }
}

/// kCount elements of one sum, from element `at` on.
template <std::size_t kCount>
inline void sum_block(std::byte* dst,
                      std::span<const SumTerm> terms,
                      std::size_t at,
                      SumTypes types) {
  Lanes<kCount> total{};
  Lanes<kCount> partial;
  Lanes<kCount> term;
  bool first_partial = true;
  bool first_term = true;
  for (const SumTerm& t : terms) {
    const std::byte* from = t.data + at * size_of(t.type);
    if (first_term) {
      widen(partial, from, t.type);
    } else {
      widen(term, from, t.type);
      for (std::size_t i = 0; i < kCount; ++i) partial.v[i] += term.v[i];
    }
    first_term = false;
    if (!t.ends_partial) continue;
    round_to(partial, types.partial);
    if (first_partial) {
      total = partial;
    } else {
      for (std::size_t i = 0; i < kCount; ++i) total.v[i] += partial.v[i];
    }
    first_partial = false;
    first_term = true;
  }
  narrow(dst + at * size_of(types.output), total, types.output);
}

void sum(std::byte* dst, std::span<const SumTerm> terms, std::size_t elements, SumTypes types) {
  if (terms.empty()) {
    std::memset(dst, 0, elements * size_of(types.output));
    return;
  }
  std::size_t at = 0;
  for (; at + kBlock <= elements; at += kBlock) sum_block<kBlock>(dst, terms, at, types);
  for (; at + 8 <= elements; at += 8) sum_block<8>(dst, terms, at, types);
  for (; at < elements; ++at) sum_block<1>(dst, terms, at, types);
}

}  // namespace

const Kernels SHUNT_KERNELS{SHUNT_KERNELS_NAME, copy_stream, copy_multi, sum};

}  // namespace shunt::exec::cpu
