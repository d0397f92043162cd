// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/heap.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "bootstrap/threads_world.hpp"

namespace shunt::memory {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kLong = 60'000'000'000;

/// Every rank stores into every node peer's heap and finds what every peer stored into its own.
Status exchange_marks(bootstrap::World& world, const Heap& heap, const cluster::Shape& shape) {
  for (std::size_t local = 0; local < heap.windows().size(); ++local) {
    heap.windows()[local].base[shape.local_of(world.rank())] =
        static_cast<std::byte>(world.rank() * 16 + static_cast<int>(local) + 1);
  }
  SHUNT_TRY(world.barrier());
  for (int local = 0; local < shape.ranks_per_node; ++local) {
    const int peer = shape.rank_of(shape.node_of(world.rank()), local);
    EXPECT_EQ(heap.base()[local],
              static_cast<std::byte>(peer * 16 + shape.local_of(world.rank()) + 1));
  }
  return world.barrier();
}

TEST(ThreadsHeap, NodePeersShareAndOthersDoNot) {
  for (const int per_node : {1, 2, 4}) {
    const auto shape = cluster::Shape::create(4, per_node).value();
    const Status status = bootstrap::run_threads(4, kLong, [&](bootstrap::World& world) -> Status {
      auto heap = Heap::create(world, shape, 5000);
      if (!heap) return Unexpected(heap.error());
      EXPECT_EQ((*heap)->size(), 5000U);
      EXPECT_EQ((*heap)->windows().size(), static_cast<std::size_t>(per_node));
      EXPECT_EQ((*heap)->window(shape.local_of(world.rank())).base, (*heap)->base());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*heap)->base()) % 4096, 0U);
      for (std::size_t i = 0; i < 5000; ++i) {
        if ((*heap)->base()[i] != std::byte{0}) return usage_error("byte {} is not zero", i);
      }
      SHUNT_TRY(world.barrier());
      return exchange_marks(world, **heap, shape);
    });
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(ThreadsHeap, SeveralHeapsOfOneWorldAreSeparate) {
  const auto shape = cluster::Shape::create(2, 2).value();
  const Status status = bootstrap::run_threads(2, kLong, [&](bootstrap::World& world) -> Status {
    std::vector<std::unique_ptr<Heap>> heaps;
    for (const std::size_t bytes : {100U, 100'000U, 64U}) {
      auto heap = Heap::create(world, shape, bytes, {.populate = false, .huge_pages = false});
      if (!heap) return Unexpected(heap.error());
      heaps.push_back(std::move(*heap));
    }
    EXPECT_NE(heaps[0]->base(), heaps[2]->base());
    for (const auto& heap : heaps) SHUNT_TRY(exchange_marks(world, *heap, shape));
    return {};
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(ThreadsHeap, AWindowOutlivesItsOwnersHeap) {
  const auto shape = cluster::Shape::create(2, 2).value();
  const Status status = bootstrap::run_threads(2, kLong, [&](bootstrap::World& world) -> Status {
    auto heap = Heap::create(world, shape, 4096);
    if (!heap) return Unexpected(heap.error());
    if (world.rank() == 1) (*heap)->base()[17] = std::byte{42};
    SHUNT_TRY(world.barrier());
    if (world.rank() == 1) heap->reset();
    SHUNT_TRY(world.barrier());
    if (world.rank() == 0) {
      EXPECT_EQ((*heap)->window(1).base[17], std::byte{42});
    }
    return {};
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(ThreadsHeap, DifferentSizesAreRefusedOnAllRanks) {
  const auto shape = cluster::Shape::create(3, 3).value();
  (void)bootstrap::run_threads(3, kLong, [&](bootstrap::World& world) -> Status {
    const auto heap = Heap::create(world, shape, world.rank() == 2 ? 200 : 100);
    EXPECT_FALSE(heap);
    EXPECT_EQ(heap.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(heap.error().message, HasSubstr("rank 0 asks for a heap of 100 bytes, rank 2"));
    return {};
  });
}

TEST(ThreadsHeap, ImpossibleSizesAreRefusedByName) {
  const auto shape = cluster::Shape::create(2, 2).value();
  (void)bootstrap::run_threads(2, kLong, [&](bootstrap::World& world) -> Status {
    const auto none = Heap::create(world, shape, 0);
    EXPECT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
    const auto all = Heap::create(world, shape, std::numeric_limits<std::size_t>::max());
    EXPECT_FALSE(all);
    EXPECT_EQ(all.error().code, ErrorCode::kInvalidArgument);
    const auto too_much = Heap::create(world, shape, std::size_t{1} << 50);
    EXPECT_FALSE(too_much);
    EXPECT_EQ(too_much.error().code, ErrorCode::kOutOfMemory);
    EXPECT_THAT(too_much.error().message, HasSubstr("each of 2 ranks on this machine"));
    return {};
  });
}

TEST(ThreadsHeap, AShapeOfAnotherWorldIsRefused) {
  const auto shape = cluster::Shape::create(4, 2).value();
  (void)bootstrap::run_threads(2, kLong, [&](bootstrap::World& world) -> Status {
    const auto heap = Heap::create(world, shape, 100);
    EXPECT_FALSE(heap);
    EXPECT_EQ(heap.error().message, "the shape has 4 ranks, the world has 2");
    return {};
  });
}

}  // namespace
}  // namespace shunt::memory
