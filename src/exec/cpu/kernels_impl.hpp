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
#include "exec/cpu/vectors.hpp"

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
constexpr std::size_t kLine = 64;

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

/// kCount elements of one sum, from element `at` on, to `dst` itself.
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
  narrow(dst, total, types.output);
}

#if defined(__AVX2__)
// Sums are made of pairs of vectors, 2 · kLanes elements that follow one another. Where the output
// is bf16 the pair is split: even elements in one vector, odd ones in the other. Two neighbours of
// bf16 are one word of 32 bits, so that neither reading nor writing them moves a lane.
struct Pair {
  Vector a;
  Vector b;
};
constexpr std::size_t kPairElements = 2 * kLanes;
constexpr std::size_t kStep = kPairElements * kPairs;
// How far ahead of a sum its terms are fetched, bytes: rows are too short for the processor to
// recognise them as streams by itself. Past the end of a row lies the next token's, mostly.
constexpr std::size_t kFetchAhead = 512;

/// The upper halves are bf16, rounded; the lower ones mean nothing.
inline Wide round_bf16(Vector v) {
  const Wide bits = bits_of(v);
  const Wide odd = both(down(bits), all_lanes(1));
  const Wide near = added(added(bits, all_lanes(0x7fff)), odd);
  return unless_nan(v, near, either(bits, all_lanes(0x0040'0000)));
}

template <DType kType>
inline Vector load_as(const std::byte* p) {
  if constexpr (kType == DType::kF32) return load_f32(p);
  if constexpr (kType == DType::kF16) return load_f16(p);
  return load_bf16(p);
}
template <DType kType, bool kSplit>
inline Pair load_pair(const std::byte* p) {
  if constexpr (kSplit && kType == DType::kBF16) {
    const Wide words = load_wide(p);
    return {of_bits(up(words)), of_bits(both(words, all_lanes(0xffff'0000U)))};
  } else {
    const Pair pair{load_as<kType>(p), load_as<kType>(p + kLanes * size_of(kType))};
    if constexpr (!kSplit) return pair;
    return {evens(pair.a, pair.b), odds(pair.a, pair.b)};
  }
}

template <DType kType>
inline Vector rounded_to(Vector v) {
  if constexpr (kType == DType::kF32) return v;
  if constexpr (kType == DType::kF16) return of_f16(as_f16(v));
  return of_bits(both(round_bf16(v), all_lanes(0xffff'0000U)));
}

/// kStream: p is wide_aligned.
template <bool kStream>
inline void store_wide(std::byte* p, Wide wide) {
  if constexpr (kStream) {
    stream_wide(p, wide);
  } else {
    std::memcpy(p, &wide, sizeof(Wide));
  }
}
/// A pair that is split if kType is bf16; kRounded: it has been rounded to kType already.
template <DType kType, bool kRounded, bool kStream>
inline void store_pair(std::byte* p, Pair pair) {
  if constexpr (kType == DType::kF32) {
    store_wide<kStream>(p, bits_of(pair.a));
    store_wide<kStream>(p + sizeof(Wide), bits_of(pair.b));
  } else if constexpr (kType == DType::kF16) {
    store_wide<kStream>(p, joined(as_f16(pair.a), as_f16(pair.b)));
  } else {
    const Wide even = kRounded ? bits_of(pair.a) : round_bf16(pair.a);
    const Wide odd = kRounded ? bits_of(pair.b) : round_bf16(pair.b);
    store_wide<kStream>(p, either(down(even), both(odd, all_lanes(0xffff'0000U))));
  }
}

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

/// kStep elements of one sum, from element `at` on, to `dst` itself: sum_block in registers.
/// kStream: dst is wide_aligned.
template <DType kPartial, DType kOutput, bool kStream>
inline void sum_step(std::byte* dst, std::span<const SumTerm> terms, std::size_t at) {
  constexpr bool kSplit = kOutput == DType::kBF16;
  Pair total[kPairs] = {};
  Pair partial[kPairs] = {};
  int partials = 0;
  bool first_term = true;
  for (const SumTerm& t : terms) {
    with_type(t.type, [&](auto type) {
      constexpr DType kType = decltype(type)::value;
      constexpr std::size_t kBytes = kPairElements * size_of(kType);
      const std::byte* from = t.data + at * size_of(kType);
      for (std::size_t i = 0; i < kPairs * kBytes; i += kLine) {
        _mm_prefetch(reinterpret_cast<const char*>(from + i + kFetchAhead), _MM_HINT_T0);
      }
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kPairs; ++i) {
        const Pair term = load_pair<kType, kSplit>(from + i * kBytes);
        partial[i].a = first_term ? term.a : plus(partial[i].a, term.a);
        partial[i].b = first_term ? term.b : plus(partial[i].b, term.b);
      }
    });
    first_term = false;
    if (!t.ends_partial) continue;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kPairs; ++i) {
      const Pair rounded{rounded_to<kPartial>(partial[i].a), rounded_to<kPartial>(partial[i].b)};
      total[i].a = partials == 0 ? rounded.a : plus(total[i].a, rounded.a);
      total[i].b = partials == 0 ? rounded.b : plus(total[i].b, rounded.b);
    }
    ++partials;
    first_term = true;
  }
  const auto store = [&](auto rounded) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kPairs; ++i) {
      store_pair<kOutput, decltype(rounded)::value, kStream>(
          dst + i * kPairElements * size_of(kOutput), total[i]);
    }
  };
  if (kPartial == kOutput && partials == 1) return store(std::true_type{});
  store(std::false_type{});
}
#endif

/// Sums whole steps from element `at` on; returns where they end. kStream: the first output is
/// wide_aligned.
template <bool kStream>
std::size_t sum_steps(std::byte* dst,
                      std::span<const SumTerm> terms,
                      std::size_t at,
                      std::size_t elements,
                      SumTypes types) {
#if defined(__AVX2__)
  with_type(types.partial, [&](auto partial) {
    with_type(types.output, [&](auto output) {
      constexpr DType kOutput = decltype(output)::value;
      for (; at + kStep <= elements; at += kStep) {
        sum_step<decltype(partial)::value, kOutput, kStream>(
            dst + at * size_of(kOutput), terms, at);
      }
    });
  });
#else
  for (; at + kBlock <= elements; at += kBlock) {
    std::byte* to = dst + at * size_of(types.output);
    if constexpr (!kStream) {
      sum_block<kBlock>(to, terms, at, types);
    } else {
      alignas(64) std::byte block[kBlock * sizeof(float)];
      sum_block<kBlock>(block, terms, at, types);
      for (std::size_t i = 0; i < kBlock * size_of(types.output); i += sizeof(Wide)) {
        stream_wide(to + i, load_wide(block + i));
      }
    }
  }
#endif
  return at;
}

/// Elements [at, end), a few at a time.
void sum_few(std::byte* dst,
             std::span<const SumTerm> terms,
             std::size_t at,
             std::size_t end,
             SumTypes types) {
  const std::size_t size = size_of(types.output);
  for (; at + 8 <= end; at += 8) sum_block<8>(dst + at * size, terms, at, types);
  for (; at < end; ++at) sum_block<1>(dst + at * size, terms, at, types);
}

void sum(std::byte* dst, std::span<const SumTerm> terms, std::size_t elements, SumTypes types) {
  if (terms.empty()) {
    std::memset(dst, 0, elements * size_of(types.output));
    return;
  }
  const std::size_t at = sum_steps<false>(dst, terms, 0, elements, types);
  sum_few(dst, terms, at, elements, types);
}

void sum_stream(std::byte* dst,
                std::span<const SumTerm> terms,
                std::size_t elements,
                SumTypes types) {
  const std::size_t size = size_of(types.output);
  // Up to the first line that is all this row's.
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(dst) % kLine) % kLine / size;
  if (SHUNT_STREAM == 0 || terms.empty() || elements * size < kStreamFromBytes ||
      !wide_aligned(dst + head * size)) {
    sum(dst, terms, elements, types);
    return;
  }
  sum_few(dst, terms, 0, head, types);
  const std::size_t at = sum_steps<true>(dst, terms, head, elements, types);
  sum_few(dst, terms, at, elements, types);
}

}  // namespace

const Kernels SHUNT_KERNELS{SHUNT_KERNELS_NAME, copy_stream, copy_multi, sum, sum_stream};

}  // namespace shunt::exec::cpu
