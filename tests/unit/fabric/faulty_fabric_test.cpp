// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/faulty_fabric.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/mock_fabric.hpp"
#include "fabric_rig.hpp"
#include "streamer.hpp"

namespace shunt::fabric {
namespace {

using test::Rank;
using ::testing::HasSubstr;

struct World {
  explicit World(int count, std::size_t region_bytes, FaultOptions faults, MockOptions mock = {})
      : network(count, mock), ranks(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].region.resize(region_bytes);
      FaultOptions own = faults;
      own.seed = faults.seed + i;
      auto inner = network.create(static_cast<int>(i));
      EXPECT_TRUE(inner.has_value());
      auto outer = FaultyFabric::create(std::move(*inner), own);
      EXPECT_TRUE(outer.has_value());
      ranks[i].fabric = std::move(*outer);
    }
    test::connect_all(ranks);
  }
  FaultyFabric& faulty(std::size_t rank) { return static_cast<FaultyFabric&>(*ranks[rank].fabric); }
  /// All events of `rank` within `polls` calls of poll().
  std::vector<Event> drain(std::size_t rank, int polls) {
    std::vector<Event> all;
    std::vector<Event> events(8);
    for (int i = 0; i < polls; ++i) {
      const std::size_t count = ranks[rank].fabric->poll(events);
      all.insert(all.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return all;
  }

  MockNetwork network;
  std::vector<Rank> ranks;
};

std::vector<Put> numbered_puts(std::uint32_t count) {
  std::vector<Put> puts;
  for (std::uint32_t i = 0; i < count; ++i) {
    puts.push_back(Put{.context = i, .immediate = i, .peer = 1});
  }
  return puts;
}

std::vector<std::uint32_t> immediates(const std::vector<Event>& events) {
  std::vector<std::uint32_t> values;
  for (const Event& event : events) {
    if (event.kind == Event::Kind::kArrived) values.push_back(event.immediate);
  }
  return values;
}

FaultOptions hostile() {
  return {.seed = 17,
          .hold_puts = 6,
          .hold_arrivals = 9,
          .hold_completions = 30,
          .duplicate_arrival = 0.3,
          .duplicate_completion = 0.3,
          .refuse_post = 0.3,
          .storm_posts = 3};
}

TEST(FaultyFabric, AnOrderFreeProtocolSurvivesAllThatIsRecoverable) {
  test::StreamShape shape{.ranks = 3, .messages = 150, .window = 6, .slot_bytes = 256};
  shape.sizes = {0, 8, 100, 256};
  World world(shape.ranks, shape.region_bytes(), hostile());
  const auto streamers = test::stream_in_threads(world.ranks, shape);
  std::uint64_t duplicates = 0;
  std::uint64_t overtakings = 0;
  for (const test::Streamer& streamer : streamers) {
    EXPECT_EQ(streamer.complaint(), "");
    duplicates += streamer.duplicates();
    overtakings += streamer.overtakings();
  }
  // The faults did happen.
  EXPECT_GT(duplicates, 100U);
  EXPECT_GT(overtakings, 100U);
}

TEST(FaultyFabric, LandingAtPollToo) {
  test::StreamShape shape{.ranks = 2, .messages = 150, .window = 6, .slot_bytes = 256};
  shape.sizes = {0, 8, 100, 256};
  World world(
      shape.ranks, shape.region_bytes(), hostile(), {.landing = MockOptions::Landing::kAtPoll});
  for (const test::Streamer& streamer : test::stream_in_threads(world.ranks, shape)) {
    EXPECT_EQ(streamer.complaint(), "");
  }
}

using Trace = std::vector<std::tuple<std::size_t, int, std::uint64_t, std::uint32_t, std::size_t>>;

/// What the caller sees of 200 puts under all faults, single-threaded.
Trace trace_of(std::uint64_t seed) {
  FaultOptions faults = hostile();
  faults.seed = seed;
  faults.lose_arrival = 0.1;
  faults.fail_put = 0.1;
  World world(2, 64, faults);
  const std::vector<Put> puts = numbered_puts(200);
  Trace trace;
  std::size_t posted = 0;
  for (int turn = 0; turn < 400; ++turn) {
    const std::size_t offered = std::min<std::size_t>(3, puts.size() - posted);
    posted += world.ranks[0].fabric->post(std::span(puts).subspan(posted, offered));
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (const Event& event : world.drain(rank, 1)) {
        trace.emplace_back(
            rank, static_cast<int>(event.kind), event.context, event.immediate, posted);
      }
    }
  }
  EXPECT_EQ(posted, puts.size());
  return trace;
}

TEST(FaultyFabric, TheSameSeedGivesTheSameFaults) {
  const Trace first = trace_of(5);
  EXPECT_GT(first.size(), 300U);
  EXPECT_EQ(first, trace_of(5));
  EXPECT_NE(first, trace_of(6));
}

TEST(FaultyFabric, WithoutFaultsItChangesNothing) {
  World world(2, 64, {});
  const std::vector<Put> puts = numbered_puts(20);
  ASSERT_EQ(world.ranks[0].fabric->post(puts), 20U);
  const auto completions = world.drain(0, 3);
  ASSERT_EQ(completions.size(), 20U);
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(completions[i].kind, Event::Kind::kCompleted);
    EXPECT_EQ(completions[i].context, i);
  }
  std::vector<std::uint32_t> expected(20);
  for (std::uint32_t i = 0; i < 20; ++i) expected[i] = i;
  EXPECT_EQ(immediates(world.drain(1, 3)), expected);
}

TEST(FaultyFabric, HeldPutsLandInAnotherOrder) {
  World world(2, 64, {.hold_puts = 10});
  const std::vector<Put> puts = numbered_puts(30);
  ASSERT_EQ(world.ranks[0].fabric->post(puts), 30U);
  (void)world.drain(0, 11);
  std::vector<std::uint32_t> seen = immediates(world.drain(1, 11));
  EXPECT_EQ(seen.size(), 30U);
  EXPECT_FALSE(std::is_sorted(seen.begin(), seen.end()));
  std::sort(seen.begin(), seen.end());
  for (std::uint32_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
}

TEST(FaultyFabric, ACompletionCanComeLongBeforeTheArrivalAndAfter) {
  World early(2, 64, {.seed = 2, .hold_arrivals = 1000});
  const Put put{.context = 1, .immediate = 1, .peer = 1};
  ASSERT_EQ(early.ranks[0].fabric->post({&put, 1}), 1U);
  EXPECT_EQ(early.drain(0, 1).size(), 1U);
  EXPECT_EQ(early.drain(1, 1).size(), 0U);
  EXPECT_EQ(early.drain(1, 1001).size(), 1U);

  World late(2, 64, {.seed = 2, .hold_completions = 1000});
  ASSERT_EQ(late.ranks[0].fabric->post({&put, 1}), 1U);
  EXPECT_EQ(late.drain(0, 1).size(), 0U);
  EXPECT_EQ(late.drain(1, 1).size(), 1U);
  EXPECT_EQ(late.drain(0, 1001).size(), 1U);
}

TEST(FaultyFabric, LostArrivalsLeaveTheirData) {
  World world(2, 64, {.lose_arrival = 1});
  world.ranks[0].region.assign(64, std::byte{3});
  const Put put{.context = 1, .bytes = 64, .peer = 1};
  ASSERT_EQ(world.ranks[0].fabric->post({&put, 1}), 1U);
  EXPECT_EQ(world.drain(0, 2).size(), 1U);
  EXPECT_EQ(world.drain(1, 10).size(), 0U);
  EXPECT_EQ(world.ranks[1].region, world.ranks[0].region);
}

TEST(FaultyFabric, EveryEventTwice) {
  World world(2, 64, {.duplicate_arrival = 1, .duplicate_completion = 1});
  const Put put{.context = 4, .immediate = 9, .peer = 1};
  ASSERT_EQ(world.ranks[0].fabric->post({&put, 1}), 1U);
  const auto completions = world.drain(0, 2);
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[1].context, 4U);
  EXPECT_EQ(immediates(world.drain(1, 2)), (std::vector<std::uint32_t>{9, 9}));
}

TEST(FaultyFabric, DuplicatesDoNotEnlargeTheDepth) {
  World world(2, 64, {.hold_completions = 50, .duplicate_completion = 1}, {.depth = 8});
  const std::vector<Put> puts = numbered_puts(100);
  std::size_t posted = 0;
  std::size_t first_outcomes = 0;
  std::vector<bool> seen(puts.size(), false);
  for (int turn = 0; turn < 2000 && first_outcomes < puts.size(); ++turn) {
    posted += world.ranks[0].fabric->post(std::span(puts).subspan(posted));
    for (const Event& event : world.drain(0, 1)) {
      if (seen[event.context]) continue;
      seen[event.context] = true;
      ++first_outcomes;
    }
    (void)world.drain(1, 1);
    EXPECT_LE(posted - first_outcomes, 8U);
  }
  EXPECT_EQ(first_outcomes, puts.size());
}

TEST(FaultyFabric, StormsRefuseAndPass) {
  World world(2, 64, {.refuse_post = 1, .storm_posts = 4});
  const std::vector<Put> puts = numbered_puts(8);
  std::size_t posted = 0;
  int refused = 0;
  for (int turn = 0; turn < 1000 && posted < puts.size(); ++turn) {
    const std::size_t taken = world.ranks[0].fabric->post(std::span(puts).subspan(posted));
    posted += taken;
    refused += taken == 0 ? 1 : 0;
  }
  // With probability 1 the last put alone can never pass: below(1) is 0.
  EXPECT_EQ(posted, puts.size() - 1);
  EXPECT_GT(refused, 900);
}

TEST(FaultyFabric, FailedPutsAreExplainedAndNotCarriedOut) {
  World world(2, 64, {.fail_put = 1});
  const Put put{.context = 12, .immediate = 1, .peer = 1};
  ASSERT_EQ(world.ranks[0].fabric->post({&put, 1}), 1U);
  const auto events = world.drain(0, 1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Event::Kind::kFailed);
  EXPECT_EQ(events[0].context, 12U);
  EXPECT_THAT(world.faulty(0).last_error().message, HasSubstr("put 12 to peer 1: failed"));
  EXPECT_EQ(world.drain(1, 5).size(), 0U);
}

TEST(FaultyFabric, ACutPeerIsSilentBothWays) {
  World world(3, 64, {}, {.depth = 4});
  world.faulty(0).set_peer_fault(1, PeerFault::kCut);
  const std::vector<Put> puts{Put{.context = 1, .immediate = 1, .peer = 1},
                              Put{.context = 2, .immediate = 2, .peer = 2}};
  ASSERT_EQ(world.ranks[0].fabric->post(puts), 2U);
  const Put back{.immediate = 3, .peer = 0};
  ASSERT_EQ(world.ranks[1].fabric->post({&back, 1}), 1U);
  const auto own = world.drain(0, 10);
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].context, 2U);
  EXPECT_EQ(world.drain(1, 10).size(), 1U);
  EXPECT_EQ(world.drain(2, 10).size(), 1U);
  // Swallowed puts stay outstanding: the queue fills, as it does on a cut link.
  const std::vector<Put> more(10, Put{.peer = 1});
  EXPECT_EQ(world.ranks[0].fabric->post(more), 3U);
}

TEST(FaultyFabric, ADeadPeerFailsEachPut) {
  World world(3, 64, {.hold_puts = 3});
  const std::vector<Put> puts{Put{.context = 1, .peer = 1}, Put{.context = 2, .peer = 2}};
  ASSERT_EQ(world.ranks[0].fabric->post(puts), 2U);
  world.faulty(0).set_peer_fault(1, PeerFault::kDead);
  ASSERT_EQ(world.ranks[0].fabric->post(std::span(puts).first(1)), 1U);
  std::vector<Event> events = world.drain(0, 5);
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.context < b.context;
  });
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].kind, Event::Kind::kFailed);
  EXPECT_EQ(events[1].kind, Event::Kind::kFailed);
  EXPECT_EQ(events[2].kind, Event::Kind::kCompleted);
  EXPECT_EQ(world.faulty(0).last_error().code, ErrorCode::kPeerLost);
}

// Held items end by polling, so a wait must not sleep on them.
TEST(FaultyFabric, DoesNotSleepOnWhatItHolds) {
  World world(2, 64, {.hold_completions = 1000});
  const Put put{.peer = 1};
  ASSERT_EQ(world.ranks[0].fabric->post({&put, 1}), 1U);
  (void)world.drain(0, 1);
  Event event;
  while (world.ranks[0].fabric->poll({&event, 1}) == 0) {
    world.ranks[0].fabric->wait(600'000'000'000);
  }
  EXPECT_EQ(event.kind, Event::Kind::kCompleted);
}

TEST(FaultyFabric, RefusesImpossibleOptions) {
  MockNetwork network(1);
  auto inner = network.create(0);
  const auto refused = FaultyFabric::create(std::move(*inner), {.fail_put = 2});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("fail_put is 2"));
  EXPECT_FALSE(FaultyFabric::create(nullptr, {}).has_value());
}

}  // namespace
}  // namespace shunt::fabric
