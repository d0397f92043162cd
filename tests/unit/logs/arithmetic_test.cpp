// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/arithmetic.hpp"

#include <gtest/gtest.h>

namespace shunt::logs {
namespace {

TEST(Arithmetic, TheKnownShape) {
  const Copies copies = uniform_copies(128, 8, 2, 8);
  EXPECT_NEAR(copies.node / copies.rank, 0.302, 0.001);
  EXPECT_NEAR(copies.node * 4096 * 14336 / 1e6, 117.1, 0.1);
  EXPECT_NEAR(copies.rank * 4096 * 14336 / 1e6, 387, 0.5);
}

TEST(Arithmetic, GroupLimitedRoutingTouchesFewerNodes) {
  const Copies grouped = grouped_copies(256, 8, 8, 8, 4);
  EXPECT_NEAR(grouped.node, 3.983, 0.0005);
  EXPECT_NEAR(grouped.node / grouped.rank, 0.533, 0.0015);
  EXPECT_NEAR(uniform_copies(256, 8, 8, 8).node, 5.295, 0.01);
  EXPECT_DOUBLE_EQ(grouped_copies(256, 8, 4, 8, 4).node, uniform_copies(256, 8, 4, 8).node);
  // What does not divide, and what no router does, is counted as uniform.
  EXPECT_DOUBLE_EQ(grouped_copies(250, 8, 8, 8, 4).node, uniform_copies(250, 8, 8, 8).node);
  EXPECT_DOUBLE_EQ(grouped_copies(4096, 2000, 8, 8, 4).node, uniform_copies(4096, 2000, 8, 8).node);
}

TEST(Arithmetic, RatioNamesTheNodes) {
  RatioQuery query;
  query.ratio = 0.3057;
  ASSERT_FALSE(fit_ratio(query).empty());
  EXPECT_EQ(fit_ratio(query).front().nodes, 2);
  query.ratio = 0.4958;
  EXPECT_EQ(fit_ratio(query).front().nodes, 4);
  query.ratio = 0.1;
  EXPECT_TRUE(fit_ratio(query).empty());
  query.ratio = 0.3057;
  query.nodes = 4;
  EXPECT_TRUE(fit_ratio(query).empty());
}

TEST(Arithmetic, RowsAndMessages) {
  EXPECT_DOUBLE_EQ(low_latency_message(7168), 7408);
  EXPECT_DOUBLE_EQ(bf16_row(7168), 14336);
  EXPECT_DOUBLE_EQ(fp8_row(7168) / bf16_row(7168), kFp8Share);
  EXPECT_DOUBLE_EQ(remote_share(4), 0.75);
  EXPECT_DOUBLE_EQ(remote_share(1), 0);
}

TEST(Arithmetic, RanksFromBusRatio) {
  EXPECT_EQ(ranks_from_bus_ratio(1.875, true), 16);
  EXPECT_EQ(ranks_from_bus_ratio(63.0 / 64.0, false), 64);
  EXPECT_FALSE(ranks_from_bus_ratio(2.0, true));
  EXPECT_FALSE(ranks_from_bus_ratio(0, false));
}

}  // namespace
}  // namespace shunt::logs
