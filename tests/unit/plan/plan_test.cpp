// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "plan/sorted_experts.hpp"

namespace shunt::plan {
namespace {

struct Case {
  int world, per_node, experts, topk, chunk;
  std::int64_t tokens;
  double dropped;
};

std::vector<std::int32_t> random_ids(const Case& c, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(c.tokens) * c.topk);
  for (auto& id : ids) {
    id = random.uniform() < c.dropped ? -1 : static_cast<std::int32_t>(random.below(c.experts));
  }
  return ids;
}

/// The definition, spelled out with sets: what make_plan must agree with.
void expect_matches_definition(const Case& c, int rank, const std::vector<std::int32_t>& ids) {
  SCOPED_TRACE("world " + std::to_string(c.world) + " rank " + std::to_string(rank) + " tokens " +
               std::to_string(c.tokens) + " topk " + std::to_string(c.topk));
  const auto shape = cluster::Shape::create(c.world, c.per_node).value();
  const auto made =
      make_plan({c.tokens, c.topk, ids.data(), nullptr}, shape, rank, {c.experts, c.chunk});
  ASSERT_TRUE(made) << made.error().message;
  const Plan& plan = *made;
  const int own = shape.node_of(rank);
  std::vector<int> rows(static_cast<std::size_t>(c.world), 0);
  std::map<int, std::vector<int>> sent;  // node → tokens
  std::map<std::pair<int, int>, std::vector<int>> prefix;
  std::vector<int> own_tokens;
  for (int t = 0; t < c.tokens; ++t) {
    std::set<int> ranks;
    for (int k = 0; k < c.topk; ++k) {
      const int id = ids[static_cast<std::size_t>(t * c.topk + k)];
      if (id >= 0) ranks.insert(id / (c.experts / c.world));
    }
    std::set<int> nodes;
    for (int r : ranks) nodes.insert(shape.node_of(r));
    std::size_t at = static_cast<std::size_t>(plan.copies_begin[t]);
    for (int node : nodes) {
      const int record =
          node == own ? static_cast<int>(own_tokens.size()) : static_cast<int>(sent[node].size());
      ASSERT_LT(at, plan.copies.size());
      EXPECT_EQ(plan.copies[at], (NodeCopy{node, record}));
      ++at;
      if (node != own && record % c.chunk == 0) {
        for (int l = 0; l < c.per_node; ++l) {
          prefix[{node, record / c.chunk}].push_back(rows[shape.rank_of(node, l)]);
        }
      }
      std::size_t slot = 0;
      for (int r : ranks) {
        if (shape.node_of(r) != node) continue;
        if (node == own) {
          EXPECT_EQ(plan.own_rows[own_tokens.size() * plan.fanout + slot++],
                    (RowRef{shape.local_of(r), rows[r]}));
        }
        ++rows[r];
      }
      for (; node == own && slot < static_cast<std::size_t>(plan.fanout); ++slot) {
        EXPECT_EQ(plan.own_rows[own_tokens.size() * plan.fanout + slot], RowRef{});
      }
      if (node == own)
        own_tokens.push_back(t);
      else
        sent[node].push_back(t);
    }
    EXPECT_EQ(static_cast<std::int64_t>(at), plan.copies_begin[t + 1]);
  }
  EXPECT_EQ(plan.rows_to_rank, rows);
  EXPECT_EQ(plan.own_tokens, own_tokens);
  for (int p = 0; p < shape.nodes - 1; ++p) {
    const int node = shape.peer_node(own, p);
    const std::vector<int> tokens(plan.send_tokens.begin() + plan.send_begin[p],
                                  plan.send_tokens.begin() + plan.send_begin[p + 1]);
    EXPECT_EQ(tokens, sent[node]);
    for (std::int64_t chunk = 0; chunk < plan.chunks(p); ++chunk) {
      const auto first = plan.chunk_prefix.begin() + (plan.chunk_begin[p] + chunk) * c.per_node;
      EXPECT_EQ((std::vector<int>(first, first + c.per_node)),
                (prefix[{node, static_cast<int>(chunk)}]));
    }
  }
}

TEST(Plan, MatchesTheDefinitionOnRandomCases) {
  const Case cases[] = {{1, 1, 4, 2, 64, 10, 0},
                        {4, 4, 8, 3, 64, 65, 0.2},
                        {2, 1, 8, 8, 1, 33, 0},
                        {4, 2, 16, 4, 8, 100, 0.5},
                        {8, 4, 16, 8, 64, 200, 0},
                        {9, 3, 27, 5, 7, 63, 0.1},
                        {8, 1, 16, 16, 3, 64, 0.9},
                        {6, 2, 6, 1, 64, 0, 0},
                        {6, 2, 6, 1, 2, 1, 0},
                        {16, 8, 64, 6, 10, 90, 1},
                        {12, 4, 24, 24, 5, 40, 0.3}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    for (int rank = 0; rank < c.world; ++rank) {
      expect_matches_definition(c, rank, random_ids(c, ++seed));
    }
  }
}

TEST(Plan, MatchesTheDefinitionForManyNodesAndLargeOnes) {
  const Case cases[] = {{64, 1, 64, 8, 4, 150, 0},    // As many nodes as a word has bits,
                        {65, 1, 65, 8, 4, 150, 0.1},  // one more,
                        {66, 1, 66, 1, 4, 70, 0.1},   //
                        {128, 1, 256, 8, 3, 200, 0},  // and many more.
                        {195, 3, 195, 33, 2, 130, 0.3},
                        {217, 1, 32767, 11, 5, 90, 0.1},  // The most experts that 16 bits hold,
                        {130, 2, 39000, 9, 5, 90, 0.1},   // and more.
                        {128, 64, 128, 30, 5, 90, 0},     // Words for the ranks of a node.
                        {130, 65, 130, 30, 5, 90, 0.2},
                        {400, 200, 400, 90, 2147483647, 40, 0}};
  std::uint64_t seed = 77;
  for (const Case& c : cases) {
    for (const int rank : {0, c.world / 2, c.world - 1}) {
      expect_matches_definition(c, rank, random_ids(c, ++seed));
    }
  }
}

TEST(SortedExperts, AscendForAnyNumber) {
  Random random(9);
  constexpr int kNone = 1000;
  for (int topk = 1; topk <= 70; ++topk) {
    SortedExperts<std::int16_t> sorted(topk, kNone);
    constexpr int kTokens = SortedExperts<std::int16_t>::kTokens;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(kTokens * topk));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(kNone + 1)) - 1;
    sorted.load(ids.data(), kTokens);
    for (int t = 0; t < kTokens; ++t) {
      std::vector<std::int32_t> want(ids.begin() + t * topk, ids.begin() + (t + 1) * topk);
      std::ranges::replace(want, -1, kNone);
      std::ranges::sort(want);
      for (int k = 0; k < topk; ++k) {
        ASSERT_EQ(sorted.of(t)[k * kTokens], want[static_cast<std::size_t>(k)]) << topk;
      }
    }
  }
}

TEST(Plan, InTheMemoryOfAnotherIsTheSame) {
  const auto shape = cluster::Shape::create(8, 2).value();
  const Case large{8, 2, 16, 8, 4, 300, 0};
  const Case small{8, 2, 16, 3, 7, 20, 0.4};
  Plan used;
  for (const Case& c : {large, small, large}) {
    const auto ids = random_ids(c, 5);
    const routing::RoutingView view{c.tokens, c.topk, ids.data(), nullptr};
    const PlanOptions options{c.experts, c.chunk};
    const Plan fresh = make_plan(view, shape, 3, options).value();
    used = make_plan(view, shape, 3, options, std::move(used)).value();
    EXPECT_EQ(used, fresh);
  }
}

TEST(Plan, AnIdOutOfRangeIsNamed) {
  const auto shape = cluster::Shape::create(2, 1).value();
  const std::vector<std::int32_t> ids{0, 1, 2, 8};
  const auto made = make_plan({2, 2, ids.data(), nullptr}, shape, 0, {8, 64});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "expert id 8 (token 1, slot 1) is not allowed; -1 for none, or 0 to 7");
  const std::vector<std::int32_t> negative{-2};
  EXPECT_FALSE(make_plan({1, 1, negative.data(), nullptr}, shape, 0, {8, 64}));
}

TEST(Plan, OptionsThatCannotWorkAreRefused) {
  const auto shape = cluster::Shape::create(4, 2).value();
  EXPECT_FALSE(make_plan({0, 1, nullptr, nullptr}, shape, 0, {6, 64}));
  EXPECT_FALSE(make_plan({0, 1, nullptr, nullptr}, shape, 0, {8, 0}));
  EXPECT_FALSE(make_plan({0, 0, nullptr, nullptr}, shape, 0, {8, 64}));
  EXPECT_FALSE(make_plan({std::int64_t{1} << 31, 1, nullptr, nullptr}, shape, 0, {8, 64}));
}

}  // namespace
}  // namespace shunt::plan
