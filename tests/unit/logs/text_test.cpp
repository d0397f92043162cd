// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/text.hpp"

#include <gtest/gtest.h>

namespace shunt::logs {
namespace {

TEST(Text, NumbersKeepTheirPrintedPlaces) {
  const auto number = number_at("  ~25.80 GB/s", 0);
  ASSERT_TRUE(number);
  EXPECT_DOUBLE_EQ(number->value, 25.80);
  EXPECT_EQ(number->decimals, 2);
  EXPECT_DOUBLE_EQ(number->half_ulp(), 0.005);
}

TEST(Text, ThousandsSeparatorsOnlyWhereTheyGroupByThree) {
  EXPECT_DOUBLE_EQ(number_at("1,234,567 B", 0)->value, 1234567);
  EXPECT_DOUBLE_EQ(number_at("12,34", 0)->value, 12);
  EXPECT_DOUBLE_EQ(number_at("1,2345", 0)->value, 1);
}

TEST(Text, ExponentsAndWordsAfterNumbers) {
  EXPECT_DOUBLE_EQ(number_at("2e-06", 0)->value, 2e-6);
  EXPECT_DOUBLE_EQ(number_at("3em", 0)->value, 3);
  EXPECT_FALSE(number_at("abc", 0));
  EXPECT_FALSE(number_at("", 0));
}

TEST(Text, ACutNumberHasNoUnitAndIsNotReturned) {
  EXPECT_DOUBLE_EQ(number_after("avg_t=336.4 us", "avg_t=", "us")->value, 336.4);
  EXPECT_FALSE(number_after("avg_t=336.4", "avg_t=", "us"));
}

TEST(Text, NumberBeforeUnitSeesThroughEmphasis) {
  EXPECT_DOUBLE_EQ(number_before("x: **29.92** GB/s (RDMA)", "GB/s (RDMA)")->value, 29.92);
  EXPECT_FALSE(number_before("x: GB/s (RDMA)", "GB/s (RDMA)"));
}

TEST(Text, AllNumbersSkipsDigitsInWords) {
  const auto numbers = all_numbers("mlx5_0 rank 3 took 4.5 us -2");
  ASSERT_EQ(numbers.size(), 3U);
  EXPECT_DOUBLE_EQ(numbers[0].value, 3);
  EXPECT_DOUBLE_EQ(numbers[1].value, 4.5);
  EXPECT_DOUBLE_EQ(numbers[2].value, -2);
}

TEST(Text, WordsMatchOnlyWhole) {
  EXPECT_NE(find_word_ci("on H100 nodes", "h100"), std::string_view::npos);
  EXPECT_EQ(find_word_ci("GH100x", "h100"), std::string_view::npos);
}

TEST(Text, UnitsOfTimeAndSize) {
  EXPECT_DOUBLE_EQ(*time_unit_us("\xC2\xB5s"), 1.0);
  EXPECT_DOUBLE_EQ(*time_unit_us("ms"), 1e3);
  EXPECT_FALSE(time_unit_us("GB"));
  EXPECT_DOUBLE_EQ(*size_unit("MiB"), 1048576.0);
  EXPECT_DOUBLE_EQ(*size_unit("MB"), 1e6);
  EXPECT_DOUBLE_EQ(*parse_binary_size("4K"), 4096.0);
}

}  // namespace
}  // namespace shunt::logs
