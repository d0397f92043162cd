// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/document.hpp"

#include <string>

#include <gtest/gtest.h>

namespace shunt::logs {
namespace {

using namespace std::string_literals;

TEST(Document, KeepsLineNumbersAcrossLineEnds) {
  const Document d = make_document("x", "a\r\nb\n\nc");
  ASSERT_EQ(d.lines.size(), 4U);
  EXPECT_EQ(d.lines[1].text, "b");
  EXPECT_EQ(d.lines[1].number, 2U);
  EXPECT_EQ(d.lines[3].number, 4U);
  EXPECT_TRUE(d.lines[3].last);
  EXPECT_FALSE(d.lines[1].last);
}

TEST(Document, ProgressBarsGiveEachState) {
  const Document d = make_document("x", "10%\r50%\rdone\nnext\n");
  ASSERT_EQ(d.lines.size(), 4U);
  EXPECT_EQ(d.lines[2].text, "done");
  EXPECT_EQ(d.lines[2].number, 1U);
  EXPECT_EQ(d.lines[3].number, 2U);
}

TEST(Document, StripsColoursEvenWhereTheEscapeWasLost) {
  EXPECT_EQ(make_document("x", "\x1b[36m[tuning]\x1b[0m x").lines[0].text, "[tuning] x");
  EXPECT_EQ(make_document("x", "[36m[tuning][0m x").lines[0].text, "[tuning] x");
  EXPECT_EQ(make_document("x", "\x1b]0;title\x07y").lines[0].text, "y");
}

TEST(Document, LauncherPrefixesNameTheRank) {
  const auto rank = [](std::string_view text) { return make_document("x", text).lines[0].rank; };
  const auto text = [](std::string_view t) { return make_document("x", t).lines[0].text; };
  EXPECT_EQ(rank("[1,3]<stdout>:[tuning] a"), 3);
  EXPECT_EQ(text("[1,3]<stdout>:[tuning] a"), "[tuning] a");
  EXPECT_EQ(rank("12: # size"), 12);
  EXPECT_EQ(rank("[rank 5] Dispatch"), 5);
  EXPECT_EQ(rank("[rank5]: Dispatch"), 5);
  EXPECT_EQ(rank("[default7]:Dispatch"), 7);
  EXPECT_EQ(text("2026-01-02 03:04:05,678 INFO [rank 2] Dispatch"), "Dispatch");
  EXPECT_EQ(text("node-a: [tuning] a"), "[tuning] a");
  EXPECT_EQ(text("(W pid=77, ip=<ip>) [rank 1] b"), "b");
  EXPECT_FALSE(rank("GPU0: x"));
}

TEST(Document, QuotesAndEmphasisGo) {
  EXPECT_EQ(make_document("x", "> > [tuning] a").lines[0].text, "[tuning] a");
  EXPECT_EQ(make_document("x", "v: _**29.92 GB/s**_ (RDMA)").lines[0].text, "v: 29.92 GB/s (RDMA)");
  EXPECT_EQ(make_document("x", "mlx5_bond_0 `a_b`").lines[0].text, "mlx5_bond_0 a_b");
}

TEST(Document, SplitsGluedRecords) {
  const Document d = make_document("x", "[rank 0] a 1 us[rank 1] b 2 us\n");
  ASSERT_EQ(d.lines.size(), 2U);
  EXPECT_EQ(d.lines[1].text, "b 2 us");
  EXPECT_EQ(d.lines[1].rank, 1);
  EXPECT_EQ(d.lines[1].number, 1U);
}

TEST(Document, DropsAnInterleavedTag) {
  EXPECT_EQ(make_document("x", "[0]  1048576  -1[0]  12.5  0[0]  3").lines[0].text,
            "1048576  -1   12.5  0   3");
}

TEST(Document, DecodesUtf16AndStrayBytes) {
  const std::string le = "\xFF\xFE"s + "h\0i\0"s;
  EXPECT_EQ(make_document("x", le).lines[0].text, "hi");
  const Document d = make_document("x", "a\xFF\x80 b");
  EXPECT_EQ(d.lines[0].text, "a   b");
  ASSERT_EQ(d.notes.size(), 1U);
}

TEST(Document, HeadingsReachDown) {
  const Document d = make_document("x", "# Node 1\n[rank 9] a\n**32 blocks**\nb\n");
  EXPECT_EQ(heading_of(d, 1), "Node 1");
  EXPECT_EQ(heading_of(d, 3), "32 blocks");
}

}  // namespace
}  // namespace shunt::logs
