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

TEST(Layout, RowsThatComeAheadLieInTheDevicesPart) {
  const AheadRows ahead{.rows = 5, .step_log2 = 1, .row_bytes = 48};
  const Layout with(*cluster::Shape::create(3, 3), {}, ahead);
  const Layout without(*cluster::Shape::create(3, 3), {});
  EXPECT_EQ(with.ahead.rows, 5U);
  EXPECT_GE(with.ahead_ready, without.counts);
  EXPECT_GE(with.ahead_rows, with.ahead_ready + std::size_t{3} * 5 * 8);
  EXPECT_GE(with.fabric_begin, with.ahead_rows + std::size_t{3} * 5 * 48);
  EXPECT_EQ(with.ahead_rows % 128, 0U);
  EXPECT_EQ(without.ahead.rows, 0U);
  // Only where all ranks of the world are node peers.
  EXPECT_EQ(Layout(*cluster::Shape::create(6, 3), {}, ahead).ahead.rows, 0U);
  EXPECT_EQ(Layout(*cluster::Shape::create(1, 1), {}, ahead).ahead.rows, 0U);
}

TEST(AheadRows, APlaceHasOneRow) {
  for (const AheadRows& ahead :
       {AheadRows{.rows = 7}, AheadRows{.rows = 5, .step_log2 = 3}, AheadRows{}}) {
    std::int32_t next = 0;
    for (std::int32_t row = 0; row < 1000; ++row) {
      const std::int32_t place = ahead.place(row);
      if (place < 0) continue;
      EXPECT_EQ(place, next++);
      EXPECT_EQ(ahead.row(place), row);
    }
    EXPECT_EQ(next, static_cast<std::int32_t>(ahead.rows));
  }
  EXPECT_EQ((AheadRows{.rows = 3, .step_log2 = 20}).place(0x7fff'ffff), -1);
}

using Line = PostingLine;

TEST(DoneLine, SharesOfBlocksMakeAWhole) {
  for (int blocks = 1; blocks <= 1500; ++blocks) {
    std::uint64_t all = 0;
    for (int b = 0; b < blocks; ++b) {
      ASSERT_GT(share_of(b, blocks), 0U) << b << " of " << blocks;
      all += share_of(b, blocks);
    }
    ASSERT_EQ(all, kWhole) << blocks;
  }
}

TEST(PostingLine, EveryWordHasItsValue) {
  const Posting posting{.rows_offset = 0x1234'5678'9abc,
                        .ids_offset = ~std::uint64_t{0},
                        .weights_offset = 64,
                        .sources_offset = Line::kValue - 1,
                        .capacity_rows = 0,
                        .hash = 0xfedc'ba98'7654};
  for (const std::uint64_t op : {0ULL, 1ULL, 65534ULL, 65535ULL, 65536ULL, 1ULL << 40}) {
    const Line line = Line::of(posting, op);
    EXPECT_EQ(line.words[Line::kReady], op + 1);
    EXPECT_EQ(Line::value(line.words[Line::kRows]), posting.rows_offset);
    EXPECT_EQ(Line::value(line.words[Line::kIds]), posting.ids_offset);
    EXPECT_EQ(Line::value(line.words[Line::kWeights]), posting.weights_offset);
    EXPECT_EQ(Line::value(line.words[Line::kSources]), posting.sources_offset);
    EXPECT_EQ(Line::value(line.words[Line::kCapacity]), posting.capacity_rows);
    EXPECT_EQ(Line::value(line.words[Line::kHash]), posting.hash);
  }
}

TEST(PostingLine, AWordHoldsForItsOperationAndNotForTheOneAfter) {
  Line line;  // As a heap begins.
  for (std::uint64_t op = 0; op < (1ULL << 17); ++op) {
    for (int w = Line::kHash; w < Line::kUsed; ++w) {
      ASSERT_FALSE(Line::holds(line.words[w], op)) << op << " " << w;
    }
    line = Line::of({~std::uint64_t{0}, 1, 2, 3, 4, Line::kValue - 1}, op);
    for (int w = Line::kHash; w < Line::kUsed; ++w) {
      ASSERT_TRUE(Line::holds(line.words[w], op)) << op << " " << w;
    }
  }
}

}  // namespace
}  // namespace shunt::memory
