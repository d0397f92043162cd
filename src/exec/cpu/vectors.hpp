// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Words for the widest vectors of the instruction set that a translation unit is compiled for:
// Wide, bits for copies and conversions; from AVX2 on also Vector, floats. Internal linkage, as
// kernels_impl.hpp says.
#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

namespace shunt::exec::cpu {
namespace {

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

#if defined(__AVX512F__)
using Vector = __m512;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kPairs = 4;  // A sum's accumulators: two sets of these stay in registers.

inline Wide bits_of(Vector v) {
  return _mm512_castps_si512(v);
}
inline Vector of_bits(Wide bits) {
  return _mm512_castsi512_ps(bits);
}
inline Wide all_lanes(std::uint32_t value) {
  return _mm512_set1_epi32(static_cast<int>(value));
}
inline Wide both(Wide a, Wide b) {
  return _mm512_and_si512(a, b);
}
inline Wide either(Wide a, Wide b) {
  return _mm512_or_si512(a, b);
}
inline Wide added(Wide a, Wide b) {
  return _mm512_add_epi32(a, b);
}
inline Wide up(Wide bits) {
  return _mm512_slli_epi32(bits, 16);
}
inline Wide down(Wide bits) {
  return _mm512_srli_epi32(bits, 16);
}
/// `a`, but `b` where v is not a number.
inline Wide unless_nan(Vector v, Wide a, Wide b) {
  return _mm512_mask_mov_epi32(a, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), b);
}
inline Vector plus(Vector a, Vector b) {
  return _mm512_add_ps(a, b);
}
inline Vector load_f32(const std::byte* p) {
  return _mm512_loadu_ps(p);
}
inline Vector load_f16(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Vector load_bf16(const std::byte* p) {
  const auto* at = reinterpret_cast<const __m256i*>(p);
  return of_bits(up(_mm512_cvtepu16_epi32(_mm256_loadu_si256(at))));
}
inline auto as_f16(Vector v) {
  return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
inline Vector of_f16(__m256i half) {
  return _mm512_cvtph_ps(half);
}
inline Wide joined(__m256i low, __m256i high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
inline Vector evens(Vector a, Vector b) {
  const Wide at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(a, at, b);
}
inline Vector odds(Vector a, Vector b) {
  const Wide at = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(a, at, b);
}
#elif defined(__AVX2__)
using Vector = __m256;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kPairs = 2;

inline Wide bits_of(Vector v) {
  return _mm256_castps_si256(v);
}
inline Vector of_bits(Wide bits) {
  return _mm256_castsi256_ps(bits);
}
inline Wide all_lanes(std::uint32_t value) {
  return _mm256_set1_epi32(static_cast<int>(value));
}
inline Wide both(Wide a, Wide b) {
  return _mm256_and_si256(a, b);
}
inline Wide either(Wide a, Wide b) {
  return _mm256_or_si256(a, b);
}
inline Wide added(Wide a, Wide b) {
  return _mm256_add_epi32(a, b);
}
inline Wide up(Wide bits) {
  return _mm256_slli_epi32(bits, 16);
}
inline Wide down(Wide bits) {
  return _mm256_srli_epi32(bits, 16);
}
inline Wide unless_nan(Vector v, Wide a, Wide b) {
  return bits_of(_mm256_blendv_ps(of_bits(a), of_bits(b), _mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
}
inline Vector plus(Vector a, Vector b) {
  return _mm256_add_ps(a, b);
}
inline Vector load_f32(const std::byte* p) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
}
inline Vector load_f16(const std::byte* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Vector load_bf16(const std::byte* p) {
  const auto* at = reinterpret_cast<const __m128i*>(p);
  return of_bits(up(_mm256_cvtepu16_epi32(_mm_loadu_si128(at))));
}
inline auto as_f16(Vector v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
inline Vector of_f16(__m128i half) {
  return _mm256_cvtph_ps(half);
}
inline Wide joined(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
inline Vector in_order(Vector halves) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(halves), 0xd8));
}
inline Vector evens(Vector a, Vector b) {
  return in_order(_mm256_shuffle_ps(a, b, 0x88));
}
inline Vector odds(Vector a, Vector b) {
  return in_order(_mm256_shuffle_ps(a, b, 0xdd));
}
#endif

}  // namespace
}  // namespace shunt::exec::cpu
