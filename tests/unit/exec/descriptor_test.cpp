// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/descriptor.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "exec/cpu/descriptor_ring.hpp"

namespace shunt::exec {
namespace {

Descriptor any(Random& random) {
  return {random.below(2) == 0 ? DescriptorKind::kPut : DescriptorKind::kConsumed,
          static_cast<fabric::SignalKind>(random.below(3)),
          static_cast<std::uint32_t>(random.below(kMaxPeers)),
          static_cast<std::uint32_t>(random.next()),
          random.below(std::uint64_t{1} << 48)};
}

TEST(Descriptor, SurvivesPacking) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const Descriptor d = any(random);
    const auto lap = static_cast<std::uint8_t>(random.next());
    const PackedDescriptor packed = pack(d, lap);
    ASSERT_EQ(unpack(packed), d);
    ASSERT_EQ(lap_of(packed.low), lap);
    ASSERT_EQ(lap_of(packed.high), lap);
  }
  const Descriptor extremes{DescriptorKind::kConsumed,
                            fabric::SignalKind::kCount,
                            kMaxPeers - 1,
                            0xffff'ffffU,
                            (std::uint64_t{1} << 48) - 1};
  EXPECT_EQ(unpack(pack(extremes, 255)), extremes);
}

TEST(Descriptor, ALapIsNeverZeroAndDiffersFromItsNeighbours) {
  for (std::uint64_t index = 0; index < 64 * 1000; ++index) {
    ASSERT_NE(ring_lap(index, 64), 0);
    ASSERT_NE(ring_lap(index, 64), ring_lap(index + 64, 64));
  }
}

TEST(DescriptorRing, IsAQueueOverManyLaps) {
  cpu::DescriptorRing ring(10);  // 64 entries
  DescriptorReader reader(ring.view());
  Random random(2);
  std::vector<Descriptor> queue;
  std::size_t head = 0;
  std::uint64_t refused = 0;
  while (head < 64 * 600) {
    // Longer bursts than the ring holds.
    for (std::uint64_t i = random.below(80); i > 0; --i) {
      const Descriptor d = any(random);
      const bool room = queue.size() - head < 64;
      ASSERT_EQ(ring.try_push(d), room);
      if (room) queue.push_back(d);
      refused += room ? 0 : 1;
    }
    for (std::uint64_t i = random.below(80); i > 0; --i) {
      Descriptor d;
      ASSERT_EQ(reader.empty(), head == queue.size());
      ASSERT_EQ(reader.try_pop(d), head != queue.size());
      if (head != queue.size()) {
        ASSERT_EQ(d, queue[head++]);
      }
    }
    ASSERT_EQ(reader.ready(1000), queue.size() - head);
    ASSERT_EQ(reader.ready(3), std::min<std::size_t>(3, queue.size() - head));
  }
  EXPECT_GT(refused, 0U);
}

TEST(DescriptorRing, SeveralProducersLoseNothingAndKeepTheirOrder) {
  constexpr std::uint64_t kEach = 20'000;
  constexpr std::uint32_t kProducers = 3;
  cpu::DescriptorRing ring(64);
  DescriptorReader reader(ring.view());
  std::vector<std::uint64_t> payload(kProducers * kEach, 0);
  std::vector<std::thread> threads;
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    threads.emplace_back([&ring, &payload, p] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        // Plain memory, published by the descriptor: what staging is to a put.
        payload[p * kEach + i] = i + 1;
        const Descriptor d{DescriptorKind::kPut,
                           fabric::SignalKind::kDispatchChunk,
                           p,
                           static_cast<std::uint32_t>(i * 7),
                           i};
        while (!ring.try_push(d)) std::this_thread::yield();
      }
    });
  }
  std::vector<std::uint64_t> next(kProducers, 0);
  bool right = true;
  for (std::uint64_t taken = 0; taken < kProducers * kEach;) {
    Descriptor d;
    if (!reader.try_pop(d)) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    right = right && d.peer < kProducers && d.sequence == next[d.peer] &&
            d.bytes == static_cast<std::uint32_t>(d.sequence * 7) &&
            payload[d.peer * kEach + d.sequence] == d.sequence + 1;
    if (d.peer < kProducers) ++next[d.peer];
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(right);
  EXPECT_EQ(next, std::vector<std::uint64_t>(kProducers, kEach));
  EXPECT_TRUE(reader.empty());
}

}  // namespace
}  // namespace shunt::exec
