// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/striped_fabric.hpp"

#include <memory>
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
using ::testing::HasSubstr;

/// A network a NIC, and ranks that stripe over all of them.
struct Striped {
  std::vector<std::unique_ptr<MockNetwork>> networks;
  std::vector<Rank> ranks;

  Striped(int count, int nics, int qps, std::size_t region_bytes, bool faulty = false) {
    for (int k = 0; k < nics; ++k) {
      networks.push_back(std::make_unique<MockNetwork>(
          count, MockOptions{.depth = 8, .qps = qps_of_nic(qps, nics, k)}));
    }
    ranks.resize(static_cast<std::size_t>(count));
    for (int rank = 0; rank < count; ++rank) {
      std::vector<std::unique_ptr<Fabric>> parts;
      for (const auto& network : networks) {
        auto part = network->create(rank);
        EXPECT_TRUE(part);
        parts.push_back(std::move(*part));
        if (!faulty) continue;
        auto bad = FaultyFabric::create(
            std::move(parts.back()),
            {.seed = parts.size(), .hold_puts = 5, .hold_arrivals = 8, .hold_completions = 9});
        EXPECT_TRUE(bad);
        parts.back() = std::move(*bad);
      }
      auto fabric = stripe(std::move(parts), qps);
      EXPECT_TRUE(fabric);
      Rank& made = ranks[static_cast<std::size_t>(rank)];
      made.region.resize(region_bytes);
      made.fabric = std::move(*fabric);
    }
  }
};

TEST(StripedFabric, SharesOutQueuePairs) {
  for (const int nics : {1, 2, 3, 4}) {
    for (int qps = nics; qps < 12; ++qps) {
      std::vector<int> counted(static_cast<std::size_t>(nics), 0);
      for (int q = 0; q < qps; ++q) ++counted[static_cast<std::size_t>(q % nics)];
      for (int k = 0; k < nics; ++k) {
        EXPECT_EQ(qps_of_nic(qps, nics, k), counted[static_cast<std::size_t>(k)]);
      }
    }
  }
}

TEST(StripedFabric, DataIsThereWhenTheImmediateIs) {
  for (const bool faulty : {false, true}) {
    test::StreamShape shape{.ranks = 3, .qps = 5, .messages = 150, .window = 5};
    shape.sizes = {0, 1, 7, 333, 512};
    Striped world(shape.ranks, 3, shape.qps, shape.region_bytes(), faulty);
    ASSERT_NO_FATAL_FAILURE(test::connect_all(world.ranks));
    EXPECT_EQ(world.ranks[0].fabric->depth(), 24U);
    for (const auto& streamer : test::stream_in_threads(world.ranks, shape)) {
      EXPECT_EQ(streamer.complaint(), "");
      EXPECT_EQ(streamer.duplicates(), 0U);
    }
  }
}

TEST(StripedFabric, QueuePairsThatAreNotThereFailWithTheirNic) {
  Striped world(2, 2, 3, 64);
  ASSERT_NO_FATAL_FAILURE(test::connect_all(world.ranks));
  std::vector<Put> puts;
  for (const std::int32_t qp : {0, 1, 2, 3, -1}) {
    puts.push_back({.context = static_cast<std::uint64_t>(qp + 10), .peer = 1, .qp = qp});
  }
  ASSERT_EQ(world.ranks[0].fabric->post(puts), puts.size());
  std::vector<std::uint64_t> completed, failed;
  std::vector<Event> one(1);
  while (world.ranks[0].fabric->poll(one) == 1) {
    const bool ok = one[0].kind == Event::Kind::kCompleted;
    (ok ? completed : failed).push_back(one[0].context);
    if (ok) continue;
    EXPECT_THAT(world.ranks[0].fabric->last_error().message, HasSubstr("of this rank)"));
  }
  EXPECT_THAT(completed, ::testing::UnorderedElementsAre(10, 11, 12));
  EXPECT_THAT(failed, ::testing::UnorderedElementsAre(13, 9)) << "queue pairs that are not there";
}

TEST(StripedFabric, ThePeersHaveAsManyNics) {
  Striped two(2, 2, 4, 64);
  Striped three(2, 3, 4, 64);
  ASSERT_TRUE(two.ranks[0].fabric->expose(two.ranks[0].region));
  ASSERT_TRUE(three.ranks[0].fabric->expose(three.ranks[0].region));
  const std::vector<std::vector<std::byte>> theirs{*three.ranks[0].fabric->address()};
  const Status refused = two.ranks[0].fabric->connect(theirs);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("peer 0 has 3 NICs, this rank 2"));
  for (std::size_t bytes = 1; bytes < theirs[0].size(); ++bytes) {
    const std::vector<std::vector<std::byte>> cut{
        {theirs[0].begin(), theirs[0].begin() + static_cast<std::ptrdiff_t>(bytes)}};
    EXPECT_FALSE(two.ranks[0].fabric->connect(cut)) << bytes;
  }
}

TEST(StripedFabric, NeedsAQueuePairANic) {
  EXPECT_FALSE(stripe({}, 1));
  MockNetwork a(1);
  MockNetwork b(1);
  std::vector<std::unique_ptr<Fabric>> parts;
  parts.push_back(std::move(*a.create(0)));
  parts.push_back(std::move(*b.create(0)));
  const auto refused = stripe(std::move(parts), 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("2 NICs need 2 queue pairs"));
}

}  // namespace
}  // namespace shunt::fabric
