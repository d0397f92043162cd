// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/mock_fabric.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric_rig.hpp"
#include "streamer.hpp"

namespace shunt::fabric {
namespace {

using test::Rank;
using ::testing::HasSubstr;
using Landing = MockOptions::Landing;

std::vector<Rank> make_ranks(MockNetwork& network, std::size_t region_bytes) {
  std::vector<Rank> ranks(static_cast<std::size_t>(network.ranks()));
  for (int rank = 0; rank < network.ranks(); ++rank) {
    ranks[static_cast<std::size_t>(rank)].region.resize(region_bytes);
    auto fabric = network.create(rank);
    EXPECT_TRUE(fabric.has_value());
    ranks[static_cast<std::size_t>(rank)].fabric = std::move(*fabric);
  }
  test::connect_all(ranks);
  return ranks;
}

class MockFabricTest : public ::testing::TestWithParam<Landing> {};
INSTANTIATE_TEST_SUITE_P(Landings,
                         MockFabricTest,
                         ::testing::Values(Landing::kAtPost, Landing::kAtPoll));

TEST_P(MockFabricTest, DataIsThereWhenTheImmediateIs) {
  test::StreamShape shape{.ranks = 3, .qps = 2, .messages = 200, .window = 5};
  shape.sizes = {0, 1, 7, 64, 333, 512};
  MockNetwork network(shape.ranks, {.depth = 4, .qps = 2, .landing = GetParam()});
  auto ranks = make_ranks(network, shape.region_bytes());
  const auto streamers = test::stream_in_threads(ranks, shape);
  for (const test::Streamer& streamer : streamers) {
    EXPECT_EQ(streamer.complaint(), "");
    EXPECT_EQ(streamer.duplicates(), 0U);
    EXPECT_EQ(streamer.overtakings(), 0U);
  }
}

TEST_P(MockFabricTest, CompletesWithoutTheTarget) {
  MockNetwork network(2, {.landing = GetParam()});
  auto ranks = make_ranks(network, 64);
  ranks[0].region.assign(64, std::byte{7});
  const Put put{.context = 11, .bytes = 64, .immediate = 5, .peer = 1};
  ASSERT_EQ(ranks[0].fabric->post({&put, 1}), 1U);
  Event event;
  ASSERT_EQ(ranks[0].fabric->poll({&event, 1}), 1U);
  EXPECT_EQ(event.kind, Event::Kind::kCompleted);
  EXPECT_EQ(event.context, 11U);
  EXPECT_EQ(event.peer, 1);
  // Complete means that the source may change.
  ranks[0].region.assign(64, std::byte{9});
  const bool landed = ranks[1].region[0] == std::byte{7};
  EXPECT_EQ(landed, GetParam() == Landing::kAtPost);
  ASSERT_EQ(ranks[1].fabric->poll({&event, 1}), 1U);
  EXPECT_EQ(event.kind, Event::Kind::kArrived);
  EXPECT_EQ(event.immediate, 5U);
  EXPECT_EQ(ranks[1].region, std::vector<std::byte>(64, std::byte{7}));
}

TEST_P(MockFabricTest, PutsGoBetweenAnyRegions) {
  MockNetwork network(2, {.landing = GetParam()});
  std::vector<Rank> ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks[static_cast<std::size_t>(rank)].region.resize(512);
    ranks[static_cast<std::size_t>(rank)].fabric = std::move(*network.create(rank));
  }
  test::expect_puts_between_regions(ranks, 256);
}

TEST(MockFabric, TakesNoMoreThanItsDepth) {
  MockNetwork network(2, {.depth = 4});
  auto ranks = make_ranks(network, 8);
  const std::vector<Put> puts(10, Put{.peer = 1});
  EXPECT_EQ(ranks[0].fabric->depth(), 4U);
  EXPECT_EQ(ranks[0].fabric->post(puts), 4U);
  EXPECT_EQ(ranks[0].fabric->post(puts), 0U);
  std::vector<Event> events(10);
  EXPECT_EQ(ranks[0].fabric->poll(events), 4U);
  // Completed, but the target has taken none from the link.
  EXPECT_EQ(ranks[0].fabric->post(puts), 0U);
  EXPECT_EQ(ranks[1].fabric->poll(std::span(events).first(3)), 3U);
  EXPECT_EQ(ranks[0].fabric->post(puts), 3U);
}

TEST(MockFabric, ReportsARefusedPutAndGoesOn) {
  MockNetwork network(2);
  auto ranks = make_ranks(network, 64);
  const std::vector<Put> puts{Put{.context = 1, .target_offset = 60, .bytes = 8, .peer = 1},
                              Put{.context = 2, .peer = 9},
                              Put{.context = 3, .immediate = 33, .peer = 1}};
  ASSERT_EQ(ranks[0].fabric->post(puts), 3U);
  Event event;
  ASSERT_EQ(ranks[0].fabric->poll({&event, 1}), 1U);
  EXPECT_EQ(event.kind, Event::Kind::kFailed);
  EXPECT_EQ(event.context, 1U);
  EXPECT_THAT(ranks[0].fabric->last_error().message, HasSubstr("8 bytes at offset 60"));
  ASSERT_EQ(ranks[0].fabric->poll({&event, 1}), 1U);
  EXPECT_EQ(event.kind, Event::Kind::kFailed);
  EXPECT_THAT(ranks[0].fabric->last_error().message, HasSubstr("put 2 to peer 9"));
  ASSERT_EQ(ranks[0].fabric->poll({&event, 1}), 1U);
  EXPECT_EQ(event.kind, Event::Kind::kCompleted);
  ASSERT_EQ(ranks[1].fabric->poll({&event, 1}), 1U);
  EXPECT_EQ(event.immediate, 33U);
}

TEST(MockFabric, PutsToARankThatHasLeftFail) {
  MockNetwork network(3);
  auto ranks = make_ranks(network, 64);
  ranks[1].fabric.reset();
  ranks[1].region = {};
  const std::vector<Put> puts{Put{.context = 1, .bytes = 64, .peer = 1},
                              Put{.context = 2, .bytes = 64, .immediate = 4, .peer = 2}};
  ASSERT_EQ(ranks[0].fabric->post(puts), 2U);
  std::vector<Event> events(4);
  ASSERT_EQ(ranks[0].fabric->poll(events), 2U);
  EXPECT_EQ(events[0].kind, Event::Kind::kFailed);
  EXPECT_EQ(events[0].peer, 1);
  EXPECT_EQ(ranks[0].fabric->last_error().code, ErrorCode::kPeerLost);
  EXPECT_EQ(events[1].kind, Event::Kind::kCompleted);
  ASSERT_EQ(ranks[2].fabric->poll(events), 1U);
  EXPECT_EQ(events[0].immediate, 4U);
}

TEST(MockFabric, LeavesWhileOthersPut) {
  for (int round = 0; round < 50; ++round) {
    MockNetwork network(2);
    auto ranks = make_ranks(network, 4096);
    std::atomic<bool> started{false};
    std::thread sender([&] {
      const Put put{.bytes = 4096, .peer = 1};
      std::vector<Event> events(8);
      for (;;) {
        (void)ranks[0].fabric->post({&put, 1});
        started = true;
        const std::size_t count = ranks[0].fabric->poll(events);
        for (const Event& event : std::span(events).first(count)) {
          if (event.kind == Event::Kind::kFailed) return;
        }
      }
    });
    while (!started) {
      std::vector<Event> events(8);
      (void)ranks[1].fabric->poll(events);
    }
    ranks[1].fabric.reset();
    ranks[1].region = {};
    sender.join();
  }
}

TEST(MockFabric, WakeEndsAWaitAndTheNextOne) {
  MockNetwork network(2);
  auto ranks = make_ranks(network, 8);
  test::expect_wake_to_end_waits(*ranks[0].fabric);
}

TEST(MockFabric, AnArrivalEndsAWait) {
  MockNetwork network(2);
  auto ranks = make_ranks(network, 8);
  std::thread sender([&] {
    const Put put{.immediate = 3, .peer = 1};
    EXPECT_EQ(ranks[0].fabric->post({&put, 1}), 1U);
  });
  Event event;
  while (ranks[1].fabric->poll({&event, 1}) == 0) ranks[1].fabric->wait(600'000'000'000);
  EXPECT_EQ(event.immediate, 3U);
  sender.join();
}

TEST(MockFabric, AWaitIsNotEnteredWhileEventsAreLeft) {
  MockNetwork network(2);
  auto ranks = make_ranks(network, 8);
  const std::vector<Put> puts(2, Put{.peer = 1});
  ASSERT_EQ(ranks[0].fabric->post(puts), 2U);
  Event event;
  ASSERT_EQ(ranks[1].fabric->poll({&event, 1}), 1U);
  ranks[1].fabric->wait(600'000'000'000);
  ASSERT_EQ(ranks[1].fabric->poll({&event, 1}), 1U);
}

TEST(MockFabric, RefusesMisuseInWords) {
  MockNetwork network(2);
  auto first = network.create(0);
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(network.create(0).error().message, HasSubstr("has a fabric already"));
  EXPECT_THAT(network.create(2).error().message, HasSubstr("no rank 2 (0 to 1)"));
  EXPECT_THAT((*first)->address().error().message, HasSubstr("expose() before address()"));
  const std::vector<std::vector<std::byte>> alien{std::vector<std::byte>(16, std::byte{1})};
  EXPECT_THAT((*first)->connect(alien).error().message, HasSubstr("not one of this network"));
  MockNetwork empty(1, {.depth = 0});
  EXPECT_FALSE(empty.create(0).has_value());
}

TEST(MockFabric, AnEmptyAddressIsNoPeer) {
  MockNetwork network(1);
  auto fabric = network.create(0);
  std::vector<std::byte> region(8);
  ASSERT_TRUE((*fabric)->expose(region).has_value());
  ASSERT_TRUE((*fabric)->connect(std::vector<std::vector<std::byte>>(2)).has_value());
  const Put put{.context = 1, .peer = 1};
  ASSERT_EQ((*fabric)->post({&put, 1}), 1U);
  Event event;
  ASSERT_EQ((*fabric)->poll({&event, 1}), 1U);
  EXPECT_EQ(event.kind, Event::Kind::kFailed);
  EXPECT_THAT((*fabric)->last_error().message, HasSubstr("not connected"));
}

}  // namespace
}  // namespace shunt::fabric
