// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// fp32 ↔ bf16 and fp16, round to nearest even, NaNs quieted with their upper payload kept: what the
// hardware instructions do, so that every executor gives the same bits. Internal linkage: each
// translation unit may be compiled for another instruction set.
#pragma once

#include <bit>
#include <cstdint>

namespace shunt::exec {

[[nodiscard, maybe_unused]] static constexpr float bf16_to_f32(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

[[nodiscard, maybe_unused]] static constexpr std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const std::uint32_t quiet = bits | 0x0040'0000U;
  const bool nan = (bits & 0x7fff'ffffU) > 0x7f80'0000U;
  return static_cast<std::uint16_t>((nan ? quiet : rounded) >> 16);
}

[[nodiscard, maybe_unused]] static constexpr float f16_to_f32(std::uint16_t value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x8000U) << 16;
  const std::uint32_t exponent = (value >> 10) & 0x1fU;
  const std::uint32_t mantissa = value & 0x3ffU;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x0040'0000U : 0U;
    return std::bit_cast<float>(sign | 0x7f80'0000U | (mantissa << 13) | quiet);
  }
  if (exponent == 0) {
    // Subnormal: mantissa · 2^-24, exact in fp32.
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

[[nodiscard, maybe_unused]] static constexpr std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fff'ffffU;
  if (magnitude > 0x7f80'0000U) {
    return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x1ffU));
  }
  if (magnitude >= 0x477f'f000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x3880'0000U) {
    // Subnormal half: adding 0.5 aligns the mantissa so that fp32 rounding does the rest.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign |
                                      (std::bit_cast<std::uint32_t>(aligned) - 0x3f00'0000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U) - (112U << 23);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

}  // namespace shunt::exec
