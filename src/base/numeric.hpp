// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// From floating point to integer without undefined behaviour. Every figure that comes from text
// may be absurd: a plain cast of it overflows.
#pragma once

#include <concepts>
#include <limits>
#include <optional>

namespace shunt {

/// `value` cut toward zero; nullopt where `T` cannot hold it, or it is no number.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_cast(double value) {
  // One above the largest value is a power of two, hence exact as a double; the largest itself may
  // not be.
  constexpr T kHalf = std::numeric_limits<T>::max() / 2 + 1;
  constexpr double kPast = 2.0 * static_cast<double>(kHalf);
  constexpr double kLeast = static_cast<double>(std::numeric_limits<T>::min());
  // A 64-bit minimum minus one is the minimum again; that rounding keeps the comparison right.
  if (!(value < kPast && (value >= kLeast || value > kLeast - 1))) return std::nullopt;
  return static_cast<T>(value);
}

/// As checked_cast, but what is out of range becomes the nearest value of `T`; NaN becomes 0.
template <std::integral T>
[[nodiscard]] constexpr T saturating_cast(double value) {
  if (const auto fits = checked_cast<T>(value)) return *fits;
  if (value > 0) return std::numeric_limits<T>::max();
  return value < 0 ? std::numeric_limits<T>::min() : T{0};
}

/// Rounded to the nearest, halves away from zero, and saturated.
template <std::integral T>
[[nodiscard]] constexpr T saturating_round(double value) {
  return saturating_cast<T>(value < 0 ? value - 0.5 : value + 0.5);
}

}  // namespace shunt
