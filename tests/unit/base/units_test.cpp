// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <gtest/gtest.h>

namespace shunt {
namespace {

TEST(Units, RatesCarryTheirUnit) {
  EXPECT_DOUBLE_EQ(parse_rate("400Gbit").value(), 50e9);
  EXPECT_DOUBLE_EQ(parse_rate("400 Gb/s").value(), 50e9);
  EXPECT_DOUBLE_EQ(parse_rate("100G").value(), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_rate("50GB/s").value(), 50e9);
  EXPECT_DOUBLE_EQ(parse_rate("100Mbit").value(), 12.5e6);
}

TEST(Units, ABareOrWrongRateIsRefusedByName) {
  for (const char* text : {"", "400", "fast", "-1Gbit", "0Gbit", "1Xbit", "1GB/h", "nanGbit"}) {
    const auto rate = parse_rate(text);
    ASSERT_FALSE(rate) << text;
    EXPECT_EQ(rate.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(rate.error().message.find(text), std::string::npos);
  }
}

TEST(Units, ThreeSignificantDigits) {
  EXPECT_EQ(format_significant(0.1194), "0.119");
  EXPECT_EQ(format_significant(47.46), "47.5");
  EXPECT_EQ(format_significant(735.9), "736");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(58'720'256), "58.7 MB");
  EXPECT_EQ(format_ns(41'300), "41.3 µs");
  EXPECT_EQ(format_rating(50e9), "400 Gb/s = 50.0 GB/s");
  EXPECT_EQ(format_size(65536), "64 KiB");
}

}  // namespace
}  // namespace shunt
