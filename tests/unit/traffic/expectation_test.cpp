// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "traffic/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "routing/generate.hpp"
#include "traffic/ledger.hpp"

namespace shunt::traffic {
namespace {

using cluster::Shape;
using routing::RoutingSpec;

constexpr std::uint64_t kRow = 14336;  // bf16, hidden 7168

/// Mean copies per token of generated routings, over all source ranks.
struct Means {
  double rank_copies = 0.0;
  double node_copies = 0.0;
  double remote_copies = 0.0;
};

Means measure(const char* text, const Shape& shape, int experts, int topk, std::int64_t tokens) {
  const RoutingSpec spec = RoutingSpec::parse(text).value();
  const RecordLayout layout{.hidden_bytes = kRow,
                            .topk = topk,
                            .chunk_tokens = 64,
                            .ranks_per_node = shape.ranks_per_node};
  Ledger sum;
  for (int rank = 0; rank < shape.world; ++rank) {
    const auto routing = routing::generate(spec, tokens, topk, experts, 17, rank);
    sum += ledger(routing->view(), shape, experts, layout, rank).value();
  }
  const auto n = static_cast<double>(sum.tokens);
  return {static_cast<double>(sum.rank_copies) / n,
          static_cast<double>(sum.node_copies) / n,
          static_cast<double>(sum.remote_copies) / n};
}

/// ln C(n, k); −infinity where k < 0 or k > n.
double log_choose(int n, int k) {
  if (k < 0 || k > n) return -std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (int i = 1; i <= k; ++i) sum += std::log(static_cast<double>(n - k + i) / i);
  return sum;
}

/// E[min(limit, D)], D = distinct groups among topk of groups · size experts, by inclusion and
/// exclusion: what group-limited routing hits when the groups are the domains.
double capped_occupancy(int groups, int size, int topk, int limit) {
  double expected = 0.0;
  for (int d = 1; d <= groups; ++d) {
    double ways = 0.0;
    for (int j = 0; j <= d; ++j) {
      const double term = std::exp(log_choose(d, j) + log_choose((d - j) * size, topk));
      ways += j % 2 == 0 ? term : -term;
    }
    const double p = ways * std::exp(log_choose(groups, d) - log_choose(groups * size, topk));
    expected += p * std::min(d, limit);
  }
  return expected;
}

// Beside the closed form for whole shapes: shapes from logs that do not divide, and their ends.
TEST(Expectation, ShapesThatNeedNotDivide) {
  EXPECT_DOUBLE_EQ(average_copies(2, 128, 8), expected_copies(2, 128, 8).value());
  const double three = average_copies(3, 64, 8);  // 21.3 experts a domain
  EXPECT_GT(three, average_copies(2, 64, 8));
  EXPECT_LT(three, average_copies(4, 64, 8));
  EXPECT_DOUBLE_EQ(average_copies(4, 8, 8), 4.0);
  EXPECT_DOUBLE_EQ(average_copies(4, 8, 1e9), 4.0);
  EXPECT_DOUBLE_EQ(average_copies(4, 0, 8), 0.0);
  EXPECT_DOUBLE_EQ(average_copies(4, 8, 0), 0.0);
}

// 128 experts, top-8, 16 ranks, 2 nodes, 4096 tokens, hidden 7168, bf16.
TEST(Expectation, TheFiguresOfATwoNodeRun) {
  const double node = expected_copies(2, 128, 8).value();
  const double remote = expected_remote_copies(2, 128, 8).value();
  const double rank = expected_copies(16, 128, 8).value();
  EXPECT_NEAR(node * 4096 * kRow / 1e6, 117.1, 0.05);
  EXPECT_NEAR(remote * 4096 * kRow / 1e6, 58.5, 0.05);
  EXPECT_NEAR(rank * 4096 * kRow / 1e6, 387, 0.5);
  EXPECT_NEAR(node / rank, 0.302, 0.0005);

  const Means got = measure("uniform", Shape::create(16, 8).value(), 128, 8, 4096);
  EXPECT_NEAR(got.node_copies, node, node * 2e-3);
  EXPECT_NEAR(got.remote_copies, remote, remote * 2e-3);
  EXPECT_NEAR(got.rank_copies, rank, rank * 2e-3);
}

// 8 nodes of 8 ranks, top-8 of 256: ungrouped, and from the best 4 of 8 groups.
TEST(Expectation, TheFiguresOfAnEightNodeRun) {
  const double node = expected_copies(8, 256, 8).value();
  const double rank = expected_copies(64, 256, 8).value();
  EXPECT_NEAR(node, 5.295, 0.0005);
  EXPECT_NEAR(node / rank, 0.690, 0.0015);
  const GroupLimit limit{8, 4};
  const double grouped_node = expected_copies(8, 256, 8, limit).value();
  const double grouped_rank = expected_copies(64, 256, 8, limit).value();
  EXPECT_NEAR(grouped_node, 3.985, 0.0025);
  EXPECT_NEAR(grouped_node, capped_occupancy(8, 32, 8, 4), 1e-9);
  EXPECT_NEAR(grouped_node / grouped_rank, 0.533, 0.0015);

  const Means got = measure("group:8/4", Shape::create(64, 8).value(), 256, 8, 500);
  EXPECT_NEAR(got.node_copies, grouped_node, 0.01);
  EXPECT_NEAR(got.rank_copies, grouped_rank, 0.03);
}

TEST(Expectation, GroupsMayBeFinerOrCoarserThanDomains) {
  // 4 nodes of 2 ranks, 64 experts, top-6; 16 groups (4 a node), 2 groups (2 nodes each).
  const Shape shape = Shape::create(8, 2).value();
  for (const GroupLimit limit :
       {GroupLimit{16, 3}, GroupLimit{2, 1}, GroupLimit{4, 2}, GroupLimit{8, 8}}) {
    const std::string text =
        "group:" + std::to_string(limit.groups) + "/" + std::to_string(limit.top_groups);
    const Means got = measure(text.c_str(), shape, 64, 6, 3000);
    EXPECT_NEAR(got.node_copies, expected_copies(4, 64, 6, limit).value(), 0.02) << text;
    EXPECT_NEAR(got.rank_copies, expected_copies(8, 64, 6, limit).value(), 0.03) << text;
  }
}

TEST(Expectation, NoLimitIsTheUniformFormula) {
  for (const int domains : {1, 2, 4, 8, 64}) {
    for (const int topk : {1, 5, 16}) {
      const double uniform = expected_copies(domains, 64, topk).value();
      EXPECT_NEAR(expected_copies(domains, 64, topk, GroupLimit{8, 8}).value(), uniform, 1e-9);
      EXPECT_NEAR(expected_copies(domains, 64, topk, GroupLimit{1, 1}).value(), uniform, 1e-9);
    }
  }
}

TEST(Expectation, SmallCasesByCounting) {
  EXPECT_NEAR(expected_copies(2, 4, 2).value(), 2.0 * (1.0 - 1.0 / 6.0), 1e-12);
  EXPECT_NEAR(expected_copies(4, 4, 4).value(), 4.0, 1e-12);
  EXPECT_NEAR(expected_copies(1, 7, 3).value(), 1.0, 1e-12);
}

TEST(Expectation, WhatCannotBeIsRefused) {
  EXPECT_FALSE(expected_copies(3, 64, 8));
  EXPECT_FALSE(expected_copies(0, 64, 8));
  EXPECT_FALSE(expected_copies(2, 64, 65));
  EXPECT_FALSE(expected_copies(2, 64, 0));
  EXPECT_FALSE(expected_copies(2, 64, 8, GroupLimit{5, 1}));
  EXPECT_FALSE(expected_copies(2, 64, 8, GroupLimit{8, 9}));
  EXPECT_FALSE(expected_copies(2, 64, 9, GroupLimit{8, 1}));
  EXPECT_FALSE(expected_copies(12, 48, 2, GroupLimit{8, 1}));
}

}  // namespace
}  // namespace shunt::traffic
