// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/counts.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace shunt::dispatch {
namespace {

/// Rows of each source for each local rank, and where those of the rail's ranks begin.
struct Case {
  cluster::Shape shape;
  std::vector<std::vector<std::int32_t>> rows;  // [source][local]
  std::vector<std::int32_t> base;               // [node][local]

  Case(int world, int per_node, std::int32_t each)
      : shape{world, per_node, world / per_node},
        rows(static_cast<std::size_t>(world),
             std::vector<std::int32_t>(static_cast<std::size_t>(per_node), each)),
        base(static_cast<std::size_t>(world), -1) {}

  std::int64_t sum(int rail, int local) {
    return sum_rows(
        shape,
        rail,
        local,
        [&](int source) { return rows[static_cast<std::size_t>(source)].data(); },
        base.data());
  }
};

TEST(SumRows, BasesAreTheRowsOfLowerSources) {
  Case c(6, 2, 0);
  for (int source = 0; source < 6; ++source) {
    c.rows[static_cast<std::size_t>(source)] = {source + 1, 10 * source};
  }
  EXPECT_EQ(c.sum(1, 0), 21);
  EXPECT_EQ(c.sum(1, 1), 150);
  // Rail 1: sources 1, 3 and 5.
  EXPECT_EQ(c.base, (std::vector<std::int32_t>{1, 0, 6, 30, 15, 100}));
}

TEST(SumRows, DoesNotWrapWhereTheSumExceedsAReference) {
  Case c(8, 4, 0x2000'0000);
  EXPECT_EQ(c.sum(0, 3), std::int64_t{0x2000'0000} * 8);
  EXPECT_GT(c.sum(0, 3), kMostRows);
  Case fits(4, 4, 0x1fff'ffff);
  EXPECT_LE(fits.sum(2, 1), kMostRows);
  EXPECT_EQ(fits.base[1], 2 * 0x1fff'ffff);
}

TEST(TooManyRows, NamesRankRowsAndLimit) {
  const Error error = exec::describe_too_many_rows(7, 3, 4'294'967'296);
  EXPECT_EQ(error.code, ErrorCode::kProtocol);
  EXPECT_NE(error.message.find("operation 7: rank 3 would receive 4294967296 rows; at most "
                               "2147483647"),
            std::string::npos)
      << error.message;
}

}  // namespace
}  // namespace shunt::dispatch
