// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the engines share: several fabrics of one process, connected all to all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "fabric/fabric.hpp"

namespace shunt::fabric::test {

constexpr std::uint64_t kPatienceNs =
    20'000'000'000;  ///< Bounds loops; never a measure of success.

/// A rank of a test: its region and its fabric. peer index = rank; peers[self] is itself.
struct Rank {
  std::vector<std::byte> region;
  std::unique_ptr<Fabric> fabric;
};

/// Exposes, exchanges addresses, connects. The regions exist already; with a `cut`, each is exposed
/// as two that end and begin there.
inline void connect_all(std::vector<Rank>& ranks, std::size_t cut = 0) {
  std::vector<std::vector<std::byte>> addresses;
  for (Rank& rank : ranks) {
    const std::span<std::byte> whole(rank.region);
    const Region parts[] = {{whole.first(cut)}, {whole.subspan(cut)}};
    const Status exposed =
        cut == 0 ? rank.fabric->expose(whole) : rank.fabric->expose_regions(parts);
    ASSERT_TRUE(exposed.has_value()) << exposed.error().to_string();
    auto address = rank.fabric->address();
    ASSERT_TRUE(address.has_value()) << address.error().to_string();
    addresses.push_back(*address);
  }
  for (Rank& rank : ranks) {
    const Status connected = rank.fabric->connect(addresses);
    ASSERT_TRUE(connected.has_value()) << connected.error().to_string();
  }
}

/// A byte that depends on all three, so that a stale or misplaced row shows.
inline std::byte pattern(std::uint64_t seed, std::uint64_t message, std::uint64_t position) {
  const std::uint64_t mixed = (seed * 0x9e3779b1U + message) * 0x85ebca77U + position * 131U;
  return static_cast<std::byte>((mixed >> 7) ^ mixed);
}

/// Polls all ranks in turn until `done`; every event goes to `seen` (rank, event).
inline bool poll_until(std::vector<Rank>& ranks,
                       const std::function<bool()>& done,
                       const std::function<void(std::size_t, const Event&)>& seen) {
  const Deadline deadline = Deadline::after_ns(kPatienceNs);
  std::vector<Event> events(16);
  while (!done()) {
    if (deadline.expired()) return false;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const std::size_t count = ranks[rank].fabric->poll(events);
      for (std::size_t i = 0; i < count; ++i) seen(rank, events[i]);
    }
  }
  return true;
}

/// Two ranks with regions of 2 · `half` bytes, not connected: puts between all pairs of regions
/// arrive where they should, and one that crosses a border is refused.
inline void expect_puts_between_regions(std::vector<Rank>& ranks, std::size_t half) {
  ASSERT_NO_FATAL_FAILURE(connect_all(ranks, half));
  for (std::size_t i = 0; i < 2 * half; ++i) ranks[0].region[i] = pattern(1, 0, i);
  std::vector<Put> puts;
  for (const std::size_t from : {std::size_t{0}, half}) {
    for (const std::size_t to : {std::size_t{0}, half}) {
      Put put{.context = puts.size(), .source_offset = from + 3, .bytes = half / 2 - 3, .peer = 1};
      put.target_offset = to + (from == 0 ? 0 : half / 2);
      put.immediate = static_cast<std::uint32_t>(puts.size());
      puts.push_back(put);
    }
  }
  puts.push_back({.context = 4, .source_offset = half - 1, .bytes = 2, .peer = 1});
  puts.push_back({.context = 5, .target_offset = half - 1, .bytes = 2, .peer = 1});
  ASSERT_EQ(ranks[0].fabric->post(puts), puts.size());
  std::size_t arrived = 0;
  std::vector<std::uint64_t> failed;
  const auto done = [&] { return arrived == 4 && failed.size() == 2; };
  const bool ended = poll_until(ranks, done, [&](std::size_t rank, const Event& event) {
    if (event.kind == Event::Kind::kFailed) failed.push_back(event.context);
    if (event.kind == Event::Kind::kArrived && rank == 1) ++arrived;
  });
  ASSERT_TRUE(ended) << arrived << " arrived, " << failed.size() << " refused";
  EXPECT_EQ(failed, (std::vector<std::uint64_t>{4, 5}));
  std::vector<std::byte> expected(2 * half);
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t i = 0; i < puts[p].bytes; ++i) {
      expected[puts[p].target_offset + i] = pattern(1, 0, puts[p].source_offset + i);
    }
  }
  EXPECT_TRUE(ranks[1].region == expected);
}

/// Waits far longer than any test's patience: only the wake-up can end them.
inline void expect_wake_to_end_waits(Fabric& fabric) {
  constexpr std::uint64_t kForEverNs = 600'000'000'000;
  std::thread waker([&] { fabric.wake(); });
  fabric.wait(kForEverNs);
  waker.join();
  // Given before the wait, and not used up by a poll() in between.
  fabric.wake();
  Event event;
  EXPECT_EQ(fabric.poll({&event, 1}), 0U);
  fabric.wait(kForEverNs);
}

}  // namespace shunt::fabric::test
