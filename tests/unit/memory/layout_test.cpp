// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/layout.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace shunt::memory {
namespace {

TEST(Layout, NothingOverlapsAndOnlyChunksLieBehindTheBorder) {
  const auto shape = *cluster::Shape::create(12, 3);
  const ChannelSizes sizes{{5, 7, 4}, {1000, 4097, 96}};
  const Layout layout(shape, sizes);
  const std::size_t peers = 3;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  // begin, end
  for (std::size_t kind = 0; kind < 3; ++kind) {
    const std::size_t slots = peers * sizes.capacity[kind];
    const std::size_t bytes = slots * layout.slot_bytes[kind];
    EXPECT_GE(layout.slot_bytes[kind], sizes.slot_bytes[kind]);
    ranges.emplace_back(layout.arrived[kind], layout.arrived[kind] + slots * 8);
    ranges.emplace_back(layout.completed[kind], layout.completed[kind] + slots * 8);
    ranges.emplace_back(layout.credit[kind], layout.credit[kind] + peers * 8);
    ranges.emplace_back(layout.landing[kind], layout.landing[kind] + bytes);
    ranges.emplace_back(layout.staging[kind], layout.staging[kind] + bytes);
    const bool behind = layout.landing[kind] >= layout.slots_begin;
    EXPECT_EQ(behind, Layout::holds_chunks(static_cast<int>(kind)));
    EXPECT_EQ(behind, layout.staging[kind] >= layout.slots_begin);
  }
  std::ranges::sort(ranges);
  EXPECT_GE(ranges.front().first, layout.fabric_begin);
  EXPECT_LE(ranges.back().second, layout.fabric_end);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    EXPECT_LE(ranges[i - 1].second, ranges[i].first);
    // Whole ranges lie on one side.
    const auto [begin, end] = ranges[i - 1];
    EXPECT_TRUE(end <= layout.slots_begin || begin >= layout.slots_begin);
  }
  EXPECT_EQ(layout.slots_begin % 4096, 0U);
  EXPECT_EQ(layout.fabric_end % 4096, 0U);
}

}  // namespace
}  // namespace shunt::memory
