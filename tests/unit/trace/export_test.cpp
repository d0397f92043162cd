// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/export.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "export_rig.hpp"
#include "support/perfetto_view.hpp"

namespace shunt::trace {
namespace {

using profile::RunInfo;
using record::Phase;
using record::SpanKind;
using test::Export;
using test::run_info;
using test::span;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::slurp;
using testing::Viewed;
using testing::Viewer;

TEST_F(Export, PerfettoShowsPhasesPutsArrivalsAndTheArrow) {
  write_small();
  const auto summary = export_run(directory(), Format::kPerfetto, output());
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->spans, 2U);
  EXPECT_EQ(summary->puts, 1U);
  EXPECT_EQ(summary->arrivals, 1U);
  EXPECT_EQ(summary->spilled, 0U);
  const Viewed viewed = Viewer::view(slurp(output()));
  EXPECT_EQ(viewed.first_flags, 1U);
  EXPECT_THAT(viewed.other_flags, ElementsAre(2U));

  const auto* block = viewed.find("rank 0 · node 0", "block 2 · warp 1");
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(viewed.rows.at(block->parent).name, "counts, staging, send");
  ASSERT_EQ(block->slices.size(), 2U);
  EXPECT_EQ(block->slices[0].name, "dispatch_inter_node_send");
  EXPECT_EQ(block->slices[0].begin, 1'000'000U);
  EXPECT_EQ(block->slices[0].end, 1'300'000U);
  EXPECT_EQ(block->slices[1].name, "wait: credit");
  EXPECT_EQ(block->slices[1].end, 1'200'001U);
  EXPECT_EQ(block->slices[1].depth, 1U);
  EXPECT_EQ(block->slices[1].args.at("peer"), 1);

  const auto* puts = viewed.find("rank 0 · node 0", "→ rank 1 · qp 0");
  ASSERT_NE(puts, nullptr);
  ASSERT_EQ(puts->slices.size(), 1U);
  EXPECT_EQ(puts->slices[0].args.at("bytes"), 1000);
  EXPECT_EQ(puts->slices[0].args.at("queued_ns"), 10'000);
  const auto* in_flight = viewed.find("rank 0 · node 0", "puts in flight");
  ASSERT_NE(in_flight, nullptr);
  EXPECT_THAT(in_flight->values,
              ElementsAre(std::make_pair(1'210'000U, 1), std::make_pair(1'250'000U, 0)));

  ASSERT_NE(viewed.find("rank 1 · node 1", "progress thread: arrivals"), nullptr);
  const std::uint64_t flow = flow_id(0, 1, 0, 0);
  EXPECT_EQ(viewed.flow_starts.at(flow), 1'210'000U);
  EXPECT_EQ(viewed.flow_ends.at(flow), 1'240'007U);
}

TEST_F(Export, ThePerfettoFileIsWellFormedToProtoc) {
  if (std::system("protoc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "protoc not found";
  write_small();
  ASSERT_TRUE(export_run(directory(), Format::kPerfetto, output()));
  const std::string command = "protoc --decode_raw < " + output() + " > " + output() + ".txt";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string text = slurp(output() + ".txt");
  EXPECT_THAT(text, HasSubstr("8: 1200001"));
  EXPECT_THAT(text, HasSubstr("2: \"wait: credit\""));
}

TEST_F(Export, ChromeTimesAreExactToTheNanosecond) {
  write_small();
  ASSERT_TRUE(export_run(directory(), Format::kChrome, output()));
  const std::string text = slurp(output());
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("baseTimeNanoseconds"), 1'000'000);
  EXPECT_EQ(json.at("otherData").at("tool"), "shunt test \"quoted\"");
  // As text: a parser's double would hide a wrong digit.
  EXPECT_THAT(text,
              HasSubstr("\"name\":\"wait: credit\",\"cat\":\"dispatch_inter_node_send\","
                        "\"pid\":1,\"tid\":2,\"ts\":0.000,\"dur\":200.001,"));
  EXPECT_THAT(text, HasSubstr("\"ts\":240.007,\"dur\":0.000"));
  std::multiset<std::string> phases;
  for (const auto& event : json.at("traceEvents")) phases.insert(event.at("ph"));
  EXPECT_EQ(phases.count("X"), 4U);
  EXPECT_EQ(phases.count("s"), 1U);
  EXPECT_EQ(phases.count("f"), 1U);
  EXPECT_GE(phases.count("C"), 2U);
}

TEST_F(Export, TheLinkRateHoldsEveryByteAndTheShareOfTheRating) {
  // 125 MB/s for 100 ms in one direction: 100 chunks of 125,000 bytes, 1 ms each.
  begin(run_info(2, 1));
  rank(0, [](record::Lane& lane) {
    for (int i = 0; i < 100; ++i) {
      record::Put put;
      put.posted_ns = 5'000'000 + static_cast<std::uint64_t>(i);
      put.completed_ns = 5'000'100 + static_cast<std::uint64_t>(i);
      put.bytes = 125'000;
      put.peer = 1;
      put.chunk = i;
      lane.push(put);
    }
  });
  rank(1, [](record::Lane& lane) {
    for (int i = 0; i < 100; ++i) {
      record::Arrival arrival;
      arrival.time_ns = 6'000'000 + static_cast<std::uint64_t>(i) * 1'000'000;
      arrival.bytes = 125'000;
      arrival.peer = 0;
      arrival.chunk = i;
      lane.push(arrival);
    }
  });
  ASSERT_TRUE(export_run(directory(), Format::kPerfetto, output()));
  const Viewed viewed = Viewer::view(slurp(output()));
  const Viewed::Row* rate = nullptr;
  const Viewed::Row* share = nullptr;
  for (const auto& [id, row] : viewed.rows) {
    if (row.name == "node 0 → node 1") rate = &row;
    if (row.name == "node 0 → node 1 of rating") share = &row;
  }
  ASSERT_NE(rate, nullptr);
  ASSERT_NE(share, nullptr);
  EXPECT_EQ(rate->unit, "MB/s");
  EXPECT_EQ(rate->values.front().second, 125);
  EXPECT_EQ(share->values.front().second, 100);
  EXPECT_EQ(rate->values.back().second, 0);
  double bytes = 0;
  for (std::size_t i = 0; i + 1 < rate->values.size(); ++i) {
    bytes += static_cast<double>(rate->values[i + 1].first - rate->values[i].first) *
             static_cast<double>(rate->values[i].second) / 1e3;
  }
  EXPECT_NEAR(bytes, 12'500'000, 12'500'000 * 0.01);
}

TEST_F(Export, SpansThatOverlapGetARowOfTheirOwn) {
  begin(run_info(1, 1));
  rank(0, [](record::Lane& lane) {
    lane.push(span(100, 200, Phase::kCombineAll, SpanKind::kCopy));
    lane.push(span(150, 250, Phase::kCombineAll, SpanKind::kReduce));  // Crosses the one before.
    lane.push(span(160, 170, Phase::kCombineAll, SpanKind::kWait));    // Lies in both.
    lane.push(span(200, 220, Phase::kCombineAll, SpanKind::kCopy));    // Touches the first.
  });
  const auto summary = export_run(directory(), Format::kPerfetto, output());
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->spilled, 1U);
  EXPECT_EQ(summary->left_out, 0U);
  const Viewed viewed = Viewer::view(slurp(output()));
  const auto* overlap = viewed.find("rank 0 · node 0", "block 0 · warp 0 (overlap 1)");
  ASSERT_NE(overlap, nullptr);
  ASSERT_EQ(overlap->slices.size(), 1U);
  EXPECT_EQ(overlap->slices[0].name, "reduce");
  EXPECT_EQ(overlap->slices[0].end, 250U);
}

TEST_F(Export, RandomSpansKeepTheirTimesAndNest) {
  begin(run_info(1, 2));
  Random random(3);
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (int r = 0; r < 2; ++r) {
    rank(r, [&](record::Lane& lane) {
      for (int i = 0; i < 400; ++i) {
        const std::uint64_t at = 1000 + random.below(4000);
        record::Span s = span(at, at + random.below(60), Phase::kDispatchIntra, SpanKind::kCopy);
        s.block = static_cast<std::uint16_t>(random.below(40));
        s.warp = static_cast<std::uint16_t>(random.below(8));
        s.op = static_cast<std::uint32_t>(random.below(3));
        expected.emplace(s.begin_ns, s.end_ns);
        lane.push(s);
      }
    });
  }
  const auto summary = export_run(directory(), Format::kPerfetto, output());
  ASSERT_TRUE(summary);
  ASSERT_EQ(summary->left_out, 0U);
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const auto& [id, row] : Viewer::view(slurp(output())).rows) {
    for (const auto& slice : row.slices) seen.emplace(slice.begin, slice.end);
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(Export, ALongRunIsSentInBatchesAndStillNests) {
  // More spans than a batch holds, enclosing spans recorded last, as the data path does.
  constexpr std::uint32_t kOps = 3000;
  constexpr std::uint64_t kInner = 120;
  begin(run_info(1, 1));
  rank(0, [](record::Lane& lane) {
    for (std::uint32_t op = 0; op < kOps; ++op) {
      const std::uint64_t start = 1000 + op * (kInner * 10 + 100);
      for (std::uint64_t i = 0; i < kInner; ++i) {
        record::Span s = span(
            start + i * 10, start + i * 10 + 9, Phase::kDispatchInterNodeRecv, SpanKind::kCopy);
        s.op = op;
        lane.push(s);
      }
      record::Span phase =
          span(start, start + kInner * 10, Phase::kDispatchInterNodeRecv, SpanKind::kPhase);
      phase.op = op;
      lane.push(phase);
    }
  });
  const auto summary = export_run(directory(), Format::kPerfetto, output());
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->spans, kOps * (kInner + 1));
  EXPECT_EQ(summary->spilled, 0U);
  const Viewed viewed = Viewer::view(slurp(output()));
  const auto* row = viewed.find("rank 0 · node 0", "block 0 · warp 0");
  ASSERT_NE(row, nullptr);
  ASSERT_EQ(row->slices.size(), kOps * (kInner + 1));
  for (const auto& slice : row->slices) {
    ASSERT_EQ(slice.depth, slice.name == "copy" ? 1U : 0U);
  }
}

TEST_F(Export, PutsInFlightTogetherGetLanes) {
  begin(run_info(2, 1));
  rank(0, [](record::Lane& lane) {
    for (int i = 0; i < 6; ++i) {
      record::Put put;
      put.posted_ns = 1000 + static_cast<std::uint64_t>(i) * 10;
      put.completed_ns = i == 5 ? 0 : put.posted_ns + 25;  // Three at a time; the last never.
      put.peer = 1;
      put.chunk = i;
      lane.push(put);
    }
  });
  const auto summary = export_run(directory(), Format::kPerfetto, output());
  ASSERT_TRUE(summary);
  EXPECT_THAT(summary->recording.notes, Contains("rank 1: no record file"));
  const Viewed viewed = Viewer::view(slurp(output()));
  std::size_t slices = 0;
  bool never = false;
  for (const char* name : {"→ rank 1 · qp 0", "→ rank 1 · qp 0 (2)", "→ rank 1 · qp 0 (3)"}) {
    const auto* row = viewed.find("rank 0 · node 0", name);
    ASSERT_NE(row, nullptr) << name;
    for (const auto& slice : row->slices) {
      EXPECT_EQ(slice.depth, 0U);
      never = never || slice.name == "put (never completed)";
      ++slices;
    }
  }
  EXPECT_EQ(slices, 6U);
  EXPECT_TRUE(never);
  const auto* in_flight = viewed.find("rank 0 · node 0", "puts in flight");
  ASSERT_NE(in_flight, nullptr);
  std::int64_t most = 0;
  for (const auto& [time, value] : in_flight->values) most = std::max(most, value);
  EXPECT_EQ(most, 3);
}

TEST_F(Export, RowsAreInTheOrderOfRanksAndPhases) {
  begin(run_info(1, 12));
  for (int r = 11; r >= 0; --r) {
    rank(r, [](record::Lane& lane) {
      lane.push(span(10, 20, Phase::kCombineAll, SpanKind::kPhase));
      lane.push(span(10, 20, Phase::kDispatch, SpanKind::kPhase));
    });
  }
  ASSERT_TRUE(export_run(directory(), Format::kPerfetto, output()));
  const Viewed viewed = Viewer::view(slurp(output()));
  for (const auto& [id, row] : viewed.rows) {
    if (row.parent != 0) continue;
    EXPECT_EQ(row.name, "rank " + std::to_string(row.order) + " · node 0");
  }
  EXPECT_LT(viewed.find("rank 7 · node 0", "operation")->order,
            viewed.find("rank 7 · node 0", "combine all")->order);
}

TEST_F(Export, AnEmptyRunIsAnEmptyTrace) {
  begin(run_info(1, 1));
  rank(0, [](record::Lane&) {});
  EXPECT_TRUE(export_run(directory(), Format::kPerfetto, output()));
  ASSERT_TRUE(export_run(directory(), Format::kChrome, output()));
  EXPECT_TRUE(nlohmann::json::parse(slurp(output())).at("traceEvents").empty());
}

TEST_F(Export, LeavesNothingBehindWhenItFails) {
  EXPECT_FALSE(export_run(directory(), Format::kPerfetto, output()));
  EXPECT_FALSE(std::filesystem::exists(output()));
  write_small();
  const auto refused = export_run(directory(), Format::kChrome, scratch_.file("none/out"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("none/out"));
}

}  // namespace
}  // namespace shunt::trace
