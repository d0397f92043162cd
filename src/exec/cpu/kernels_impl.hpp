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

constexpr std::size_t kBlock = 512;

inline void widen(float* out, const std::byte* in, DType type, std::size_t n) {
  if (type == DType::kF32) {
    std::memcpy(out, in, n * sizeof(float));
    return;
  }
  std::uint16_t raw[kBlock];
  std::memcpy(raw, in, n * sizeof(std::uint16_t));
  if (type == DType::kBF16) {
    for (std::size_t i = 0; i < n; ++i) out[i] = bf16_to_f32(raw[i]);
    return;
  }
  std::size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(raw + i))));
  }
#endif
  for (; i < n; ++i) out[i] = f16_to_f32(raw[i]);
}

inline void narrow(std::byte* out, const float* in, DType type, std::size_t n) {
  if (type == DType::kF32) {
    std::memcpy(out, in, n * sizeof(float));
    return;
  }
  std::uint16_t raw[kBlock];
  if (type == DType::kBF16) {
    for (std::size_t i = 0; i < n; ++i) raw[i] = f32_to_bf16(in[i]);
  } else {
    std::size_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(raw + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < n; ++i) raw[i] = f32_to_f16(in[i]);
  }
  std::memcpy(out, raw, n * sizeof(std::uint16_t));
}

inline void round_to(float* values, DType type, std::size_t n) {
  if (type == DType::kF32) return;
  std::byte raw[kBlock * sizeof(std::uint16_t)];
  narrow(raw, values, type, n);
  widen(values, raw, type, n);
}

/// One block of one sum; n ≤ kBlock.
void sum_block(float* total,
               std::span<const SumTerm> terms,
               std::size_t at,
               std::size_t n,
               DType partial_type) {
  alignas(64) float partial[kBlock];
  alignas(64) float term[kBlock];
  bool first_partial = true;
  bool first_term = true;
  for (const SumTerm& t : terms) {
    float* into = first_term ? partial : term;
    widen(into, t.data + at * size_of(t.type), t.type, n);
    if (!first_term) {
      for (std::size_t i = 0; i < n; ++i) partial[i] += term[i];
    }
    first_term = false;
    if (!t.ends_partial) continue;
    round_to(partial, partial_type, n);
    if (first_partial) {
      std::memcpy(total, partial, n * sizeof(float));
    } else {
      for (std::size_t i = 0; i < n; ++i) total[i] += partial[i];
    }
    first_partial = false;
    first_term = true;
  }
}

void sum(std::byte* dst, std::span<const SumTerm> terms, std::size_t elements, SumTypes types) {
  if (terms.empty()) {
    std::memset(dst, 0, elements * size_of(types.output));
    return;
  }
  alignas(64) float total[kBlock];
  for (std::size_t at = 0; at < elements; at += kBlock) {
    const std::size_t n = elements - at < kBlock ? elements - at : kBlock;
    sum_block(total, terms, at, n, types.partial);
    narrow(dst + at * size_of(types.output), total, types.output, n);
  }
}

}  // namespace

const Kernels SHUNT_KERNELS{SHUNT_KERNELS_NAME, copy_stream, copy_multi, sum};

}  // namespace shunt::exec::cpu
