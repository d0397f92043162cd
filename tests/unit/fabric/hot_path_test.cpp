// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The budget of the hot path: once connected, neither posting nor polling allocates.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/libfabric_fabric.hpp"
#include "fabric/mock_fabric.hpp"
#include "fabric_rig.hpp"
#include "support/allocations.hpp"

namespace shunt::fabric {
namespace {

/// Allocations while `puts` puts go from rank 0 to rank 1, arrive and complete; −1 if they did not.
std::int64_t count_allocations(std::vector<test::Rank>& ranks, std::uint64_t puts) {
  const Deadline deadline = Deadline::after_ns(test::kPatienceNs);
  std::array<Event, 16> events;
  std::array<std::uint64_t, 2> seen{};
  std::uint64_t posted = 0;
  const std::uint64_t before = testing::allocations();
  while (seen[0] < puts || seen[1] < puts) {
    if (deadline.expired()) return -1;
    const Put put{.context = posted, .bytes = 64, .peer = 1};
    if (posted < puts) posted += ranks[0].fabric->post({&put, 1});
    for (std::size_t rank = 0; rank < 2; ++rank) seen[rank] += ranks[rank].fabric->poll(events);
  }
  return static_cast<std::int64_t>(testing::allocations() - before);
}

TEST(HotPath, MockDoesNotAllocate) {
  MockNetwork network(2);
  std::vector<test::Rank> ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks[static_cast<std::size_t>(rank)].region.resize(64);
    ranks[static_cast<std::size_t>(rank)].fabric = std::move(*network.create(rank));
  }
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  EXPECT_EQ(count_allocations(ranks, 5000), 0);
}

TEST(HotPath, LibfabricDoesNotAllocate) {
  std::vector<test::Rank> ranks(2);
  for (test::Rank& rank : ranks) {
    rank.region.resize(64);
    auto fabric = create_libfabric({.depth = 32});
    ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
    rank.fabric = std::move(*fabric);
  }
  ASSERT_NO_FATAL_FAILURE(test::connect_all(ranks));
  EXPECT_EQ(count_allocations(ranks, 5000), 0);
}

TEST(HotPath, TheCounterCounts) {
  const std::uint64_t before = testing::allocations();
  std::vector<int> something(10);
  something.resize(1000);
  EXPECT_GT(testing::allocations(), before);
}

}  // namespace
}  // namespace shunt::fabric
