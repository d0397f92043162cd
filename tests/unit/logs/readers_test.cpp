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

TEST(ReadNccl, EmptyRedopColumnDoesNotShiftTheOthers) {
  const Evidence e = read(
      "#       size         count      type   redop     time   algbw   busbw  error     time   "
      "algbw   "
      "busbw  error\n"
      "   268435456       1048576     float           520935    0.52    0.51  0e+00   519562    "
      "0.52    "
      "0.51  1e+00\n");
  ASSERT_EQ(e.sweeps.size(), 1U);
  EXPECT_EQ(e.sweeps[0].operation, Operation::kAllToAll);
  EXPECT_DOUBLE_EQ(*e.sweeps[0].rows[0].time_us, 520935);
  EXPECT_FALSE(e.sweeps[0].rows[0].wrong) << "the old error column is no count of wrong values";
}

TEST(ReadNccl, ARowThatLostItsSizeIsInferredAndMarked) {
  const Evidence e = read(
      "     366.5    1.43    2.74      0     340.8    1.54    2.95      0\n"
      "     1048576        262144     float     sum      -1    626.5    1.67    3.14      0    "
      "602.3    "
      "1.74    3.27      0\n");
  ASSERT_EQ(e.sweeps.size(), 1U);
  ASSERT_EQ(e.sweeps[0].rows.size(), 2U);
  EXPECT_TRUE(e.sweeps[0].rows[0].size_inferred);
  EXPECT_DOUBLE_EQ(e.sweeps[0].rows[0].size_bytes, 524288);
}

TEST(ReadNccl, SweepsAreSplitWhereSizesStartAgain) {
  const std::string row =
      "   1048576  262144  float  sum  -1  100.0  10.49  19.66  0  100.0  10.49  19.66  0\n";
  const std::string larger =
      "   2097152  524288  float  sum  -1  200.0  10.49  19.66  0  200.0  10.49  19.66  0\n";
  EXPECT_EQ(read(row + larger + row + larger).sweeps.size(), 2U);
}

TEST(ReadPerftest, MegabytesAreBinaryAndGigabitsAreNot) {
  const Evidence mib = read(
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 65536      5000             11000.00            10000.00             0.160000\n");
  EXPECT_NEAR(*mib.sweeps.at(0).rows.at(0).rate_gbs, 10.48576, 1e-6);
  const Evidence gbit = read(
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             100.00            80.00             0.152588\n");
  EXPECT_NEAR(*gbit.sweeps.at(0).rows.at(0).rate_gbs, 10.0, 1e-9);
}

TEST(ReadLowLatency, RanksComeFromThePrefix) {
  const Evidence e = read(
      "[rank 11] Dispatch bandwidth: 58.21 GB/s, avg_t=130.17 us | Combine bandwidth: 66.90 GB/s, "
      "avg_t=219.44 us\n");
  ASSERT_EQ(e.samples.size(), 2U);
  EXPECT_EQ(e.samples[0].rank, 11);
  EXPECT_EQ(e.samples[1].operation, Operation::kCombine);
  EXPECT_DOUBLE_EQ(*e.samples[1].time_us, 219.44);
}

TEST(ReadLowLatency, ACutLineIsUsedForNothing) {
  const Evidence e =
      read("[rank 1] Dispatch bandwidth: 58.21 GB/s, avg_t=130.17 us | Combine bandw");
  EXPECT_TRUE(e.samples.empty());
  EXPECT_EQ(e.truncated.size(), 1U);
}

TEST(ReadHybridep, ThirdGenerationLine) {
  const Evidence e = read(
      "fused dispatch+permute (BF16):                   68.35 GB/s (RDMA), t: 1712.4 us "
      "[min=1711.9, "
      "max=1713.0], rdma_send_bytes: 117.05 MB\n");
  ASSERT_EQ(e.samples.size(), 1U);
  EXPECT_EQ(e.samples[0].variant, "fused permute");
  EXPECT_EQ(e.samples[0].path, Path::kRdma);
  EXPECT_EQ(e.samples[0].span, Span::kApi);
  EXPECT_DOUBLE_EQ(*e.samples[0].bytes, 117.05e6);
  EXPECT_DOUBLE_EQ(*e.samples[0].max_us, 1713.0);
}

TEST(ReadConfig, PrecedenceAndProvenance) {
  Evidence e =
      read("NUM_TOKENS_PER_RANK=4096\npython t.py --num-tokens 2048\n[config] num_tokens=1024\n");
  EXPECT_EQ(e.find("tokens")->value, "2048");
  EXPECT_EQ(e.find("tokens")->source.line, 2U);
  ASSERT_TRUE(set_option(e, "tokens=77"));
  EXPECT_EQ(e.find("tokens")->value, "77");
  EXPECT_EQ(e.find("tokens")->origin, Origin::kOption);
}

TEST(ReadConfig, SetRefusesUnknownKeysAndNonsense) {
  Evidence e;
  EXPECT_FALSE(set_option(e, "nodse=2"));
  EXPECT_FALSE(set_option(e, "nodes=two"));
  EXPECT_FALSE(set_option(e, "rate=400")) << "a rate needs its unit";
  EXPECT_FALSE(set_option(e, "nodes"));
  EXPECT_TRUE(set_option(e, "rate=400G"));
  EXPECT_DOUBLE_EQ(*e.number("rate"), 50);
}

TEST(ReadConfig, DeepepsWorldSizeCountsNodes) {
  const Evidence e = read("MASTER_ADDR=x WORLD_SIZE=2 RANK=0 python tests/test_low_latency.py\n");
  EXPECT_DOUBLE_EQ(*e.number("nodes"), 2);
  EXPECT_EQ(e.find("world"), nullptr);
}

TEST(ReadProse, HardwareAndCounts) {
  const Evidence e =
      read("We run two nodes with 8xH800 and 400 Gb/s ConnectX-7 NICs, put_bw 47 GB/s.\n");
  EXPECT_EQ(e.find("gpu")->value, "H800");
  EXPECT_EQ(e.find("nic")->value, "ConnectX-7");
  EXPECT_DOUBLE_EQ(*e.number("nodes"), 2);
  EXPECT_DOUBLE_EQ(*e.number("rate"), 50);
  EXPECT_DOUBLE_EQ(*e.number("ceiling"), 47);
}

TEST(ReadTables, CellsKeepTheirColumnsMeaning) {
  const Evidence e = read(
      "| Type | FP8 Dispatch #EP | Bottleneck bandwidth & latency | Combine #EP | Bottleneck "
      "bandwidth & "
      "latency |\n|:-:|:-:|:-:|:-:|:-:|\n| Internode | 8 | 41.5 GB/s (RDMA), 1451 us | 8 | 43.6 "
      "GB/s "
      "(RDMA), 2681 us |\n");
  ASSERT_EQ(e.samples.size(), 2U);
  EXPECT_EQ(e.samples[0].dtype, "fp8");
  EXPECT_EQ(e.samples[1].operation, Operation::kCombine);
  EXPECT_DOUBLE_EQ(*e.samples[1].time_us, 2681);
  EXPECT_DOUBLE_EQ(e.samples[0].settings.at("ranks"), 8);
}

TEST(ReadTables, HeadsOfTwoRowsAndHabitualUnits) {
  const Evidence evidence = read(
      "| #EP | Dispatch | | Combine | |\n| | latency | bandwidth | latency | bandwidth |\n"
      "|---|---|---|---|---|\n| 16 | 121 | 61 | 188 | 77 |\n");
  ASSERT_EQ(evidence.samples.size(), 2U);
  EXPECT_EQ(evidence.samples[0].operation, Operation::kDispatch);
  EXPECT_EQ(evidence.samples[0].rate_gbs, 61);
  EXPECT_EQ(evidence.samples[0].time_us, 121);
  EXPECT_EQ(evidence.samples[1].operation, Operation::kCombine);
  EXPECT_EQ(evidence.samples[1].rate_gbs, 77);
  EXPECT_EQ(evidence.samples[1].settings.at("ranks"), 16);
  EXPECT_EQ(evidence.files[0].notes.size(), 4U) << "what was assumed is said";
}

TEST(ReadTables, ATitlesFigureIsNoUnitOfItsColumns) {
  const Evidence evidence = read(
      "all-to-all over 400 Gb/s NICs\n\n| size | algbw |\n|---|---|\n| 1M | 17.2 |\n| 2M | 18.0 "
      "|\n");
  ASSERT_EQ(evidence.sweeps.size(), 1U);
  EXPECT_EQ(evidence.sweeps[0].rows[0].rate_gbs, 17.2);
}

TEST(ReadTables, FiguresThatCannotBeTheHabitualUnitAreLeftAlone) {
  const Evidence evidence =
      read("| kernel | bandwidth |\n|---|---|\n| dispatch | 61000 |\n| combine | 77000 |\n");
  EXPECT_TRUE(evidence.samples.empty());
}

TEST(ReadFacts, RowsOverRanksTakeTheirOperationFromTheLineAbove) {
  const Evidence evidence = read("Combine:\nEP16: 287 us, 25.6 GB/s\n- EP32 0.4 ms 18.3 GB/s\n");
  ASSERT_EQ(evidence.samples.size(), 2U);
  EXPECT_EQ(evidence.samples[1].operation, Operation::kCombine);
  EXPECT_EQ(evidence.samples[1].time_us, 400);
  EXPECT_EQ(evidence.samples[1].settings.at("ranks"), 32);
  EXPECT_TRUE(read("EP16: 25.6 GB/s, 18.3 GB/s\n").samples.empty());
}

TEST(ReadFailures, FieldsKeepTheirNames) {
  const Evidence e = read(
      "DeepEP dispatch forwarder timeout (RDMA meta), channel: 4, RDMA: 1, nvl: 4, src RDMA lane: "
      "0, dst "
      "NVL: 5, meta: 0, 0, 0, 0\n");
  ASSERT_EQ(e.failures.size(), 1U);
  EXPECT_EQ(e.failures[0].fields.at("src rdma lane"), "0");
  EXPECT_EQ(e.failures[0].fields.at("meta"), "0 0 0 0");
}

TEST(Gather, WhatNobodyUnderstoodIsListed) {
  const Evidence e = read(
      "lorem ipsum\n\n```\n[tuning] Best combine: SMs 24, NVL chunk 3, RDMA chunk 12: "
      "26.00 GB/s (RDMA), 85.00 GB/s (NVL)\n```\n");
  ASSERT_EQ(e.unread.size(), 1U);
  EXPECT_EQ(e.unread[0].source.text, "lorem ipsum");
  EXPECT_EQ(e.files[0].read_lines, 1U);
}

}  // namespace
}  // namespace shunt::logs
