// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Each rule fires on its cause and keeps silent on the others'.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/synthetic_run.hpp"
#include "verdict/judge.hpp"

namespace shunt::verdict {
namespace {

using test::SyntheticRun;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Judgement judged(const SyntheticRun& run) {
  return judge(run.summary(), run.measure());
}

std::set<std::string> ids(const Judgement& judgement) {
  std::set<std::string> found;
  for (const Finding& finding : judgement.findings) found.insert(finding.id);
  return found;
}
std::set<std::string> ids(const SyntheticRun& run) {
  return ids(judged(run));
}

const Finding& find(const Judgement& judgement, const std::string& id) {
  for (const Finding& finding : judgement.findings) {
    if (finding.id == id) return finding;
  }
  ADD_FAILURE() << "no finding " << id;
  static const Finding kNone;
  return kNone;
}

/// The link carries half of its rating for a reason that no rule knows: latency of the fabric.
SyntheticRun slow_fabric() {
  SyntheticRun run;
  run.wire_bytes_per_ns = 0.06;
  return run;
}

TEST(Saturated, FullLinkSaysSoAndNothingElse) {
  EXPECT_THAT(ids(SyntheticRun{}), testing::UnorderedElementsAre("saturated", "posting-time"));
  EXPECT_THAT(judged(SyntheticRun{}).headline, HasSubstr("is full: 95.2 %"));
}

/// Nodes 1 and 2 each send `share` of what node 0 can receive, at once; node 0 sends little.
Judgement incast(double share) {
  constexpr std::uint64_t kWindow = 100'000'000;
  profile::RecordingSummary recording;
  recording.run.shape = {3, 1, 3};
  recording.run.config.provider = "verbs";
  recording.run.config.link_rate_bytes_per_s = 1e9;
  recording.run.operations = {{.op = 0, .kind = record::Phase::kDispatch}};
  for (int rank = 0; rank < 3; ++rank) recording.ranks.push_back({rank, true, true});
  analysis::MeasureBuilder builder;
  for (int rank = 0; rank < 3; ++rank) {
    builder.on_span(rank, {.begin_ns = 0, .end_ns = kWindow, .phase = record::Phase::kDispatch});
  }
  for (const int source : {1, 2}) {
    for (int chunk = 0; chunk < 10; ++chunk) {
      const auto bytes = static_cast<std::uint64_t>(share * kWindow / 10);
      const auto landed = static_cast<std::uint64_t>(chunk + 1) * kWindow / 10;
      builder.on_put(source,
                     {.posted_ns = landed - kWindow / 10,
                      .bytes = bytes,
                      .peer = 0,
                      .chunk = chunk,
                      .phase = record::Phase::kDispatchInterNodeSend});
      builder.on_arrival(0,
                         {.time_ns = landed,
                          .bytes = bytes,
                          .peer = source,
                          .chunk = chunk,
                          .phase = record::Phase::kDispatchInterNodeSend});
    }
  }
  return judge(recording, builder.finish(recording));
}

TEST(Saturated, SeveralSendersFillTheLinkOfOneReceiver) {
  const Judgement full = incast(0.48);
  EXPECT_THAT(find(full, "saturated").where, HasSubstr("others → node 0"));
  EXPECT_THAT(ids(full), Not(Contains("underused"))) << "the senders cannot go faster";
  EXPECT_THAT(full.headline, HasSubstr("others → node 0 (dispatch) is full: 96.0 %"));
  const Judgement slow = incast(0.3);
  EXPECT_THAT(ids(slow), Not(Contains("saturated")));
  EXPECT_THAT(ids(slow), Contains("underused"));
}

TEST(Saturated, CloseToFullIsNeither) {
  SyntheticRun run;
  run.wire_bytes_per_ns = 0.103;
  const Judgement judgement = judged(run);
  EXPECT_THAT(ids(judgement), Not(Contains("saturated")));
  EXPECT_THAT(ids(judgement), Not(Contains("underused")));
  EXPECT_THAT(judgement.headline, HasSubstr("close to full"));
}

TEST(Saturated, BurstOfTheBucketIsNoFullLink) {
  SyntheticRun run;
  run.chunks = 1;
  run.put_bytes = 230'000;
  EXPECT_THAT(ids(run), Not(Contains("saturated")));
}

TEST(Underused, HalfFullLinkGivesTheLoss) {
  const Judgement judgement = judged(slow_fabric());
  EXPECT_THAT(ids(judgement), Contains("underused"));
  EXPECT_THAT(ids(judgement), Not(Contains("saturated")));
  EXPECT_THAT(find(judgement, "underused").sentence, HasSubstr("48.0 %"));
}

TEST(Underused, NoRatingNoUtilisation) {
  SyntheticRun run = slow_fabric();
  run.rating.reset();
  const Judgement judgement = judged(run);
  EXPECT_TRUE(judgement.findings.empty());
  ASSERT_FALSE(judgement.unchecked.empty());
  EXPECT_EQ(judgement.unchecked.front().id, "saturated");
  EXPECT_THAT(judgement.unchecked.front().missing, HasSubstr("--link-rate"));
  EXPECT_THAT(judgement.headline, HasSubstr("no utilisation"));
}

TEST(PostingTime, SilentWhereTheSendPhaseLastsAsLongAsTheWire) {
  SyntheticRun run;
  run.send_extra_ns = 260'000'000;
  EXPECT_THAT(ids(run), Not(Contains("posting-time")));
}

TEST(ReceiverWaits, NamesTheFabricAndThePairThatIsLast) {
  const Judgement judgement = judged(slow_fabric());
  const Finding& finding = find(judgement, "receiver-waits");
  EXPECT_THAT(finding.sentence, HasSubstr("posted early and land late"));
  EXPECT_THAT(finding.sentence, HasSubstr("rank 1 → rank 3"));
}

TEST(ReceiverIdle, FewChunksAndALongSend) {
  SyntheticRun run;
  run.chunks = 1;
  run.put_bytes = 20'000;
  run.wire_bytes_per_ns = 1;
  run.staging_ns = 20'000;
  run.copy_per_chunk_ns = 1000;
  run.send_extra_ns = 2'000'000;
  EXPECT_THAT(ids(run), Contains("receiver-idle"));
  run.send_extra_ns = 0;
  EXPECT_THAT(ids(run), Not(Contains("receiver-idle")));
}

TEST(CombineStall, TellsStallFromWork) {
  SyntheticRun run = slow_fabric();
  run.combine_extra_ns = 600'000'000;
  run.combine_wait_share = 0.8;
  EXPECT_THAT(find(judged(run), "combine-stall").sentence, HasSubstr("a stall"));
  run.combine_wait_share = 0.1;
  EXPECT_THAT(find(judged(run), "combine-stall").sentence, HasSubstr("slowed by memory"));
  EXPECT_THAT(ids(slow_fabric()), Not(Contains("combine-stall")));
}

TEST(BarrierBound, FiresOnOverheadNotOnALateRank) {
  SyntheticRun run;
  run.nodes = 1;
  run.staging_ns = 100'000;
  run.chunks = 1;
  run.copy_per_chunk_ns = 100'000;
  run.sync_ns = 2'000'000;
  EXPECT_THAT(ids(run), Contains("barrier-bound"));
  run.sync_ns = 1000;
  run.late_ns[1] = 5'000'000;
  EXPECT_THAT(ids(run), Not(Contains("barrier-bound")));
}

/// High latency, one put in flight on the link's only queue pair.
SyntheticRun one_in_flight() {
  SyntheticRun run;
  run.emulated = false;
  run.ranks_per_node = 1;
  run.latency_ns = 10'000'000;
  run.qps = 1;
  run.window = 1;
  run.wire_bytes_per_ns = 0.119;
  run.chunks = 64;
  return run;
}

TEST(FewQps, OnePutAQueuePairCannotFillTheLink) {
  const Judgement judgement = judged(one_in_flight());
  EXPECT_THAT(ids(judgement), Contains("few-qps"));
  EXPECT_THAT(find(judgement, "few-qps").action, HasSubstr("--qps from 1 to 3"));
  EXPECT_THAT(ids(slow_fabric()), Not(Contains("few-qps")));
}

TEST(FewBlocks, SendersThatPostSlowlySetThePace) {
  SyntheticRun run;
  run.emulated = false;
  run.ranks_per_node = 1;
  run.qps = 2;
  run.latency_ns = 40'000'000;
  run.post_interval_ns = 16'000'000;
  run.chunks = 64;
  const auto found = ids(run);
  EXPECT_THAT(found, Contains("few-blocks"));
  EXPECT_THAT(found, Not(Contains("few-qps")));
  EXPECT_THAT(ids(one_in_flight()), Not(Contains("few-blocks")));
}

TEST(SmallMessages, TinyBatchIsNotSaturatedAndNotBlamedOnTheFabric) {
  SyntheticRun run;
  run.chunks = 1;
  run.put_bytes = 57'616;
  const auto found = ids(run);
  EXPECT_THAT(found, Contains("small-messages"));
  for (const char* other : {"saturated", "underused", "receiver-waits", "combine-stall"}) {
    EXPECT_THAT(found, Not(Contains(other)));
  }
}

TEST(SmallMessages, SmallPutsNameTheChunk) {
  SyntheticRun run;
  run.put_bytes = 14'404;
  run.chunks = 400;
  run.wire_bytes_per_ns = 0.05;
  EXPECT_THAT(find(judged(run), "small-messages").action, HasSubstr("--chunk from 64 to 320"));
  EXPECT_THAT(ids(SyntheticRun{}), Not(Contains("small-messages")));
}

TEST(SlowRank, NamesRankAndPhase) {
  SyntheticRun run;
  run.nodes = 1;
  run.ranks_per_node = 4;
  run.slow_factor[2] = 4.0;
  const Judgement judgement = judged(run);
  const Finding& finding = find(judgement, "slow-rank");
  EXPECT_THAT(finding.where, HasSubstr("rank 2"));
  EXPECT_THAT(finding.sentence, HasSubstr("dispatch_intra"));
  run.slow_factor.clear();
  EXPECT_THAT(ids(run), Not(Contains("slow-rank")));
}

TEST(Skew, NamesTheLateRank) {
  SyntheticRun run;
  run.late_ns[3] = 60'000'000;
  const Judgement judgement = judged(run);
  EXPECT_THAT(find(judgement, "skew").sentence, HasSubstr("rank 3 is last in 100 %"));
  EXPECT_THAT(ids(SyntheticRun{}), Not(Contains("skew")));
}

TEST(ColdStart, CountsTheColdIterations) {
  SyntheticRun run;
  run.nodes = 1;
  run.iteration_factor[0] = 5;
  EXPECT_THAT(find(judged(run), "cold-start").action, HasSubstr("--warmup from 1 to 2"));
  run.iteration_factor.clear();
  run.iteration_factor[-1] = 5;
  EXPECT_THAT(ids(run), Not(Contains("cold-start")));
}

TEST(CountersDisagree, BeyondFivePercentOnly) {
  SyntheticRun run;
  run.counter_factor = 1.2;
  EXPECT_THAT(find(judged(run), "counters-disagree").sentence, HasSubstr("20.0 % more"));
  run.counter_factor = 1.03;
  EXPECT_THAT(ids(run), Not(Contains("counters-disagree")));
}

/// Puts of 1 kB in a tiny run, whose counter moved `bytes` in `frames`.
Judgement judged_with_counter(std::uint64_t bytes,
                              std::uint64_t frames,
                              std::optional<std::uint64_t> messages,
                              std::optional<std::uint64_t> resent = {}) {
  SyntheticRun run;
  run.chunks = 1;
  run.put_bytes = 1000;
  profile::RecordingSummary summary = run.summary();
  for (profile::LinkCounter& counter : summary.run.counters) {
    counter.bytes = bytes;
    counter.packets = frames;
    counter.messages = messages;
    counter.resent_segments = resent;
  }
  analysis::MeasureBuilder builder;
  run.play(builder);
  return judge(summary, builder.finish(summary));
}

TEST(CountersDisagree, HeadersHeartbeatsAndAcknowledgementsOfATinyRunAreAccountedFor) {
  // 2 ranks · 5 iterations · 2 puts of 1000 B; 60 messages, 48 B of header each; 100 frames.
  constexpr std::uint64_t kExact = 20'000 + 60 * 48 + 100 * 66;
  EXPECT_THAT(ids(judged_with_counter(kExact, 100, 60)), Not(Contains("counters-disagree")));
  // The same bytes are a third too many where nobody knows of the messages.
  EXPECT_THAT(ids(judged_with_counter(kExact, 0, {})), Contains("counters-disagree"));
}

TEST(CountersDisagree, ToleratesTheEdgesOfTheReadingsAndNoMore) {
  constexpr std::uint64_t kExact = 20'000 + 60 * 48 + 100 * 66;
  constexpr auto kTolerated = static_cast<std::uint64_t>(0.05 * kExact + 2 * 4 * 180);
  for (const bool more : {true, false}) {
    const auto off = [&](std::uint64_t by) { return more ? kExact + by : kExact - by; };
    EXPECT_THAT(ids(judged_with_counter(off(kTolerated - 1), 100, 60)),
                Not(Contains("counters-disagree")));
    EXPECT_THAT(ids(judged_with_counter(off(kTolerated + 2), 100, 60)),
                Contains("counters-disagree"));
  }
}

TEST(CountersDisagree, WhatTcpSentAgainExplainsMoreButNeverLess) {
  constexpr std::uint64_t kExact = 20'000 + 60 * 48 + 100 * 66;
  EXPECT_THAT(ids(judged_with_counter(kExact + 5000, 100, 60, 0)), Contains("counters-disagree"));
  EXPECT_THAT(ids(judged_with_counter(kExact + 5000, 100, 60, 3)),
              Not(Contains("counters-disagree")));
  EXPECT_THAT(ids(judged_with_counter(kExact - 5000, 100, 60, 9)), Contains("counters-disagree"));
  const Finding found = find(judged_with_counter(kExact + 9000, 100, 60, 1), "counters-disagree");
  EXPECT_THAT(found.evidence.back().value, HasSubstr("1 segment, 1.51 kB at most"));
}

TEST(Underused, SaysWhatIsLostInTheWindow) {
  // Medians of their own: the window's and the bytes' need not be of one iteration.
  const SyntheticRun run = slow_fabric();
  analysis::Measures measures = run.measure();
  for (analysis::OperationMeasure& operation : measures.operations) {
    for (analysis::LinkMeasure& link : operation.links) {
      link.window_ns.p50 = 200'000'000;
      link.bytes.p50 = 28'000'000;
      link.utilisation = 0.5;
    }
  }
  EXPECT_THAT(find(judge(run.summary(), measures), "underused").sentence,
              HasSubstr(": 100 ms an operation are lost"));
}

TEST(SmallMessages, TheBurstThatCountsIsTheLinksOwn) {
  SyntheticRun run;
  run.burst_bytes = 9'000'000;  // Of 29.5 MB: a third.
  const Finding found = find(judged(run), "small-messages");
  EXPECT_THAT(found.sentence, HasSubstr("lets 9.00 MB pass at once"));
  run.burst_bytes = 25'000;
  EXPECT_THAT(ids(run), Not(Contains("small-messages")));
  run.burst_bytes.reset();
  EXPECT_THAT(ids(run), Not(Contains("small-messages")));
}

TEST(CountersDisagree, IsNotJudgedOnPartialRecords) {
  SyntheticRun run;
  run.missing[3] = true;
  EXPECT_THAT(ids(run), Not(Contains("counters-disagree")));
  EXPECT_THAT(judged(run).unchecked.back().missing, HasSubstr("records are missing"));
}

TEST(Judge, MissingRankLowersConfidence) {
  SyntheticRun run;
  run.nodes = 1;
  run.ranks_per_node = 4;
  run.slow_factor[2] = 4.0;
  run.missing[3] = true;
  ASSERT_FALSE(judged(run).findings.empty());
  for (const Finding& finding : judged(run).findings) {
    EXPECT_NE(finding.confidence, Confidence::kHigh) << finding.id;
  }
}

TEST(Catalogue, EveryFindingHasItsPage) {
  for (const CatalogueEntry& entry : own_run_catalogue()) {
    const std::filesystem::path page =
        std::filesystem::path(SHUNT_SOURCE_DIR) / "docs/findings" / (entry.id + ".md");
    EXPECT_TRUE(std::filesystem::exists(page)) << page;
  }
}

}  // namespace
}  // namespace shunt::verdict
