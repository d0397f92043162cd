// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/faulty_fabric.hpp"

namespace shunt::fabric {
namespace {

using ::testing::HasSubstr;

TEST(ParseFaults, ReadsEveryField) {
  const auto options = parse_faults(
      "seed=99,hold_puts=1,hold_arrivals=2,hold_completions=3,storm_posts=4,duplicate_arrival=0."
      "125,"
      "duplicate_completion=0.25,lose_arrival=0.5,fail_put=0.75,refuse_post=1");
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->seed, 99U);
  EXPECT_EQ(options->hold_puts, 1U);
  EXPECT_EQ(options->hold_arrivals, 2U);
  EXPECT_EQ(options->hold_completions, 3U);
  EXPECT_EQ(options->storm_posts, 4U);
  EXPECT_EQ(options->duplicate_arrival, 0.125);
  EXPECT_EQ(options->duplicate_completion, 0.25);
  EXPECT_EQ(options->lose_arrival, 0.5);
  EXPECT_EQ(options->fail_put, 0.75);
  EXPECT_EQ(options->refuse_post, 1.0);
}

TEST(ParseFaults, NothingMeansNoFaults) {
  const auto options = parse_faults("");
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->hold_puts, 0U);
  EXPECT_EQ(options->lose_arrival, 0.0);
}

TEST(ParseFaults, NamesTheValueItRefuses) {
  struct Case {
    const char* text;
    const char* words;
  };
  for (const Case& c : {Case{"drop=1", "'drop' is unknown"},
                        Case{"lose_arrival=1.5", "lose_arrival is 1.5"},
                        Case{"lose_arrival=nan", "lose_arrival is nan"},
                        Case{"hold_puts=-1", "hold_puts cannot be '-1'"},
                        Case{"hold_puts=8x", "hold_puts cannot be '8x'"},
                        Case{"hold_puts", "hold_puts cannot be ''"},
                        Case{"seed=1,,seed=2", "'' is unknown"}}) {
    const auto options = parse_faults(c.text);
    ASSERT_FALSE(options.has_value()) << c.text;
    EXPECT_THAT(options.error().message, HasSubstr(c.words));
  }
}

}  // namespace
}  // namespace shunt::fabric
