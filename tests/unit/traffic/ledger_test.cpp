// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "traffic/ledger.hpp"

#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "routing/generate.hpp"

namespace shunt::traffic {
namespace {

using cluster::Shape;
using routing::RoutingSpec;

/// The definitions of docs/ledger.md, read aloud with sets.
Ledger reference(const routing::Routing& r,
                 const Shape& shape,
                 const RecordLayout& layout,
                 int source) {
  const int per_rank = r.experts / shape.world;
  Ledger l;
  std::map<int, std::uint64_t> records;
  for (std::int64_t t = 0; t < r.tokens; ++t) {
    std::set<int> ranks;
    std::set<int> nodes;
    for (int k = 0; k < r.topk; ++k) {
      const int id = r.ids[static_cast<std::size_t>(t * r.topk + k)];
      if (id < 0) continue;
      ++l.selections;
      ranks.insert(id / per_rank);
      nodes.insert(id / per_rank / shape.ranks_per_node);
    }
    l.tokens += 1;
    l.rank_copies += ranks.size();
    l.node_copies += nodes.size();
    nodes.erase(source / shape.ranks_per_node);
    l.remote_copies += nodes.size();
    for (const int node : nodes) ++records[node];
  }
  for (const auto& entry : records) {
    for (std::uint64_t left = entry.second; left > 0;) {
      const std::uint64_t n =
          std::min<std::uint64_t>(left, static_cast<std::uint64_t>(layout.chunk_tokens));
      ++l.chunks;
      l.framing_bytes += layout.chunk_bytes(n) - n * layout.record_bytes();
      left -= n;
    }
  }
  const auto remote_nodes = static_cast<std::uint64_t>(shape.nodes - 1);
  l.payload_bytes = l.remote_copies * layout.hidden_bytes;
  l.record_bytes = l.remote_copies * layout.record_bytes();
  l.all_to_all_nodes_bytes = l.tokens * layout.record_bytes() * remote_nodes;
  l.count_bytes = remote_nodes * (64 + 4 * static_cast<std::uint64_t>(shape.ranks_per_node));
  l.combine_payload_bytes = l.payload_bytes;
  return l;
}

TEST(Ledger, EqualsBruteForceOnRandomSmallWorlds) {
  Random random(99);
  const char* const patterns[] = {
      "uniform", "uniform,drop=0.4", "zipf:1.5", "all-to-one", "hot:0.8", "uniform,drop=1"};
  for (int round = 0; round < 600; ++round) {
    const int per_node = 1 + static_cast<int>(random.below(4));
    const int nodes = 1 + static_cast<int>(random.below(4));
    const Shape shape = Shape::create(per_node * nodes, per_node).value();
    const int experts = shape.world * (1 + static_cast<int>(random.below(4)));
    const int topk =
        1 + static_cast<int>(random.below(static_cast<std::uint64_t>(std::min(experts, 8))));
    const int source = static_cast<int>(random.below(static_cast<std::uint64_t>(shape.world)));
    auto spec = RoutingSpec::parse(patterns[random.below(std::size(patterns))]).value();
    if (topk == experts) spec.hot_fraction = 1.0;
    const auto routing = routing::generate(
        spec, static_cast<std::int64_t>(random.below(70)), topk, experts, random.next(), source);
    ASSERT_TRUE(routing) << routing.error().message;
    const RecordLayout layout{.hidden_bytes = 16 * (1 + random.below(4)),
                              .topk = topk,
                              .chunk_tokens = 1 + static_cast<int>(random.below(20)),
                              .ranks_per_node = per_node};
    const auto got = ledger(routing->view(), shape, experts, layout, source);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(*got, reference(*routing, shape, layout, source)) << "round " << round;
  }
}

// The worked example of docs/ledger.md, number for number.
TEST(Ledger, WorkedExample) {
  const Shape shape = Shape::create(4, 2).value();
  const std::vector<std::int32_t> ids = {
      0,
      1,
      2,  // token 0: ranks 0 0 1
      4,
      5,
      0,  // token 1: ranks 2 2 0
      6,
      -1,
      4,  // token 2: ranks 3 – 2
      -1,
      -1,
      -1  // token 3: nowhere
  };
  const routing::RoutingView view{4, 3, ids.data(), nullptr};
  const RecordLayout layout{.hidden_bytes = 32, .topk = 3, .chunk_tokens = 64, .ranks_per_node = 2};
  const Ledger l = ledger(view, shape, 8, layout, 0).value();
  EXPECT_EQ(l.tokens, 4U);
  EXPECT_EQ(l.selections, 8U);
  EXPECT_EQ(l.rank_copies, 6U);
  EXPECT_EQ(l.node_copies, 4U);
  EXPECT_EQ(l.remote_copies, 2U);
  EXPECT_EQ(l.payload_bytes, 64U);
  EXPECT_EQ(l.record_bytes, 120U);
  EXPECT_EQ(l.framing_bytes, 104U);
  EXPECT_EQ(l.all_to_all_nodes_bytes, 240U);
  EXPECT_EQ(l.chunks, 1U);
  EXPECT_EQ(l.count_bytes, 72U);
  EXPECT_EQ(l.combine_payload_bytes, 64U);
  EXPECT_EQ(ledger(view, shape, 8, layout, 0, 16)->combine_payload_bytes, 32U);
}

TEST(Ledger, SumsFieldByField) {
  const Ledger one{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Ledger two{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24};
  EXPECT_EQ(one + one, two);
}

TEST(Ledger, WhatDoesNotFitIsRefused) {
  const Shape shape = Shape::create(4, 2).value();
  const std::vector<std::int32_t> ids = {0, 8};
  const routing::RoutingView view{1, 2, ids.data(), nullptr};
  const RecordLayout layout{.hidden_bytes = 16, .topk = 2, .chunk_tokens = 1, .ranks_per_node = 2};
  const auto says = [](const Result<Ledger>& got, const char* text) {
    return !got && got.error().message.find(text) != std::string::npos;
  };
  EXPECT_TRUE(says(ledger(view, shape, 8, layout, 0), "token 0, slot 1: expert 8"));
  EXPECT_TRUE(says(ledger(view, shape, 9, layout, 0), "9 experts do not divide over 4 ranks"));
  EXPECT_TRUE(says(ledger(view, shape, 12, layout, 4), "source rank 4"));
  RecordLayout other = layout;
  other.topk = 3;
  EXPECT_TRUE(says(ledger(view, shape, 12, other, 0), "layout is for top-3"));
  other = layout;
  other.chunk_tokens = 0;
  EXPECT_TRUE(says(ledger(view, shape, 12, other, 0), "chunk of 0 tokens"));
}

}  // namespace
}  // namespace shunt::traffic
