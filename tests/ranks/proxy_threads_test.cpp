// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Several progress threads a rank, over the mock fabric: which peers each serves, that nothing else
// changes, and that a failure passes from one to the others.
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/mock_world.hpp"
#include "support/world_sweep.hpp"

namespace shunt {
namespace {

using ::testing::HasSubstr;
using testing::kDeadline_ns;
using testing::random_ids;
using testing::RankRun;
using testing::Rules;
using testing::run_rounds;
using testing::run_world;
using testing::Sweep;
using testing::WorldCase;
using testing::yield_at_random;

struct Shape {
  int nodes, ranks_per_node, threads;
};

WorldCase case_of(int nodes, int ranks_per_node, std::int64_t tokens, std::uint64_t seed) {
  WorldCase c;
  c.world = nodes * ranks_per_node;
  c.ranks_per_node = ranks_per_node;
  c.experts = 2 * c.world;
  c.topk = 4;
  c.hidden = 64;
  c.ids = random_ids(c, {tokens, tokens / 2 + 1}, 0.1, seed);
  return c;
}

class ProxyThreads : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(All,
                         ProxyThreads,
                         ::testing::Values(Shape{3, 3, 2},
                                           Shape{4, 2, 2},
                                           Shape{4, 2, 3},
                                           Shape{8, 1, 3},
                                           Shape{3, 2, 16},
                                           Shape{1, 3, 2}),
                         [](const auto& tested) {
                           const Shape& s = tested.param;
                           return std::to_string(s.nodes) + "x" + std::to_string(s.ranks_per_node) +
                                  "with" + std::to_string(s.threads);
                         });

TEST_P(ProxyThreads, EveryElementIsRight) {
  const Shape shape = GetParam();
  Sweep sweep{shape.nodes, shape.ranks_per_node};
  sweep.experts_per_rank = 3;
  sweep.hidden = 24;
  sweep.topk = {1, 5};
  sweep.tokens = {{0}, {63, 64, 65}, {100, 0, 1, 64}};
  testing::expect_every_element_right(sweep, [&](std::uint64_t seed) {
    Rules rules;
    rules.in_window = seed % 2 == 0;
    rules.tune = [&shape, seed](BufferOptions& o) {
      o.proxy_threads = shape.threads;
      o.chunk_tokens = static_cast<int>(1 + seed % 9);
      o.credits = static_cast<int>(1 + seed % 4);
      o.rdma_blocks = static_cast<int>(1 + seed % 2);
    };
    return rules;
  });
}

TEST_P(ProxyThreads, FaultsChangeNothing) {
  const Shape shape = GetParam();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const WorldCase c = case_of(shape.nodes, shape.ranks_per_node, 60, seed);
    Rules rules;
    rules.faulty = true;
    rules.rounds = 3;
    rules.faults.seed = seed * 100;
    rules.faults.hold_puts = 6;
    rules.faults.hold_arrivals = 9;
    rules.faults.hold_completions = 5;
    rules.faults.duplicate_arrival = 0.3;
    rules.faults.duplicate_completion = 0.3;
    rules.faults.refuse_post = 0.3;
    rules.faults.storm_posts = 3;
    rules.landing = seed % 2 == 0 ? fabric::MockOptions::Landing::kAtPoll
                                  : fabric::MockOptions::Landing::kAtPost;
    rules.tune = [&](BufferOptions& o) {
      o.proxy_threads = shape.threads;
      o.chunk_tokens = 5;
      o.credits = static_cast<int>(1 + seed % 3);
    };
    const Status status = run_rounds(c, rules);
    ASSERT_TRUE(status) << status.error().to_string() << " seed " << seed;
  }
}

/// The rank that a put goes to, of every record in `recorder`.
std::vector<int> targets_of_puts(record::Recorder& recorder) {
  std::vector<int> targets;
  recorder.drain([&](record::RecordType type, const unsigned char* body) {
    if (type != record::RecordType::kPut) return;
    record::Put put;
    std::memcpy(&put, body, sizeof(put));
    targets.push_back(put.peer);
  });
  return targets;
}

// Thread t of n serves rail peers t, t + n, …
TEST(Share, EveryThreadServesItsPeersAndNoOthers) {
  constexpr int kNodes = 6;
  constexpr int kThreads = 3;
  const WorldCase c = case_of(kNodes, 1, 40, 3);
  std::deque<record::Recorder> recorders;
  for (int r = 0; r < kNodes; ++r) recorders.emplace_back(1U << 12);
  Rules rules;
  rules.tune = [](BufferOptions& o) { o.proxy_threads = kThreads; };
  rules.hook = [&](int rank, engine::BufferHooks& hooks) {
    hooks.recorder = &recorders[static_cast<std::size_t>(rank)];
  };
  const Status status =
      run_world(c, rules, [&](engine::BufferState& state, bootstrap::World&) -> Status {
        SHUNT_TRY(RankRun(state, c, false).round(0));
        state.close();
        std::vector<std::uint64_t> expected(kThreads);
        for (const int target :
             targets_of_puts(recorders[static_cast<std::size_t>(state.rank())])) {
          ++expected[static_cast<std::size_t>(state.shape().peer_index(state.rank(), target) %
                                              kThreads)];
        }
        std::vector<std::uint64_t> sent;
        for (int t = 0; t < state.progress().size(); ++t) {
          sent.push_back(state.progress().thread(t).stats().puts.get());
        }
        EXPECT_EQ(sent, expected) << "rank " << state.rank();
        // To each of its peers a count message and a chunk each way at least.
        EXPECT_THAT(sent, ::testing::Each(::testing::Ge(3U)));
        return {};
      });
  ASSERT_TRUE(status) << status.error().to_string();
}

TEST(Share, NoThreadIsWithoutPeers) {
  const auto size = [](int nodes, int ranks_per_node, int threads) {
    return engine::progress_threads(
        threads, *cluster::Shape::create(nodes * ranks_per_node, ranks_per_node));
  };
  EXPECT_EQ(size(1, 4, 2), 1);
  EXPECT_EQ(size(2, 4, 2), 1);
  EXPECT_EQ(size(3, 2, 2), 2);
  EXPECT_EQ(size(4, 1, 2), 2);
  EXPECT_EQ(size(4, 1, 64), 3);
  for (std::uint32_t threads = 1; threads <= 5; ++threads) {
    for (std::uint32_t peers = threads; peers <= 11; ++peers) {
      std::vector<int> served(peers, 0);
      for (std::uint32_t t = 0; t < threads; ++t) {
        const exec::PeerShare share{t, threads};
        EXPECT_GE(share.count(peers), 1U);
        EXPECT_LE(share.count(peers), (exec::PeerShare{0, threads}.count(peers)));
        for (std::uint32_t n = 0; n < share.count(peers); ++n) {
          const std::uint32_t peer = share.peer(n);
          ASSERT_LT(peer, peers);
          EXPECT_TRUE(share.holds(peer));
          EXPECT_EQ(share.number(peer), n);
          ++served[peer];
        }
      }
      EXPECT_THAT(served, ::testing::Each(1)) << threads << " threads, " << peers << " peers";
    }
  }
}

TEST(Flight, ManyRoundsWithRandomDelaysAndTwoThreads) {
  const WorldCase c = case_of(3, 2, 20, 9);
  Rules rules;
  rules.rounds = 200;
  rules.in_window = false;
  rules.tune = [](BufferOptions& o) {
    o.proxy_threads = 2;
    o.chunk_tokens = 3;
    o.credits = 2;
  };
  rules.hook = yield_at_random;
  const Status status = run_rounds(c, rules);
  ASSERT_TRUE(status) << status.error().to_string();
}

/// Runs rounds until every rank has failed; what each says.
std::vector<std::string> said_by_all(const WorldCase& c, const Rules& rules) {
  std::mutex mutex;
  std::vector<std::string> said(static_cast<std::size_t>(c.world));
  const Status status =
      run_world(c, rules, [&](engine::BufferState& state, bootstrap::World&) -> Status {
        Status ended;
        for (int i = 0; ended; ++i) ended = RankRun(state, c, false).round(i);
        const std::scoped_lock lock(mutex);
        said[static_cast<std::size_t>(state.rank())] = ended.error().message;
        return {};
      });
  EXPECT_TRUE(status) << status.error().to_string();
  return said;
}

// Rank 0 has three rail peers, and two of them (ranks 1 and 3) fall to its thread 0. What rank 2,
// the peer of thread 1, gets wrong must reach them through the other thread, long before the
// deadline.
TEST(Failure, PassesFromOneThreadToTheOthers) {
  const WorldCase c = case_of(4, 1, 30, 5);
  Rules rules;
  rules.tune = [](BufferOptions& o) { o.proxy_threads = 2; };
  rules.hook = [&](int rank, engine::BufferHooks& hooks) {
    auto make = hooks.make_fabric;
    hooks.make_fabric = [make, rank](int qps,
                                     int thread) -> Result<std::unique_ptr<fabric::Fabric>> {
      auto inner = make(qps, thread);
      if (!inner || rank != 0 || thread != 1) return inner;
      auto faulty = fabric::FaultyFabric::create(std::move(*inner), {.seed = 1, .fail_put = 1});
      if (!faulty) return Unexpected(faulty.error());
      return std::unique_ptr<fabric::Fabric>(std::move(*faulty));
    };
  };
  const std::vector<std::string> said = said_by_all(c, rules);
  EXPECT_THAT(said[0], HasSubstr("rank 2 (node 2) was lost"));
  for (const int other : {1, 3}) {
    EXPECT_THAT(said[static_cast<std::size_t>(other)], HasSubstr("rank 2 was lost"));
  }
  EXPECT_THAT(said[2], HasSubstr("lost"));
}

// The threads of a rank do not vouch for one another: each is heard, or missed, by its own peers.
TEST(Failure, ASilentThreadIsMissedThoughTheOtherOneLives) {
  const WorldCase c = case_of(3, 1, 30, 6);
  fabric::FaultyFabric* silent = nullptr;
  std::mutex mutex;
  std::vector<std::string> said(3);
  Rules rules;
  rules.tune = [](BufferOptions& o) {
    o.proxy_threads = 2;
    o.heartbeat_ns = 1'000'000'000;
  };
  rules.hook = [&](int rank, engine::BufferHooks& hooks) {
    auto make = hooks.make_fabric;
    hooks.make_fabric = [&silent, make, rank](
                            int qps, int thread) -> Result<std::unique_ptr<fabric::Fabric>> {
      auto inner = make(qps, thread);
      if (!inner || rank != 0 || thread != 1) return inner;
      auto faulty = fabric::FaultyFabric::create(std::move(*inner), {});
      if (!faulty) return Unexpected(faulty.error());
      silent = faulty->get();
      return std::unique_ptr<fabric::Fabric>(std::move(*faulty));
    };
  };
  const Status status =
      run_world(c, rules, [&](engine::BufferState& state, bootstrap::World&) -> Status {
        SHUNT_TRY(RankRun(state, c, false).round(0));
        // Thread 1 of rank 0 has rank 2 for its only peer.
        if (state.rank() == 0) silent->set_peer_fault(0, fabric::PeerFault::kCut);
        while (state.status()) std::this_thread::yield();
        const std::scoped_lock lock(mutex);
        said[static_cast<std::size_t>(state.rank())] = state.status().error().message;
        return {};
      });
  ASSERT_TRUE(status) << status.error().to_string();
  // Both ends of the cut miss the other; whoever is first tells all.
  for (const std::string& text : said) {
    EXPECT_THAT(text, ::testing::AnyOf(HasSubstr("rank 0"), HasSubstr("rank 2")));
    EXPECT_THAT(text, HasSubstr("was lost"));
  }
}

TEST(Options, WrongNumbersAreNamed) {
  const auto refused = [](int threads, const char* text) {
    const Status status = bootstrap::run_threads(1, kDeadline_ns, [&](bootstrap::World& world) {
      const BufferOptions options{
          .experts = 4, .topk = 2, .hidden = 64, .max_tokens = 4, .proxy_threads = threads};
      auto state = engine::BufferState::create(world, options);
      return state ? Status{} : Status(Unexpected(state.error()));
    });
    ASSERT_FALSE(status) << text;
    EXPECT_THAT(status.error().message, HasSubstr(text));
  };
  refused(0, "proxy_threads 0 is not allowed; at least 1");
  refused(-3, "proxy_threads -3 is not allowed; at least 1");
  refused(65, "proxy_threads 65 is not allowed; 1 to 64");
}

TEST(Options, AllRanksAgree) {
  const WorldCase c = case_of(3, 1, 5, 1);
  const Status status = bootstrap::run_threads(3, kDeadline_ns, [&](bootstrap::World& world) {
    BufferOptions options = testing::options_of(c);
    options.proxy_threads = world.rank() == 1 ? 2 : 1;
    auto state = engine::BufferState::create(world, options);
    return state ? Status{} : Status(Unexpected(state.error()));
  });
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("proxy_threads is"));
}

}  // namespace
}  // namespace shunt
