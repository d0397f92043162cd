// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Text of the kernels, included once per instruction set with SHUNT_KERNELS (the table's name) and
// SHUNT_KERNELS_NAME defined and the compiler told which instructions it may use. Internal linkage
// throughout: copies for different instruction sets must not be merged by the linker.
#include <cstdint>
#include <cstring>
#include <type_traits>

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

#if !defined(__AVX2__)
// Elements summed at a time: few enough that accumulators stay in registers, a constant so that the
// loops below unroll.
constexpr std::size_t kBlock = 64;
#endif

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

#if defined(__AVX512F__)
using Vector = __m512;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kVectors = 8;  // A sum's accumulators: two sets of these stay in registers.

inline __m512i round_bf16(Vector v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i near = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_mask_or_epi32(near, nan, bits, _mm512_set1_epi32(0x0040'0000));
}
template <DType kType>
inline Vector load_as(const std::byte* p) {
  if constexpr (kType == DType::kF32) return _mm512_loadu_ps(p);
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if constexpr (kType == DType::kF16) return _mm512_cvtph_ps(half);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
/// kRounded: v has been rounded to the type already.
template <DType kType, bool kRounded>
inline void store_as(std::byte* p, Vector v) {
  if constexpr (kType == DType::kF32) {
    _mm512_storeu_ps(p, v);
  } else if constexpr (kType == DType::kF16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  } else {
    const __m512i bits = kRounded ? _mm512_castps_si512(v) : round_bf16(v);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
  }
}
template <DType kType>
inline Vector rounded_to(Vector v) {
  if constexpr (kType == DType::kF32) return v;
  if constexpr (kType == DType::kF16) {
    return _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  return _mm512_castsi512_ps(
      _mm512_and_si512(round_bf16(v), _mm512_set1_epi32(static_cast<int>(0xffff'0000U))));
}
inline Vector plus(Vector a, Vector b) {
  return _mm512_add_ps(a, b);
}
#elif defined(__AVX2__)
using Vector = __m256;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kVectors = 4;

inline __m256i round_bf16(Vector v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i near = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040'0000));
  return _mm256_castps_si256(_mm256_blendv_ps(
      _mm256_castsi256_ps(near), _mm256_castsi256_ps(quiet), _mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
}
template <DType kType>
inline Vector load_as(const std::byte* p) {
  if constexpr (kType == DType::kF32) return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (kType == DType::kF16) return _mm256_cvtph_ps(half);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
template <DType kType, bool kRounded>
inline void store_as(std::byte* p, Vector v) {
  if constexpr (kType == DType::kF32) {
    _mm256_storeu_ps(reinterpret_cast<float*>(p), v);
  } else if constexpr (kType == DType::kF16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  } else {
    const __m256i bits = kRounded ? _mm256_castps_si256(v) : round_bf16(v);
    const __m256i high = _mm256_srli_epi32(bits, 16);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(p),
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
  }
}
template <DType kType>
inline Vector rounded_to(Vector v) {
  if constexpr (kType == DType::kF32) return v;
  if constexpr (kType == DType::kF16) {
    return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  return _mm256_castsi256_ps(
      _mm256_and_si256(round_bf16(v), _mm256_set1_epi32(static_cast<int>(0xffff'0000U))));
}
inline Vector plus(Vector a, Vector b) {
  return _mm256_add_ps(a, b);
}
#endif

#if defined(__AVX2__)
constexpr std::size_t kStep = kLanes * kVectors;

/// Calls work(integral_constant of type): one branch for many elements.
template <typename Work>
inline void with_type(DType type, Work&& work) {
  switch (type) {
    case DType::kF32:
      return work(std::integral_constant<DType, DType::kF32>{});
    case DType::kF16:
      return work(std::integral_constant<DType, DType::kF16>{});
    case DType::kBF16:
      return work(std::integral_constant<DType, DType::kBF16>{});
  }
}

/// kStep elements of one sum, from element `at` on: sum_block in registers.
template <DType kPartial, DType kOutput>
inline void sum_step(std::byte* dst, std::span<const SumTerm> terms, std::size_t at) {
  Vector total[kVectors] = {};
  Vector partial[kVectors] = {};
  int partials = 0;
  bool first_term = true;
  for (const SumTerm& t : terms) {
    with_type(t.type, [&](auto type) {
      constexpr std::size_t kBytes = kLanes * size_of(decltype(type)::value);
      const std::byte* from = t.data + at * size_of(decltype(type)::value);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kVectors; ++i) {
        const Vector term = load_as<decltype(type)::value>(from + i * kBytes);
        partial[i] = first_term ? term : plus(partial[i], term);
      }
    });
    first_term = false;
    if (!t.ends_partial) continue;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kVectors; ++i) {
      const Vector rounded = rounded_to<kPartial>(partial[i]);
      total[i] = partials == 0 ? rounded : plus(total[i], rounded);
    }
    ++partials;
    first_term = true;
  }
  const auto store = [&](auto rounded) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kVectors; ++i) {
      store_as<kOutput, decltype(rounded)::value>(dst + (at + i * kLanes) * size_of(kOutput),
                                                  total[i]);
    }
  };
  if (kPartial == kOutput && partials == 1) return store(std::true_type{});
  store(std::false_type{});
}
#endif

/// Sums whole steps; returns how many elements that were.
std::size_t sum_steps(std::byte* dst,
                      std::span<const SumTerm> terms,
                      std::size_t elements,
                      SumTypes types) {
  std::size_t at = 0;
#if defined(__AVX2__)
  with_type(types.partial, [&](auto partial) {
    with_type(types.output, [&](auto output) {
      for (; at + kStep <= elements; at += kStep) {
        sum_step<decltype(partial)::value, decltype(output)::value>(dst, terms, at);
      }
    });
  });
#else
  for (; at + kBlock <= elements; at += kBlock) sum_block<kBlock>(dst, terms, at, types);
#endif
  return at;
}

void sum(std::byte* dst, std::span<const SumTerm> terms, std::size_t elements, SumTypes types) {
  if (terms.empty()) {
    std::memset(dst, 0, elements * size_of(types.output));
    return;
  }
  std::size_t at = sum_steps(dst, terms, elements, types);
  for (; at + 8 <= elements; at += 8) sum_block<8>(dst, terms, at, types);
  for (; at < elements; ++at) sum_block<1>(dst, terms, at, types);
}

}  // namespace

const Kernels SHUNT_KERNELS{SHUNT_KERNELS_NAME, copy_stream, copy_multi, sum};

}  // namespace shunt::exec::cpu
