// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace shunt {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The ends of T as seen by a type that holds both T and what lies around it.
template <typename T>
void check_ends() {
  SCOPED_TRACE(sizeof(T));
  const auto max = static_cast<long double>(std::numeric_limits<T>::max());
  const auto min = static_cast<long double>(std::numeric_limits<T>::min());
  for (const long double end : {max, min}) {
    double at = static_cast<double>(end);
    for (int step = 0; step < 3; ++step) at = std::nextafter(at, -kInfinity);
    for (int step = 0; step < 7; ++step, at = std::nextafter(at, kInfinity)) {
      const auto whole = std::trunc(static_cast<long double>(at));
      const bool fits = whole <= max && whole >= min;
      const auto cast = checked_cast<T>(at);
      ASSERT_EQ(cast.has_value(), fits) << at;
      if (fits) {
        EXPECT_EQ(static_cast<long double>(*cast), whole) << at;
      }
    }
  }
  EXPECT_FALSE(checked_cast<T>(kNaN));
  EXPECT_FALSE(checked_cast<T>(kInfinity));
  EXPECT_FALSE(checked_cast<T>(-kInfinity));
  EXPECT_EQ(saturating_cast<T>(1e300), std::numeric_limits<T>::max());
  EXPECT_EQ(saturating_cast<T>(-1e300), std::numeric_limits<T>::min());
  EXPECT_EQ(saturating_cast<T>(kNaN), T{0});
}

TEST(Numeric, CastsAtTheEndsOfEveryWidth) {
  check_ends<std::int8_t>();
  check_ends<std::uint8_t>();
  check_ends<std::int32_t>();
  check_ends<std::uint32_t>();
  check_ends<std::int64_t>();
  check_ends<std::uint64_t>();
}

TEST(Numeric, CutsTowardZero) {
  EXPECT_EQ(checked_cast<int>(2.9), 2);
  EXPECT_EQ(checked_cast<int>(-2.9), -2);
  EXPECT_EQ(checked_cast<unsigned>(-0.9), 0U);
  EXPECT_FALSE(checked_cast<unsigned>(-1.0));
  EXPECT_EQ(checked_cast<int>(2147483647.5), 2147483647);
}

TEST(Numeric, RoundsHalvesAwayFromZero) {
  EXPECT_EQ(saturating_round<int>(2.5), 3);
  EXPECT_EQ(saturating_round<int>(-2.5), -3);
  EXPECT_EQ(saturating_round<unsigned>(-7.0), 0U);
  EXPECT_EQ(saturating_round<std::uint64_t>(1e30), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace shunt
