// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Dispatch and combine over the mock fabric, ranks as threads: every world shape, routing and
// fault.
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/mock_world.hpp"
#include "support/world_sweep.hpp"

namespace shunt {
namespace {

using testing::expect_every_element_right;
using testing::kDeadline_ns;
using testing::random_ids;
using testing::RankRun;
using testing::Rules;
using testing::run_replays;
using testing::run_rounds;
using testing::run_world;
using testing::Sweep;
using testing::two_by_two;
using testing::WorldCase;
using testing::yield_at_random;

struct Shape {
  int nodes, ranks_per_node;
};
class Worlds : public ::testing::TestWithParam<Shape> {};

TEST_P(Worlds, EveryElementIsRight) {
  Sweep sweep{GetParam().nodes, GetParam().ranks_per_node};
  sweep.experts_per_rank = 3;
  sweep.hidden = 24;
  sweep.topk = {1, 3, 16};
  sweep.tokens = {{0}, {63, 64, 65}, {100, 0, 1, 64}};
  expect_every_element_right(sweep, [](std::uint64_t seed) {
    Rules rules;
    rules.in_window = seed % 2 == 0;
    rules.tune = [seed](BufferOptions& o) {
      o.chunk_tokens = static_cast<int>(seed % 3 == 0 ? 64 : 1 + seed % 9);
      o.credits = static_cast<int>(1 + seed % 4);
    };
    return rules;
  });
}

INSTANTIATE_TEST_SUITE_P(All,
                         Worlds,
                         ::testing::Values(Shape{1, 1},
                                           Shape{1, 4},
                                           Shape{2, 1},
                                           Shape{2, 2},
                                           Shape{2, 4},
                                           Shape{4, 2},
                                           Shape{3, 3},
                                           Shape{8, 1}),
                         [](const auto& tested) {
                           return std::to_string(tested.param.nodes) + "x" +
                                  std::to_string(tested.param.ranks_per_node);
                         });

TEST(Types, EveryRowAndWireType) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const DType wire : {DType::kF32, DType::kBF16, DType::kF16}) {
      WorldCase c = two_by_two(70, 5);
      c.dtype = dtype;
      c.wire = wire;
      c.hidden = 1032;
      const Status status = run_rounds(c, {});
      ASSERT_TRUE(status) << status.error().to_string() << to_string(dtype) << to_string(wire);
    }
  }
}

TEST(Hidden, FromOneVectorToLong) {
  for (const std::int64_t hidden : {8, 16, 120, 2048, 8192}) {
    WorldCase c = two_by_two(9, 6);
    c.hidden = hidden;
    const Status status = run_rounds(c, {});
    ASSERT_TRUE(status) << status.error().to_string() << " hidden " << hidden;
  }
}

TEST(Skew, AllToOneAndBlocks) {
  WorldCase c = two_by_two(130, 7);
  for (auto& ids : c.ids) {
    for (auto& id : ids) id = 13;
  }
  for (const int blocks : {1, 2, 3}) {
    Rules setup;
    setup.rounds = 3;
    setup.tune = [&](BufferOptions& o) {
      o.blocks = blocks;
      o.rdma_blocks = blocks;
      o.chunk_tokens = 7;
      o.credits = 2;
      o.qps = blocks;
    };
    const Status status = run_rounds(c, setup);
    ASSERT_TRUE(status) << status.error().to_string();
  }
}

TEST(Faults, ReorderDuplicateDelayAndFullQueues) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    WorldCase c = two_by_two(90, seed);
    Rules setup;
    setup.faulty = true;
    setup.rounds = 4;
    setup.faults.seed = seed * 100;
    setup.faults.hold_puts = seed % 3 == 0 ? 0 : 6;
    setup.faults.hold_arrivals = seed % 2 == 0 ? 9 : 0;
    setup.faults.hold_completions = 5;
    setup.faults.duplicate_arrival = 0.3;
    setup.faults.duplicate_completion = 0.3;
    setup.faults.refuse_post = 0.3;
    setup.faults.storm_posts = 3;
    setup.landing = seed % 2 == 0 ? fabric::MockOptions::Landing::kAtPoll
                                  : fabric::MockOptions::Landing::kAtPost;
    setup.tune = [&](BufferOptions& o) {
      o.chunk_tokens = 5;
      o.credits = static_cast<int>(1 + seed % 3);
      o.rdma_blocks = static_cast<int>(1 + seed % 2);
    };
    const Status status = run_rounds(c, setup);
    ASSERT_TRUE(status) << status.error().to_string() << " seed " << seed;
  }
}

TEST(Faults, ALostArrivalIsATimeoutThatNamesIt) {
  const WorldCase c = two_by_two(90, 3);
  Rules setup;
  setup.faulty = true;
  setup.faults.lose_arrival = 1.0;
  setup.tune = [](BufferOptions& o) { o.deadline_ns = 300'000'000; };
  const Status status = run_rounds(c, setup);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("row counts from rank"), std::string::npos)
      << status.error().message;
}

TEST(Flight, ManyRoundsWithRandomDelaysAndNoBarrier) {
  WorldCase c = two_by_two(20, 9);
  Rules setup;
  setup.rounds = 200;
  setup.in_window = false;
  setup.tune = [](BufferOptions& o) {
    o.chunk_tokens = 3;
    o.credits = 2;
  };
  setup.hook = yield_at_random;
  const Status status = run_rounds(c, setup);
  ASSERT_TRUE(status) << status.error().to_string();
}

/// Four ranks of one node.
WorldCase one_node(std::int64_t tokens, std::uint64_t seed) {
  WorldCase c = two_by_two(tokens, seed);
  c.ranks_per_node = c.world;
  return c;
}

void half_ahead(int /*rank*/, engine::BufferHooks& hooks) {
  hooks.ahead = {.rows = 40, .step_log2 = 1};
}

TEST(Ahead, ManyRoundsWithRandomDelaysAndNoBarrier) {
  Rules setup;
  setup.rounds = 200;
  setup.hook = [](int rank, engine::BufferHooks& hooks) {
    yield_at_random(rank, hooks);
    half_ahead(rank, hooks);
  };
  setup.tune = [](BufferOptions& o) { o.blocks = 2; };
  const Status status = run_rounds(one_node(20, 9), setup);
  ASSERT_TRUE(status) << status.error().to_string();
}

TEST(Ahead, AHandleReplays) {
  Rules setup;
  setup.hook = half_ahead;
  const Status status = run_replays(one_node(77, 23), setup, 9);
  ASSERT_TRUE(status) << status.error().to_string();
}

TEST(Ahead, BetweenNodesThereAreNone) {
  Rules setup;
  setup.hook = half_ahead;
  const Status status = run_rounds(two_by_two(50, 4), setup);
  ASSERT_TRUE(status) << status.error().to_string();
}

// The circle of tests/model/combine_order_test.cpp: closed by proxies that serve one peer at a
// time.
TEST(Flight, ThreeNodesThatCouldWaitForEachOther) {
  WorldCase c;
  c.world = 3;
  c.experts = 3;
  c.ids = {{1, 2, 2, 2}, {2, 0, 0, 0}, {0, 1, 1, 1}};
  Rules setup;
  setup.rounds = 20;
  setup.tune = [](BufferOptions& o) { o.chunk_tokens = o.credits = 1; };
  for (int turned = 0; turned < 2; ++turned) {
    const Status status = run_rounds(c, setup);
    ASSERT_TRUE(status) << status.error().to_string();
    c.ids = {{2, 1, 1, 1}, {0, 2, 2, 2}, {1, 0, 0, 0}};
  }
}

TEST(Flight, TwoHandlesAtOnce) {
  const WorldCase a = two_by_two(50, 21);
  WorldCase b = two_by_two(33, 22);
  const Status status =
      run_world(a, {}, [&](engine::BufferState& state, bootstrap::World&) -> Status {
        for (int i = 0; i < 20; ++i) {
          RankRun first(state, a, true);
          RankRun second(state, b, false);
          SHUNT_TRY(first.start_dispatch(i));
          SHUNT_TRY(second.start_dispatch(i + 1));
          SHUNT_TRY(second.check_dispatch(i + 1));
          SHUNT_TRY(first.check_dispatch(i));
          first.run_experts();
          second.run_experts();
          SHUNT_TRY(first.start_combine());
          SHUNT_TRY(second.start_combine());
          const auto all = [](int, int, std::int64_t) { return true; };
          SHUNT_TRY(second.check_combine(i + 1, all));
          SHUNT_TRY(first.check_combine(i, all));
        }
        return {};
      });
  ASSERT_TRUE(status) << status.error().to_string();
}

TEST(Flight, AHandleReplays) {
  const WorldCase c = two_by_two(77, 23);
  const Status status = run_replays(c, {}, 9);
  ASSERT_TRUE(status) << status.error().to_string();
}

void expect_first_rows_alone(const WorldCase& c, const Rules& setup) {
  std::vector<std::vector<RowOrigin>> rows;
  for (int at = 0; at < c.world; ++at) rows.push_back(testing::expected_rows(c, at));
  const auto room = [&](int at) { return static_cast<std::int64_t>(rows[at].size()) / 2; };
  const Status status =
      run_world(c, setup, [&](engine::BufferState& state, bootstrap::World&) -> Status {
        RankRun run(state, c, true);
        run.capacity = room(run.rank);
        SHUNT_TRY(run.start_dispatch(0));
        SHUNT_TRY(run.check_dispatch(0));
        run.run_experts();
        SHUNT_TRY(run.start_combine());
        return run.check_combine(0, [&](int at, int source, std::int64_t token) {
          for (std::int64_t r = 0; r < room(at); ++r) {
            if (rows[at][r].rank == source && rows[at][r].token == token) return true;
          }
          return false;
        });
      });
  ASSERT_TRUE(status) << status.error().to_string();
}

TEST(Overflow, KeepsTheFirstRowsAndCombineLeavesOutTheRest) {
  expect_first_rows_alone(two_by_two(60, 24), {});
}

TEST(Overflow, RowsThatComeAheadAreLeftOutToo) {
  Rules setup;
  setup.hook = half_ahead;
  expect_first_rows_alone(one_node(60, 24), setup);
}

TEST(Contract, DifferentOptionsAreNamed) {
  const WorldCase c = two_by_two(5, 1);
  const Status status = bootstrap::run_threads(2, kDeadline_ns, [&](bootstrap::World& world) {
    BufferOptions options = testing::options_of(c);
    options.ranks_per_node = 2;
    options.hidden = world.rank() == 0 ? 64 : 128;
    auto state = engine::BufferState::create(world, options);
    return state ? Status{} : Status(Unexpected(state.error()));
  });
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("hidden is"), std::string::npos) << status.error().message;
}

TEST(Contract, DifferentRowsThatComeAheadAreNamed) {
  Rules setup;
  setup.hook = [](int rank, engine::BufferHooks& hooks) {
    hooks.ahead = {.rows = 4, .step_log2 = rank == 2 ? 1U : 0U};
  };
  const Status status = run_rounds(one_node(5, 1), setup);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("step of rows that come ahead, log2 is"), std::string::npos)
      << status.error().message;
}

TEST(Contract, DifferentOperationsAreNamed) {
  WorldCase c = two_by_two(12, 2);
  for (auto& ids : c.ids) ids.clear();  // Without tokens, a combine waits for no other node.
  const Status status =
      run_world(c, {}, [&](engine::BufferState& state, bootstrap::World&) -> Status {
        RankRun run(state, c, false);
        SHUNT_TRY(run.round(0));
        if (run.rank >= 2) {
          SHUNT_TRY(run.start_combine());
        }
        return run.round(0);
      });
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("all ranks must issue the same operations"),
            std::string::npos)
      << status.error().message;
}

/// Runs `issue` on two handles of the same routing, then one more dispatch.
Status after_two_handles(const std::function<Status(RankRun&, RankRun&)>& issue) {
  const WorldCase c = two_by_two(12, 2);
  return run_world(c, {}, [&](engine::BufferState& state, bootstrap::World&) -> Status {
    RankRun first(state, c, true);
    RankRun second(state, c, true);
    SHUNT_TRY(first.start_dispatch(0));
    SHUNT_TRY(second.start_dispatch(0));
    SHUNT_TRY(first.check_dispatch(0));
    SHUNT_TRY(second.check_dispatch(0));
    SHUNT_TRY(issue(first, second));
    RankRun last(state, c, true);
    return last.round(1);
  });
}

/// After one round of all, `issue` differs between ranks. The ranks' messages; a deadline that
/// passes would give others.
std::string after_one_round(const std::function<Status(RankRun&)>& issue) {
  const WorldCase c = two_by_two(12, 2);
  std::mutex mutex;
  std::string messages;
  const Status status =
      run_world(c, {}, [&](engine::BufferState& state, bootstrap::World&) -> Status {
        RankRun run(state, c, true);
        SHUNT_TRY(run.round(0));
        Status done = issue(run);
        const std::scoped_lock lock(mutex);
        if (!done) messages += done.error().message + '\n';
        return done;
      });
  EXPECT_FALSE(status);
  return messages;
}

constexpr auto kDispatchAnew = [](RankRun& run) { return run.round(1); };
constexpr auto kReplay = [](RankRun& run) { return run.replay_round(1); };
constexpr auto kCombine = [](RankRun& run) -> Status {
  SHUNT_TRY(run.start_combine());
  return run.round(1);
};

TEST(Contract, AReplayWhereOthersDispatchIsNamed) {
  const std::string replays = "issues a replay of a dispatch as operation 2";
  const std::string dispatches = "issues a dispatch as operation 2";
  // One rank among its node; all ranks of a node; a rank on every node.
  for (const std::set<int>& odd : {std::set<int>{3}, {2, 3}, {0, 2}}) {
    const std::string said = after_one_round(
        [&](RankRun& run) { return odd.count(run.rank) == 1 ? kReplay(run) : kDispatchAnew(run); });
    EXPECT_NE(said.find(replays), std::string::npos) << said;
    EXPECT_NE(said.find(dispatches), std::string::npos) << said;
    EXPECT_EQ(said.find("waited"), std::string::npos) << said;
  }
}

TEST(Contract, ACombineWhereANodePeerDispatchesIsNamed) {
  for (const bool reversed : {false, true}) {
    const std::string said = after_one_round([&](RankRun& run) {
      return (run.rank % 2 == 0) == reversed ? kCombine(run) : kDispatchAnew(run);
    });
    EXPECT_NE(said.find("issues a combine as operation 2"), std::string::npos) << said;
    EXPECT_NE(said.find("issues a dispatch as operation 2"), std::string::npos) << said;
    EXPECT_EQ(said.find("waited"), std::string::npos) << said;
  }
}

TEST(Contract, ACombineOfAnotherHandleIsNoticed) {
  const auto combine_both = [](RankRun& one, RankRun& other) -> Status {
    SHUNT_TRY(one.start_combine());
    return other.start_combine();
  };
  const Status alike = after_two_handles(combine_both);
  EXPECT_TRUE(alike) << alike.error().to_string();
  const Status swapped = after_two_handles([&](RankRun& first, RankRun& second) {
    return first.rank == 3 ? combine_both(second, first) : combine_both(first, second);
  });
  ASSERT_FALSE(swapped);
  EXPECT_EQ(swapped.error().code, ErrorCode::kProtocol);
  EXPECT_NE(swapped.error().message.find("on the same handles"), std::string::npos)
      << swapped.error().message;
}

TEST(Contract, WrongArgumentsAreNamed) {
  const auto refused = [](const std::function<void(BufferOptions&)>& spoil, const char* text) {
    const Status status = bootstrap::run_threads(1, kDeadline_ns, [&](bootstrap::World& world) {
      BufferOptions options{.experts = 4, .topk = 2, .hidden = 64, .max_tokens = 4};
      spoil(options);
      auto state = engine::BufferState::create(world, options);
      return state ? Status{} : Status(Unexpected(state.error()));
    });
    ASSERT_FALSE(status) << text;
    EXPECT_NE(status.error().message.find(text), std::string::npos) << status.error().message;
  };
  refused([](BufferOptions& o) { o.hidden = 7; }, "multiple of 16 bytes");
  refused([](BufferOptions& o) { o.experts = 0; }, "0 experts");
  refused([](BufferOptions& o) { o.topk = 0; }, "topk 0");
  refused([](BufferOptions& o) { o.ranks_per_node = 3; }, "1 ranks do not divide into nodes of 3");
  refused([](BufferOptions& o) { o.credits = 0; }, "credits 0");
  refused([](BufferOptions& o) { o.max_tokens = 3'000'000'000; }, "0 to 2147483647");
  // A put's size has 32 bits.
  refused(
      [](BufferOptions& o) {
        o.hidden = 7168;
        o.chunk_tokens = 300'000;
      },
      "chunk_tokens 300000 make puts of 4.0");
}

}  // namespace
}  // namespace shunt
