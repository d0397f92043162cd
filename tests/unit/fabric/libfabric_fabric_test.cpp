// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The libfabric engine over tcp on loopback, ranks as threads with a domain each.
#include "fabric/libfabric_fabric.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/faulty_fabric.hpp"
#include "fabric/mock_fabric.hpp"
#include "fabric_rig.hpp"
#include "streamer.hpp"

namespace shunt::fabric {
namespace {

using test::Rank;
using ::testing::AnyOf;
using ::testing::HasSubstr;

void open_ranks(std::vector<Rank>& ranks, std::size_t bytes, const LibfabricOptions& options) {
  for (Rank& rank : ranks) {
    rank.region.resize(bytes);
    auto fabric = create_libfabric(options);
    ASSERT_TRUE(fabric.has_value()) << fabric.error().to_string();
    rank.fabric = std::move(*fabric);
  }
}

void expect_clean(const std::vector<test::Streamer>& streamers) {
  for (const test::Streamer& streamer : streamers) {
    EXPECT_EQ(streamer.complaint(), "");
    EXPECT_EQ(streamer.duplicates(), 0U);
  }
}

struct StreamCase {
  int ranks;
  int qps;
  std::size_t depth;
  std::uint64_t slot_bytes;
  std::uint32_t messages;
};

class LibfabricStream : public ::testing::TestWithParam<StreamCase> {};
INSTANTIATE_TEST_SUITE_P(Shapes,
                         LibfabricStream,
                         ::testing::Values(StreamCase{2, 1, 1, 64, 50},
                                           StreamCase{2, 1, 1024, 1U << 20, 40},
                                           StreamCase{3, 4, 64, 70'000, 100},
                                           StreamCase{4, 2, 16, 4096, 60}));

TEST_P(LibfabricStream, DataIsThereWhenTheImmediateIs) {
  const StreamCase c = GetParam();
  test::StreamShape shape{.ranks = c.ranks,
                          .qps = c.qps,
                          .messages = c.messages,
                          .window = 6,
                          .slot_bytes = c.slot_bytes};
  shape.sizes = {0, 1, 15, 64, c.slot_bytes / 3, c.slot_bytes - 1, c.slot_bytes};
  std::vector<Rank> ranks(static_cast<std::size_t>(c.ranks));
  ASSERT_NO_FATAL_FAILURE(
      open_ranks(ranks, shape.region_bytes(), {.qps = c.qps, .depth = c.depth}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  expect_clean(test::stream_in_threads(ranks, shape));
}

TEST(LibfabricFabric, StripesOverSeveralInterfaces) {
  // Each rank has two addresses of its own, as it would have two NICs.
  test::StreamShape shape{.ranks = 2, .qps = 3, .messages = 60, .window = 6, .slot_bytes = 70'000};
  shape.sizes = {0, 1, 70'000, 4096};
  std::vector<Rank> ranks(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::string own = "127.0." + std::to_string(rank + 1);
    auto fabric = create_libfabric_on({own + ".1", own + ".2"}, {.qps = 3});
    ASSERT_TRUE(fabric) << fabric.error().to_string();
    ranks[rank].region.resize(shape.region_bytes());
    ranks[rank].fabric = std::move(*fabric);
  }
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  expect_clean(test::stream_in_threads(ranks, shape));
}

TEST(LibfabricFabric, ANicThatIsNotThereIsNamed) {
  const auto by_name = create_libfabric_on({"lo", "nosuch0"}, {.qps = 2});
  ASSERT_FALSE(by_name);
  EXPECT_THAT(by_name.error().message, HasSubstr("NIC 'nosuch0'"));
  EXPECT_THAT(by_name.error().message, HasSubstr("it has no device 'nosuch0'"));
  const auto by_address = create_libfabric_on({"127.0.0.1", "203.0.113.7"}, {.qps = 2});
  ASSERT_FALSE(by_address);
  EXPECT_THAT(by_address.error().message, HasSubstr("NIC '203.0.113.7'"));
  EXPECT_FALSE(create_libfabric_on({"127.0.0.1", "127.0.0.2"}, {.qps = 1}));
}

TEST(LibfabricFabric, OneThreadCanDriveAllRanks) {
  test::StreamShape shape{.ranks = 3, .messages = 40, .window = 4, .slot_bytes = 100'000};
  shape.sizes = {0, 100'000, 8};
  std::vector<Rank> ranks(3);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, shape.region_bytes(), {}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  expect_clean(test::stream_in_turn(ranks, shape));
}

TEST(LibfabricFabric, SurvivesTheFaultDecorator) {
  test::StreamShape shape{.ranks = 2, .qps = 2, .messages = 100, .window = 6, .slot_bytes = 5000};
  shape.sizes = {0, 8, 5000};
  std::vector<Rank> ranks(2);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, shape.region_bytes(), {.qps = 2}));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    auto faulty = FaultyFabric::create(std::move(ranks[i].fabric),
                                       {.seed = 3 + i,
                                        .hold_puts = 5,
                                        .hold_arrivals = 8,
                                        .hold_completions = 20,
                                        .duplicate_arrival = 0.3,
                                        .duplicate_completion = 0.3,
                                        .refuse_post = 0.3,
                                        .storm_posts = 3});
    ASSERT_TRUE(faulty.has_value());
    ranks[i].fabric = std::move(*faulty);
  }
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  for (const test::Streamer& streamer : test::stream_in_threads(ranks, shape)) {
    EXPECT_EQ(streamer.complaint(), "");
    EXPECT_GT(streamer.duplicates(), 0U);
  }
}

// Thousands of puts at once: whatever the provider's own queue holds, each is carried out once.
TEST(LibfabricFabric, TakesItsWholeDepthAtOnce) {
  constexpr std::size_t kDepth = 3000;
  std::vector<Rank> ranks(2);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 64 * kDepth, {.depth = kDepth}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  std::vector<Put> puts;
  for (std::uint32_t i = 0; i < kDepth + 10; ++i) {
    puts.push_back(Put{.context = 7000 + i,
                       .source_offset = (i % kDepth) * 64U,
                       .target_offset = (i % kDepth) * 64U,
                       .bytes = 64,
                       .immediate = i,
                       .peer = 1});
  }
  for (std::size_t i = 0; i < ranks[0].region.size(); ++i) {
    ranks[0].region[i] = test::pattern(1, i / 64, i % 64);
  }
  EXPECT_EQ(ranks[0].fabric->post(puts), kDepth);
  std::vector<int> completed(kDepth, 0);
  std::vector<int> arrived(kDepth, 0);
  std::size_t events = 0;
  EXPECT_TRUE(test::poll_until(
      ranks,
      [&] { return events == 2 * kDepth; },
      [&](std::size_t rank, const Event& event) {
        ++events;
        ASSERT_NE(event.kind, Event::Kind::kFailed) << ranks[rank].fabric->last_error().message;
        if (event.kind == Event::Kind::kArrived) {
          ++arrived[event.immediate];
        } else {
          ++completed[event.context - 7000];
        }
      }));
  EXPECT_EQ(completed, std::vector<int>(kDepth, 1));
  EXPECT_EQ(arrived, std::vector<int>(kDepth, 1));
  EXPECT_EQ(ranks[1].region, ranks[0].region);
}

TEST(LibfabricFabric, AnArrivalEndsAWait) {
  std::vector<Rank> ranks(2);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 64, {}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  std::thread sender([&] {
    const Put put{.context = 1, .bytes = 8, .immediate = 77, .peer = 1};
    EXPECT_EQ(ranks[0].fabric->post({&put, 1}), 1U);
    Event event;
    while (ranks[0].fabric->poll({&event, 1}) == 0) ranks[0].fabric->wait(100'000'000);
    EXPECT_EQ(event.kind, Event::Kind::kCompleted);
  });
  Event event;
  // Only the arrival can end this wait within the test's time-out.
  while (ranks[1].fabric->poll({&event, 1}) == 0) ranks[1].fabric->wait(600'000'000'000);
  EXPECT_EQ(event.kind, Event::Kind::kArrived);
  EXPECT_EQ(event.immediate, 77U);
  sender.join();
}

// Events that are long gone must not keep a rank from sleeping: it would burn a core for nothing.
TEST(LibfabricFabric, AnIdleRankSleeps) {
  std::vector<Rank> ranks(2);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 64, {}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  const Put put{.context = 1, .bytes = 8, .immediate = 77, .peer = 1};
  ASSERT_EQ(ranks[0].fabric->post({&put, 1}), 1U);
  int events = 0;
  ASSERT_TRUE(test::poll_until(
      ranks, [&] { return events == 2; }, [&](std::size_t, const Event&) { ++events; }));
  for (Rank& rank : ranks) {
    const Deadline deadline = Deadline::after_ns(100'000'000);
    Event event;
    int waits = 0;
    for (; !deadline.expired(); ++waits) {
      EXPECT_EQ(rank.fabric->poll({&event, 1}), 0U);
      rank.fabric->wait(20'000'000);
    }
    // 5 if it slept throughout; fewer on a slow machine; thousands if it did not.
    EXPECT_LE(waits, 50);
  }
}

TEST(LibfabricFabric, WakeEndsAWaitAndTheNextOne) {
  std::vector<Rank> ranks(1);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 64, {}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  test::expect_wake_to_end_waits(*ranks[0].fabric);
}

TEST(LibfabricFabric, ReportsARefusedPutAndGoesOn) {
  std::vector<Rank> ranks(2);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 64, {}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  const std::vector<Put> puts{Put{.context = 1, .target_offset = 60, .bytes = 8, .peer = 1},
                              Put{.context = 2, .peer = 5},
                              Put{.context = 3, .bytes = 64, .immediate = 9, .peer = 1}};
  ASSERT_EQ(ranks[0].fabric->post(puts), 3U);
  std::vector<std::string> words;
  bool arrived = false;
  bool completed = false;
  EXPECT_TRUE(test::poll_until(
      ranks,
      [&] { return arrived && completed; },
      [&](std::size_t rank, const Event& event) {
        if (event.kind == Event::Kind::kFailed) {
          EXPECT_LT(event.context, 3U);
          words.push_back(ranks[rank].fabric->last_error().message);
        }
        arrived = arrived || event.kind == Event::Kind::kArrived;
        completed = completed || event.kind == Event::Kind::kCompleted;
      }));
  ASSERT_EQ(words.size(), 2U);
  // Both failures came in one batch: last_error() speaks of the latest.
  EXPECT_THAT(words.back(), HasSubstr("put 2 to peer 5: no such peer"));
}

TEST(LibfabricFabric, APeerThatClosesFailsItsPutsAndNoOthers) {
  std::vector<Rank> ranks(3);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 1U << 20, {}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  // Contact first, so that there is a connection to lose.
  int events = 0;
  const std::vector<Put> hello{Put{.context = 1, .peer = 1}, Put{.context = 2, .peer = 2}};
  ASSERT_EQ(ranks[0].fabric->post(hello), 2U);
  ASSERT_TRUE(test::poll_until(
      ranks, [&] { return events == 4; }, [&](std::size_t, const Event&) { ++events; }));
  std::vector<Rank> gone;
  gone.push_back(std::move(ranks[1]));
  ranks.erase(ranks.begin() + 1);
  gone.clear();

  std::uint64_t context = 10;
  std::uint64_t failed = 0;
  std::uint64_t delivered = 0;
  std::string words;
  EXPECT_TRUE(test::poll_until(
      ranks,
      [&] {
        const std::vector<Put> puts{
            Put{.context = context, .bytes = 1000, .peer = 1},
            Put{.context = context + 1, .bytes = 1000, .immediate = 5, .peer = 2}};
        context += ranks[0].fabric->post(puts);
        return failed >= 20 && delivered >= 20;
      },
      [&](std::size_t rank, const Event& event) {
        if (rank == 1) {
          delivered += event.kind == Event::Kind::kArrived ? 1 : 0;
        } else if (event.kind == Event::Kind::kFailed) {
          EXPECT_EQ(event.peer, 1);
          words = ranks[0].fabric->last_error().message;
          EXPECT_EQ(ranks[0].fabric->last_error().code, ErrorCode::kPeerLost) << words;
          ++failed;
        }
      }));
  EXPECT_THAT(words, HasSubstr("to peer 1"));
}

// tcp accepts within the peer's poll(): a peer that never polls never connects.
TEST(LibfabricFabric, APeerThatNeverPollsFailsItsPutsAndNoOthers) {
  std::vector<Rank> ranks(3);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 64, {.qps = 2, .connect_timeout_ns = 50'000'000}));
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  const Rank silent = std::move(ranks[1]);
  ranks.erase(ranks.begin() + 1);
  const std::vector<Put> puts{Put{.context = 1, .bytes = 64, .peer = 1, .qp = 0},
                              Put{.context = 2, .bytes = 64, .peer = 1, .qp = 1},
                              Put{.context = 3, .bytes = 64, .peer = 1, .qp = 0},
                              Put{.context = 4, .bytes = 64, .immediate = 9, .peer = 2, .qp = 1}};
  ASSERT_EQ(ranks[0].fabric->post(puts), 4U);
  std::vector<std::uint64_t> failed;
  bool arrived = false;
  EXPECT_TRUE(test::poll_until(
      ranks,
      [&] { return failed.size() == 3 && arrived; },
      [&](std::size_t rank, const Event& event) {
        arrived = arrived || (rank == 1 && event.kind == Event::Kind::kArrived);
        if (event.kind != Event::Kind::kFailed) return;
        failed.push_back(event.context);
        EXPECT_EQ(ranks[0].fabric->last_error().code, ErrorCode::kPeerLost);
        EXPECT_THAT(ranks[0].fabric->last_error().message, HasSubstr("does it poll?"));
      }));
  EXPECT_THAT(failed, ::testing::UnorderedElementsAre(1U, 2U, 3U));
}

TEST(LibfabricFabric, ClosesWithPutsInFlight) {
  for (int round = 0; round < 5; ++round) {
    std::vector<Rank> ranks(2);
    ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 4U << 20, {}));
    ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
    const std::vector<Put> puts(50, Put{.bytes = 4U << 20, .peer = 1});
    EXPECT_EQ(ranks[0].fabric->post(puts), 50U);
    std::vector<Event> events(8);
    for (int i = 0; i < round * 20; ++i) {
      (void)ranks[0].fabric->poll(events);
      (void)ranks[1].fabric->poll(events);
    }
    ranks[static_cast<std::size_t>(round % 2)].fabric.reset();
    ranks[static_cast<std::size_t>(round % 2)].region = {};
  }
}

TEST(LibfabricOptions, AMissingProviderIsNamedWithThoseThatAreThere) {
  const auto fabric = create_libfabric({.provider = "carrier-pigeon"});
  ASSERT_FALSE(fabric.has_value());
  EXPECT_EQ(fabric.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(fabric.error().message, HasSubstr("carrier-pigeon: it is not there"));
  EXPECT_THAT(fabric.error().message, AnyOf(HasSubstr("net"), HasSubstr("tcp")));
}

class LibfabricRegions : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Providers,
                         LibfabricRegions,
                         ::testing::Values("tcp", "tcp;ofi_rxm", "shm"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, ';', '_');
                           return name;
                         });

TEST_P(LibfabricRegions, PutsGoBetweenAnyOfThem) {
  std::vector<Rank> ranks(2);
  ASSERT_NO_FATAL_FAILURE(open_ranks(ranks, 8192, {.provider = GetParam(), .qps = 2}));
  test::expect_puts_between_regions(ranks, 4096);
}

TEST(LibfabricOptions, AnAddressThatIsNotOursIsNamed) {
  const auto fabric = create_libfabric({.bind_address = "203.0.113.7"});
  ASSERT_FALSE(fabric.has_value());
  EXPECT_THAT(fabric.error().message,
              AnyOf(HasSubstr("no interface of it has the address 203.0.113.7"),
                    HasSubstr("bind_address must be the address of an interface here")));
}

TEST(LibfabricOptions, ADeviceThatIsNotThereIsNamed) {
  const auto fabric = create_libfabric({.domain = "rocket0"});
  ASSERT_FALSE(fabric.has_value());
  EXPECT_THAT(fabric.error().message, HasSubstr("it has no device 'rocket0'"));
}

TEST(LibfabricOptions, ImpossibleNumbersAreRefused) {
  EXPECT_FALSE(create_libfabric({.qps = 0}).has_value());
  EXPECT_FALSE(create_libfabric({.depth = 0}).has_value());
  EXPECT_FALSE(create_libfabric({.arrivals = 0}).has_value());
}

TEST(LibfabricConnect, RefusesPeersThatDiffer) {
  const auto message = [](const LibfabricOptions& mine,
                          const std::vector<std::byte>& address) -> std::string {
    auto fabric = create_libfabric(mine);
    std::vector<std::byte> region(64);
    EXPECT_TRUE((*fabric)->expose(region).has_value());
    const Status status = (*fabric)->connect(std::vector<std::vector<std::byte>>{address});
    return status.has_value() ? "" : status.error().message;
  };
  auto other = create_libfabric({.qps = 2});
  ASSERT_TRUE(other.has_value()) << other.error().message;
  EXPECT_THAT((*other)->address().error().message, HasSubstr("expose() before address()"));
  std::vector<std::byte> region(64);
  ASSERT_TRUE((*other)->expose(region).has_value());
  EXPECT_THAT((*other)->expose(region).error().message, HasSubstr("twice"));
  auto address = (*other)->address();
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(message({.qps = 2}, *address), "");
  EXPECT_THAT(message({.qps = 1}, *address), HasSubstr("peer 0 has 2 queue pairs, this rank 1"));
  EXPECT_THAT(message({.qps = 2}, std::vector<std::byte>(9)), HasSubstr("peer 0: an address of 9"));

  MockNetwork network(1);
  auto mock = network.create(0);
  ASSERT_TRUE((*mock)->expose(region).has_value());
  EXPECT_THAT(message({}, *(*mock)->address()), HasSubstr("same fabric"));
}

}  // namespace
}  // namespace shunt::fabric
