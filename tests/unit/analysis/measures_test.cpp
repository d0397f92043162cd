// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "analysis/finish.hpp"
#include "analysis/framing.hpp"
#include "analysis/measure_builder.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::analysis {
namespace {

using record::Phase;
using record::SpanKind;
using test::SyntheticRun;

/// Two nodes of `ranks_per_node`, one measured dispatch (op 0), no rating unless given.
profile::RecordingSummary one_dispatch(int ranks_per_node) {
  profile::RecordingSummary out;
  out.run.shape = {2 * ranks_per_node, ranks_per_node, 2};
  out.run.operations = {{.op = 0, .kind = Phase::kDispatch}};
  out.run.config.provider = "verbs";
  return out;
}

void transfer(MeasureBuilder& builder,
              int source,
              int target,
              int chunk,
              std::uint64_t posted,
              std::uint64_t landed,
              std::uint64_t bytes) {
  builder.on_put(source,
                 {.posted_ns = posted,
                  .bytes = bytes,
                  .peer = target,
                  .chunk = chunk,
                  .phase = Phase::kDispatchInterNodeSend});
  builder.on_arrival(target,
                     {.time_ns = landed,
                      .bytes = bytes,
                      .peer = source,
                      .chunk = chunk,
                      .phase = Phase::kDispatchInterNodeSend});
}

void whole(MeasureBuilder& builder, int rank, std::uint64_t begin, std::uint64_t end) {
  builder.on_span(rank, {.begin_ns = begin, .end_ns = end, .phase = Phase::kDispatch});
}

TEST(Links, WindowIsTheUnionOverSharingRanks) {
  MeasureBuilder builder;
  for (int rank = 0; rank < 4; ++rank) whole(builder, rank, 100, 1100);
  transfer(builder, 0, 2, 0, 200, 300, 10);
  transfer(builder, 0, 2, 1, 250, 400, 10);
  transfer(builder, 1, 3, 0, 350, 500, 10);
  transfer(builder, 1, 3, 1, 360, 600, 30);
  const Measures measures = builder.finish(one_dispatch(2));
  const LinkMeasure& link = measures.operations.at(0).links.at(0);
  EXPECT_EQ(link.name, "node 0 → node 1");
  EXPECT_EQ(link.window_ns.p50, 400);
  EXPECT_EQ(link.bytes.p50, 60);
  EXPECT_DOUBLE_EQ(link.rate.p50, 0.15);
  EXPECT_DOUBLE_EQ(link.duty.p50, 0.4);
  EXPECT_FALSE(link.utilisation);
  EXPECT_EQ(link.in_flight_max, 3);  // Both of rank 1's and rank 0's second, 360 to 400.
  EXPECT_DOUBLE_EQ(link.in_flight_mean, (100 + 150 + 150 + 240) / 400.0);
  EXPECT_EQ(link.last_source, 1);
  EXPECT_EQ(measures.operations[0].links.size(), 1U);
}

TEST(Links, GapBetweenRanksIsNoWindow) {
  MeasureBuilder builder;
  for (int rank = 0; rank < 4; ++rank) whole(builder, rank, 0, 1000);
  transfer(builder, 0, 2, 0, 0, 100, 10);
  transfer(builder, 1, 3, 0, 800, 900, 10);
  EXPECT_EQ(builder.finish(one_dispatch(2)).operations.at(0).links.at(0).window_ns.p50, 200);
}

TEST(Links, CountsAreControlTraffic) {
  MeasureBuilder builder;
  whole(builder, 0, 0, 1000);
  builder.on_put(
      0, {.posted_ns = 1, .bytes = 64, .peer = 1, .chunk = -1, .phase = Phase::kCountExchange});
  transfer(builder, 0, 1, 0, 500, 600, 10);
  const Measures measures = builder.finish(one_dispatch(1));
  const LinkMeasure& link = measures.operations.at(0).links.at(0);
  EXPECT_EQ(link.window_ns.p50, 100);
  EXPECT_EQ(link.control_bytes, 64U);
}

TEST(Links, LostArrivalLeavesTheIterationOut) {
  SyntheticRun run;
  run.lose_last_arrival = true;
  const Measures measures = run.measure();
  const LinkMeasure& link = measures.find(Phase::kCombine)->links.at(1);
  EXPECT_EQ(link.incomplete_iterations, 1U);
  EXPECT_EQ(link.window_ns.count, 4U);
}

TEST(Links, MoreThanTheLinkCanCarryIsImpossibleNotFull) {
  SyntheticRun run;
  run.wire_bytes_per_ns = 0.2;
  const Measures measures = run.measure();
  const LinkMeasure& link = measures.operations.at(0).links.at(0);
  EXPECT_FALSE(link.utilisation);
  ASSERT_TRUE(link.impossible_utilisation);
  EXPECT_GT(*link.impossible_utilisation, 1.5);
}

/// Feeds spans of rank 0 in one phase of operation 0.
class PhaseSpans {
 public:
  explicit PhaseSpans(Phase phase) : phase_(phase) { whole(builder_, 0, 0, 500); }
  void add(std::uint64_t begin,
           std::uint64_t end,
           std::uint16_t block,
           SpanKind kind,
           std::uint64_t bytes = 0) {
    builder_.on_span(0,
                     {.begin_ns = begin,
                      .end_ns = end,
                      .bytes = bytes,
                      .phase = phase_,
                      .block = block,
                      .kind = kind});
  }
  PhaseMeasure measure() {
    profile::RecordingSummary recording;
    recording.run.operations = {{.op = 0, .kind = Phase::kDispatch}};
    return *builder_.finish(recording).operations.at(0).find(phase_);
  }

 private:
  Phase phase_;
  MeasureBuilder builder_;
};

TEST(Phases, TimeBetweenABlocksStaysInAPhaseIsNotSpentInIt) {
  PhaseSpans spans(Phase::kCopyToStaging);
  for (const std::uint64_t begin : {100U, 200U, 300U}) {
    spans.add(begin, begin + 10, 0, SpanKind::kPhase, 5);
    spans.add(begin, begin + 8, 0, SpanKind::kCopy, 5);
  }
  const PhaseMeasure phase = spans.measure();
  EXPECT_EQ(phase.dur_ns.p50, 210);
  EXPECT_EQ(phase.copy_ns.p50, 24);
  EXPECT_EQ(phase.by_rank.at(0).own_ns, 30);
  EXPECT_EQ(phase.blocks.p50, 1);
}

TEST(Phases, WarpsSideBySideDoNotExceedThePhase) {
  PhaseSpans spans(Phase::kDispatchIntra);
  spans.add(100, 200, 3, SpanKind::kPhase);
  for (int warp = 0; warp < 4; ++warp) spans.add(100, 200, 3, SpanKind::kCopy);
  const PhaseMeasure phase = spans.measure();
  EXPECT_EQ(phase.copy_ns.p50, 100);
  EXPECT_EQ(phase.blocks.p50, 1);
}

TEST(Phases, SeveralBlocksGiveOnePhaseAndTheirMean) {
  PhaseSpans spans(Phase::kDispatchInterNodeRecv);
  spans.add(100, 300, 0, SpanKind::kPhase, 50);
  spans.add(100, 200, 0, SpanKind::kWait);
  spans.add(200, 300, 0, SpanKind::kCopy, 50);
  spans.add(200, 400, 1, SpanKind::kPhase, 70);
  spans.add(200, 400, 1, SpanKind::kCopy, 70);
  const PhaseMeasure phase = spans.measure();
  EXPECT_EQ(phase.start_ns.p50, 100);
  EXPECT_EQ(phase.dur_ns.p50, 300);
  EXPECT_EQ(phase.wait_ns.p50, 50);  // 100 ns on one of two blocks.
  EXPECT_EQ(phase.copy_ns.p50, 150);
  EXPECT_EQ(phase.bytes.p50, 120);
  EXPECT_EQ(phase.blocks.p50, 2);
}

TEST(Builder, PairingStaysWithinItsLimitAndChangesNoWindow) {
  SyntheticRun run;
  run.iterations = 40;
  const Measures all = run.measure();
  MeasureBuilder small(500);
  run.play(small);
  const Measures few = small.finish(run.summary());
  const LinkMeasure& want = all.operations.at(0).links.at(0);
  const LinkMeasure& got = few.operations.at(0).links.at(0);
  EXPECT_EQ(got.window_ns.p50, want.window_ns.p50);
  EXPECT_LT(got.latency_ns.count, want.latency_ns.count);
}

TEST(Builder, WithoutOperationsInRunJsonInfersThem) {
  SyntheticRun run;
  profile::RecordingSummary recording = run.summary();
  recording.run.operations.clear();
  MeasureBuilder builder;
  run.play(builder);
  const Measures measures = builder.finish(recording);
  EXPECT_EQ(measures.find(Phase::kDispatch)->ops.size(), 6U);
  EXPECT_FALSE(measures.notes.empty());
}

TEST(Builder, EmptyRunGivesNothingAndNoError) {
  const Measures measures = MeasureBuilder().finish({});
  EXPECT_TRUE(measures.operations.empty());
  EXPECT_FALSE(measures.timeline_iteration);
}

TEST(Intervals, UniteMatchesCountingEveryNanosecond) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    std::vector<bool> covered(100, false);
    for (unsigned i = 0; i < random() % 8; ++i) {
      const std::uint64_t begin = random() % 80;
      const std::uint64_t end = begin + random() % 20;
      intervals.push_back({begin, end});
      for (std::uint64_t t = begin; t < end; ++t) covered[t] = true;
    }
    const std::vector<Interval> united = unite(intervals);
    EXPECT_EQ(length(united), static_cast<std::uint64_t>(std::ranges::count(covered, true)));
    EXPECT_EQ(
        overlap({20, 60}, united),
        static_cast<std::uint64_t>(std::count(covered.begin() + 20, covered.begin() + 60, true)));
  }
}

TEST(Framing, CountsStartedSegments) {
  EXPECT_EQ(tcp_frame_bytes(0), 0U);
  EXPECT_EQ(tcp_frame_bytes(1448), 1514U);
  EXPECT_EQ(tcp_frame_bytes(1449), 1449U + 2 * 66);
  EXPECT_TRUE(is_tcp_provider("tcp;ofi_rxm"));
  EXPECT_FALSE(frame_bytes("verbs;ofi_rxm", 100));
}

}  // namespace
}  // namespace shunt::analysis
