// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Whose rows come ahead, and who stores them.
#include "combine/ahead.hpp"

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace shunt::combine {
namespace {

exec::RankView view_of(int local, int locals, const memory::AheadRows& ahead) {
  exec::RankView rank;
  rank.rank = rank.local = local;
  rank.shape = *cluster::Shape::create(locals, locals);
  rank.layout = memory::Layout(rank.shape, {}, ahead);
  return rank;
}

TEST(AheadShare, BlocksFillEveryPlaceOnce) {
  for (const int locals : {2, 3, 8}) {
    for (const std::uint32_t rows : {0U, 1U, 7U, 36U}) {
      for (const int blocks : {1, 3, 16, 300}) {
        const exec::RankView rank = view_of(locals - 1, locals, {.rows = rows, .row_bytes = 16});
        std::set<std::pair<int, std::int32_t>> filled;
        for (int b = 0; b < blocks; ++b) {
          const AheadShare share = AheadShare::of(rank, b, blocks);
          for (int i = 0; i < share.count; ++i) {
            EXPECT_NE(share.owner(i), rank.local);
            EXPECT_LT(share.owner(i), locals);
            EXPECT_LT(share.place(i), static_cast<std::int32_t>(rows));
            EXPECT_TRUE(filled.emplace(share.owner(i), share.place(i)).second);
          }
        }
        EXPECT_EQ(filled.size(), static_cast<std::size_t>(locals - 1) * rows)
            << locals << " ranks, " << rows << " rows, " << blocks << " blocks";
      }
    }
  }
}

TEST(AheadPlace, OwnRowsHaveNone) {
  const exec::RankView rank = view_of(1, 3, {.rows = 4, .step_log2 = 1, .row_bytes = 16});
  EXPECT_EQ(ahead_place(rank, {.local = 0, .row = 6}), 3);
  EXPECT_EQ(ahead_place(rank, {.local = 2, .row = 0}), 0);
  EXPECT_EQ(ahead_place(rank, {.local = 2, .row = 1}), -1);
  EXPECT_EQ(ahead_place(rank, {.local = 2, .row = 8}), -1);
  EXPECT_EQ(ahead_place(rank, {.local = 1, .row = 0}), -1);
}

TEST(FindAhead, CountsTheRowsOfEarlierSources) {
  const exec::RankView rank = view_of(1, 3, {.rows = 4, .step_log2 = 1, .row_bytes = 16});
  std::vector<std::int64_t> rows_from = {5, 9, 3};
  CombineArgs args;
  args.maps.rows_from = rows_from.data();
  args.input.capacity_rows = 17;
  EXPECT_EQ(find_ahead(rank, args, 0, 2), 4);
  EXPECT_EQ(find_ahead(rank, args, 0, 3), -1);  // The sixth of five.
  EXPECT_EQ(find_ahead(rank, args, 2, 1), 16);
  args.input.capacity_rows = 16;  // An output that overflowed.
  EXPECT_EQ(find_ahead(rank, args, 2, 1), -1);
  EXPECT_EQ(find_ahead(rank, args, 2, 0), 14);
}

}  // namespace
}  // namespace shunt::combine
