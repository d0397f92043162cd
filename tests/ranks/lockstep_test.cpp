// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Dispatch and combine with blocks of several warps of several lanes: the text that a GPU runs.
#include <gtest/gtest.h>

#include "support/lockstep_exec.hpp"
#include "support/mock_world.hpp"
#include "support/world_sweep.hpp"

namespace shunt {
namespace {

using testing::expect_every_element_right;
using testing::Rules;
using testing::run_replays;
using testing::run_rounds;
using testing::run_world;
using testing::Sweep;
using testing::two_by_two;
using testing::WorldCase;

Rules in_lockstep(int warps, int lanes) {
  Rules rules;
  rules.hook = [=](int, engine::BufferHooks& hooks) {
    testing::run_in_lockstep(hooks, warps, lanes);
  };
  return rules;
}

struct Shape {
  int nodes, ranks_per_node, warps, lanes;
};
class Lockstep : public ::testing::TestWithParam<Shape> {};

TEST_P(Lockstep, EveryElementIsRight) {
  const Shape shape = GetParam();
  Sweep sweep{shape.nodes, shape.ranks_per_node};
  sweep.experts_per_rank = 2;
  sweep.hidden = 40;
  sweep.topk = {1, 5};
  sweep.tokens = {{0}, {9, 16, 17}, {21, 0, 1, 8}};
  expect_every_element_right(sweep, [shape](std::uint64_t seed) {
    Rules rules = in_lockstep(shape.warps, shape.lanes);
    rules.in_window = seed % 2 == 0;
    rules.tune = [seed](BufferOptions& o) {
      o.chunk_tokens = static_cast<int>(2 + seed % 5);
      o.credits = static_cast<int>(1 + seed % 3);
      o.blocks = static_cast<int>(1 + seed % 3);
    };
    return rules;
  });
}

INSTANTIATE_TEST_SUITE_P(All,
                         Lockstep,
                         ::testing::Values(Shape{1, 3, 2, 2},
                                           Shape{2, 1, 2, 3},
                                           Shape{2, 2, 2, 2},
                                           Shape{3, 1, 1, 4},
                                           Shape{2, 3, 3, 1}),
                         [](const auto& tested) {
                           const Shape& s = tested.param;
                           return std::to_string(s.nodes) + "x" + std::to_string(s.ranks_per_node) +
                                  "ranks" + std::to_string(s.warps) + "x" +
                                  std::to_string(s.lanes) + "lanes";
                         });

TEST(LockstepBlocks, RowsThatComeAhead) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Sweep sweep{1, 3};
    sweep.experts_per_rank = 2;
    sweep.hidden = 40;
    sweep.topk = {2, 5};
    sweep.tokens = {{0}, {9, 16, 17}, {21, 0, 1, 8}};
    expect_every_element_right(sweep, [seed](std::uint64_t) {
      Rules rules = in_lockstep(seed % 2 == 0 ? 3 : 2, 2);
      rules.rounds = 3;
      rules.hook = [inner = rules.hook, seed](int rank, engine::BufferHooks& hooks) {
        inner(rank, hooks);
        hooks.ahead = seed <= 2 ? memory::AheadRows{.rows = 100}
                                : memory::AheadRows{.rows = 3, .step_log2 = 1};
      };
      // More blocks than rows, and fewer.
      rules.tune = [seed](BufferOptions& o) { o.blocks = static_cast<int>(seed); };
      return rules;
    });
  }
}

TEST(LockstepBlocks, SeveralPerRoleUnderFaults) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const WorldCase c = two_by_two(30, seed);
    Rules rules = in_lockstep(2, 2);
    rules.rounds = 3;
    rules.faulty = true;
    rules.faults.seed = seed * 100;
    rules.faults.hold_puts = 6;
    rules.faults.hold_arrivals = seed % 2 == 0 ? 9 : 0;
    rules.faults.hold_completions = 5;
    rules.faults.duplicate_arrival = 0.3;
    rules.faults.refuse_post = 0.3;
    rules.tune = [&](BufferOptions& o) {
      o.chunk_tokens = 4;
      o.credits = static_cast<int>(1 + seed % 3);
      o.rdma_blocks = 2;
      o.blocks = 3;  // Shares of a done line that are not all alike.
    };
    const Status status = run_rounds(c, rules);
    ASSERT_TRUE(status) << status.error().to_string() << " seed " << seed;
  }
}

TEST(LockstepBlocks, AHandleReplays) {
  const WorldCase c = two_by_two(25, 23);
  Rules rules = in_lockstep(2, 2);
  rules.tune = [](BufferOptions& o) { o.chunk_tokens = 6; };
  const Status status = run_replays(c, rules, 3);
  ASSERT_TRUE(status) << status.error().to_string();
}

TEST(LockstepBlocks, ALostArrivalEndsAllLanes) {
  const WorldCase c = two_by_two(20, 3);
  Rules rules = in_lockstep(2, 2);
  rules.faulty = true;
  rules.faults.lose_arrival = 1.0;
  rules.tune = [](BufferOptions& o) { o.deadline_ns = 300'000'000; };
  const Status status = run_rounds(c, rules);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("row counts from rank"), std::string::npos)
      << status.error().message;
}

}  // namespace
}  // namespace shunt
