// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a list as units of work: every element of every row falls to one unit.
#include <vector>

#include <gtest/gtest.h>

#include "exec/phase.hpp"

namespace shunt::exec {
namespace {

TEST(RowUnits, EveryElementFallsToOneUnit) {
  constexpr std::uint64_t kElements = 1000;
  constexpr std::uint64_t kGrain = 64;
  for (const RowUnits& units :
       {RowUnits{5, 0, 1, 1}, RowUnits{5, 2, 1, 4}, RowUnits{7, 7, 2, 4}, RowUnits{3, 1, 4, 4}}) {
    std::vector<std::vector<int>> visits(static_cast<std::size_t>(units.rows),
                                         std::vector<int>(kElements, 0));
    std::int64_t last = 0;
    for (std::int64_t u = 0; u < units.count(); ++u) {
      const std::int64_t row = units.row(u);
      EXPECT_GE(row, last);
      last = row;
      const RowShare share = units.share(u);
      EXPECT_EQ(share.slices, row < units.rows - units.tail ? units.slices : units.tail_slices);
      const Slice slice = slice_of(share, kElements, kGrain);
      EXPECT_EQ(slice.begin % kGrain, 0U);
      for (std::uint64_t e = slice.begin; e < slice.begin + slice.count; ++e) {
        ++visits.at(static_cast<std::size_t>(row)).at(e);
      }
    }
    for (const auto& row : visits) EXPECT_EQ(row, std::vector<int>(kElements, 1));
  }
}

/// What units_of asks.
struct Warps {
  int block_count;
  int warp_count;
  int sharing;
  [[nodiscard]] int blocks() const { return block_count; }
  [[nodiscard]] int warps() const { return warp_count; }
  [[nodiscard]] int row_warps() const { return sharing; }
};

TEST(RowUnits, TheTailIsOneRowForEveryWarpOfAListThatIsLongEnough) {
  const Warps warps{2, 4, 1};
  EXPECT_EQ(units_of(warps, 15, 4).tail, 0);
  EXPECT_EQ(units_of(warps, 16, 4).tail, 8);
  EXPECT_EQ(units_of(warps, 16, 4).count(), 8 + 8 * 4);
  EXPECT_EQ(units_of(warps, 16, 1).tail, 0);
  EXPECT_EQ(units_of(Warps{2, 4, 4}, 16, 4).count(), 64);
  EXPECT_EQ(units_of(Warps{2, 4, 4}, 16, 4).tail, 0);
}

}  // namespace
}  // namespace shunt::exec
