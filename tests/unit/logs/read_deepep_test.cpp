// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "logs/reader.hpp"

namespace shunt::logs {
namespace {

Evidence read(std::string_view text) {
  Evidence evidence;
  gather(make_document("log", text), evidence);
  return evidence;
}

TEST(ReadDeepep, FirstGenerationRowsTakeTheOperationOfTheirBestLine) {
  const Evidence e = read(
      "[tuning] SMs 24, NVL chunk 8, RDMA chunk 12: 39.17 GB/s (RDMA), 127.84 GB/s (NVL) \n"
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 8, RDMA chunk 12: 39.17 GB/s (RDMA), "
      "127.84 GB/s (NVL)\n"
      "[tuning] Best combine: SMs 24, NVL chunk 3, RDMA chunk 12: 38.02 GB/s (RDMA), 124.11 GB/s "
      "(NVL)\n");
  ASSERT_EQ(e.samples.size(), 6U);
  EXPECT_EQ(e.samples[0].operation, Operation::kDispatch);
  EXPECT_EQ(e.samples[0].dtype, "fp8");
  EXPECT_FALSE(e.samples[0].best);
  EXPECT_TRUE(e.samples[2].best);
  EXPECT_DOUBLE_EQ(*e.samples[3].rate_gbs, 127.84);
  EXPECT_EQ(e.samples[4].operation, Operation::kCombine);
  EXPECT_DOUBLE_EQ(e.samples[4].settings.at("rdma_chunk"), 12);
  EXPECT_TRUE(e.unread.empty());
}

TEST(ReadDeepep, SecondAndThirdGenerationTimes) {
  const Evidence e = read(
      "[tuning] SMs 24, NVL chunk 8, RDMA chunk 12, transmit: 2988.00 us, notify: 88.41 us, BW: "
      "39.17 GB/s (RDMA), 127.84 GB/s (NVL) \n"
      "[tuning] Best combine: SMs 24, NVL chunk 3, RDMA chunk 12, 91.20 + 3080.44 us, 38.02 GB/s "
      "(RDMA), 124.11 GB/s (NVL)\n");
  ASSERT_EQ(e.samples.size(), 4U);
  EXPECT_DOUBLE_EQ(*e.samples[0].time_us, 2988.0);
  EXPECT_DOUBLE_EQ(*e.samples[0].notify_us, 88.41);
  EXPECT_DOUBLE_EQ(*e.samples[2].time_us, 3080.44);
  EXPECT_DOUBLE_EQ(*e.samples[2].notify_us, 91.20);
}

TEST(ReadDeepep, IntranodeGenerations) {
  const Evidence e = read(
      "[tuning] SMs 24, NVL chunk 10: 151.33 GB/s (NVL) \n"
      "[tuning] SMs 24, NVL chunk default: 150.90 GB/s (NVL), avg_t: 611.20 us\n"
      "[tuning] SMs 24, NVL chunk 10: 151.33 GB/s (NVL), 609.45 us\n"
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 10, 151.33 GB/s (NVL), t: 609.45 us\n");
  ASSERT_EQ(e.samples.size(), 4U);
  EXPECT_FALSE(e.samples[0].time_us);
  EXPECT_DOUBLE_EQ(*e.samples[1].time_us, 611.20);
  EXPECT_DOUBLE_EQ(*e.samples[2].time_us, 609.45);
  EXPECT_DOUBLE_EQ(*e.samples[3].time_us, 609.45);
  EXPECT_EQ(e.samples[3].format, "deepep-intranode");
}

TEST(ReadDeepep, ACutRowIsReportedNotRead) {
  const Evidence e = read("[tuning] SMs 16, NVL chunk 20, RDMA");
  EXPECT_TRUE(e.samples.empty());
  ASSERT_EQ(e.truncated.size(), 1U);
  EXPECT_EQ(e.truncated[0].source.line, 1U);
}

}  // namespace
}  // namespace shunt::logs
