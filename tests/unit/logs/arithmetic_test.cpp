// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/arithmetic.hpp"

#include <cmath>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace shunt::logs {
namespace {

/// The obvious way: draw experts without replacement, count distinct bins.
double drawn_copies(int experts, int topk, int bins, int tokens) {
  std::uint64_t state = 99;
  const auto next = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(experts));
  };
  double total = 0;
  for (int t = 0; t < tokens; ++t) {
    std::set<int> chosen;
    while (static_cast<int>(chosen.size()) < topk) chosen.insert(next());
    std::set<int> hit;
    for (const int expert : chosen) hit.insert(expert / (experts / bins));
    total += static_cast<double>(hit.size());
  }
  return total / tokens;
}

TEST(Arithmetic, ClosedFormAgreesWithDraws) {
  for (const auto& [experts, topk, bins] : {std::tuple{128, 8, 2},
                                            std::tuple{256, 8, 4},
                                            std::tuple{64, 6, 16},
                                            std::tuple{288, 8, 8}}) {
    const double drawn = drawn_copies(experts, topk, bins, 20000);
    EXPECT_NEAR(expected_copies(experts, topk, bins) / drawn, 1, 0.01);
  }
}

TEST(Arithmetic, TheKnownShape) {
  const Copies copies = uniform_copies(128, 8, 2, 8);
  EXPECT_NEAR(copies.node / copies.rank, 0.302, 0.001);
  EXPECT_NEAR(copies.node * 4096 * 14336 / 1e6, 117.1, 0.1);
  EXPECT_NEAR(copies.rank * 4096 * 14336 / 1e6, 387, 0.5);
}

TEST(Arithmetic, MoreChoicesThanExpertsTouchEveryBin) {
  EXPECT_DOUBLE_EQ(expected_copies(8, 8, 4), 4);
  EXPECT_DOUBLE_EQ(expected_copies(0, 8, 4), 0);
}

TEST(Arithmetic, GroupLimitedRoutingTouchesFewerNodes) {
  const Copies grouped = grouped_copies(256, 8, 8, 8, 4);
  EXPECT_NEAR(grouped.node, 3.985, 0.03);
  EXPECT_NEAR(grouped.node / grouped.rank, 0.533, 0.01);
  EXPECT_NEAR(uniform_copies(256, 8, 8, 8).node, 5.295, 0.01);
  EXPECT_DOUBLE_EQ(grouped_copies(256, 8, 4, 8, 4).node, uniform_copies(256, 8, 4, 8).node);
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
