// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Conversions against arithmetic in double precision, and against the processor's own instructions.
#include "exec/cpu/convert.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <immintrin.h>

#include "base/random.hpp"

namespace shunt::exec {
namespace {

struct Format {
  int precision;  ///< Bits of the significand, the hidden one included.
  int least;      ///< Exponent of the smallest normal number.
  int greatest;   ///< … of the largest.
};
constexpr Format kBf16{8, -126, 127};
constexpr Format kF16{11, -14, 15};

/// `value` rounded to nearest even in `format`, straight from the definition. Not for NaN.
double rounded(double value, const Format& format) {
  if (value == 0 || std::isinf(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.least);
  const double quantum = std::ldexp(1.0, exponent - format.precision + 1);
  const double result = std::nearbyint(value / quantum) * quantum;
  if (std::abs(result) >= std::ldexp(1.0, format.greatest + 1)) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return result;
}

/// Random bits, and what lies on or beside every rounding boundary of both formats.
std::vector<float> probes() {
  std::vector<float> values;
  for (std::uint32_t half = 0; half < 65'536; ++half) {
    for (const std::uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      values.push_back(std::bit_cast<float>(half << 16 | low));
    }
    // The middle between a half and its neighbour, and the floats around it.
    const auto bits = std::bit_cast<std::uint32_t>(f16_to_f32(static_cast<std::uint16_t>(half)));
    for (const std::uint32_t step : {0x0fffU, 0x1000U, 0x1001U}) {
      values.push_back(std::bit_cast<float>(bits + step));
    }
    values.push_back(f16_to_f32(static_cast<std::uint16_t>(half)) + 0x1.0p-25F);
  }
  Random random(1);
  for (int i = 0; i < 500'000; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.next())));
  }
  return values;
}

bool same(float a, double b) {
  return std::isnan(b) ? std::isnan(a)
                       : static_cast<double>(a) == b && std::signbit(a) == std::signbit(b);
}

TEST(Convert, RoundsToNearestEven) {
  for (const float value : probes()) {
    const float bf16 = bf16_to_f32(f32_to_bf16(value));
    const float f16 = f16_to_f32(f32_to_f16(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bf16) && std::isnan(f16));
      continue;
    }
    ASSERT_TRUE(same(bf16, rounded(static_cast<double>(value), kBf16))) << value << ' ' << bf16;
    ASSERT_TRUE(same(f16, rounded(static_cast<double>(value), kF16))) << value << ' ' << f16;
  }
}

TEST(Convert, EveryShortNumberComesBack) {
  for (std::uint32_t i = 0; i < 65'536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const bool bf16_nan = std::isnan(bf16_to_f32(bits));
    const bool f16_nan = std::isnan(f16_to_f32(bits));
    // A signalling NaN becomes quiet and keeps the rest.
    ASSERT_EQ(f32_to_bf16(bf16_to_f32(bits)), bf16_nan ? bits | 0x40U : bits);
    ASSERT_EQ(f32_to_f16(f16_to_f32(bits)), f16_nan ? bits | 0x200U : bits);
  }
}

__attribute__((target("f16c"))) float hardware_widen(std::uint16_t value) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(value)));
}
__attribute__((target("f16c"))) std::uint16_t hardware_narrow(float value) {
  return static_cast<std::uint16_t>(
      _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT)));
}

TEST(Convert, HalvesAgreeWithTheProcessorBitForBit) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no F16C";
  for (std::uint32_t i = 0; i < 65'536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(f16_to_f32(bits)),
              std::bit_cast<std::uint32_t>(hardware_widen(bits)))
        << i;
  }
  for (const float value : probes()) {
    ASSERT_EQ(f32_to_f16(value), hardware_narrow(value)) << std::bit_cast<std::uint32_t>(value);
  }
}

}  // namespace
}  // namespace shunt::exec
