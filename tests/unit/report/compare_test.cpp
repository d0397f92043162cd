// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs/reader.hpp"
#include "report/foreign_report.hpp"
#include "report/run_report.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Report report_of(std::string_view text) {
  logs::Evidence evidence;
  logs::gather(logs::make_document("bench.log", text), evidence);
  return build_foreign_report(evidence);
}

Report report_of(const test::SyntheticRun& run) {
  return build_report(run.summary(), run.measure());
}

constexpr std::string_view kGood =
    "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 20, RDMA chunk 24: 60.00 GB/s (RDMA), 196.20 "
    "GB/s (NVL)\nNIC 400 Gb/s\n";
constexpr std::string_view kBad =
    "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 20, RDMA chunk 24: 30.00 GB/s (RDMA), 98.10 "
    "GB/s (NVL)\nNIC 400 Gb/s\n";

TEST(Compare, AHalvedRateIsWorseAndItsReverseIsNot) {
  const Report worse = compare(report_of(kGood), report_of(kBad), 0.05);
  ASSERT_FALSE(worse.findings.empty());
  EXPECT_EQ(worse.findings.front().id, "runs-differ");
  EXPECT_TRUE(has_finding(worse, verdict::Severity::kWarning));
  const Report better = compare(report_of(kBad), report_of(kGood), 0.05);
  EXPECT_FALSE(has_finding(better, verdict::Severity::kWarning));
  EXPECT_FALSE(better.tables.empty());
}

TEST(Compare, TheSameInputTwiceChangesNothing) {
  const Report same = compare(report_of(kGood), report_of(kGood), 0.05);
  EXPECT_TRUE(same.findings.empty());
  EXPECT_THAT(same.headline, HasSubstr("none changed"));
  EXPECT_TRUE(same.tables.empty());
}

TEST(Compare, ChangesBelowTheThresholdAreLeftOut) {
  const Report report = compare(report_of(kGood), report_of(kBad), 0.9);
  EXPECT_TRUE(report.tables.empty());
}

/// A run whose dispatch took these times.
Report timed(std::vector<std::int64_t> samples) {
  Report report{.kind = "run"};
  OperationTime time{.operation = "dispatch", .samples_ns = samples};
  std::ranges::sort(samples);
  time.p50_ns = samples[(samples.size() - 1) / 2];
  report.operations.push_back(time);
  return report;
}

TEST(Compare, AChangeWithinTheSpreadIsNone) {
  const Report before = timed({100, 104, 130, 98, 101, 140, 99, 125});
  const Report noisy = timed({110, 122, 131, 97, 112, 135, 118, 109});
  const Report same = compare(before, noisy, 0.05);
  EXPECT_FALSE(has_finding(same, verdict::Severity::kInfo)) << same.headline;
  EXPECT_THAT(same.headline, StartsWith("No difference"));
  ASSERT_EQ(same.tables.size(), 1U);
  const Report slow = timed({150, 151, 149, 152, 150, 151, 149, 190});
  const Report worse = compare(before, slow, 0.05);
  ASSERT_TRUE(has_finding(worse, verdict::Severity::kWarning));
  EXPECT_EQ(worse.findings.front().confidence, verdict::Confidence::kHigh);
  EXPECT_THAT(worse.headline, HasSubstr("beyond the spread"));
  EXPECT_THAT(compare(slow, before, 0.05).headline, StartsWith("Better"));
}

TEST(Compare, OneSampleASideHasNoSpreadAndLessConfidence) {
  const Report worse = compare(timed({100}), timed({120}), 0.05);
  ASSERT_TRUE(has_finding(worse, verdict::Severity::kWarning));
  EXPECT_EQ(worse.findings.front().confidence, verdict::Confidence::kMedium);
  EXPECT_THAT(worse.findings.front().confirm, HasSubstr("repeated"));
}

TEST(Compare, AnotherWorkloadIsNoRegression) {
  Report before = timed({100, 101, 102, 103});
  Report after = timed({200, 201, 202, 203});
  before.config.push_back({"tokens", "tokens", std::int64_t{512}, Unit::kNumber, ""});
  after.config.push_back({"tokens", "tokens", std::int64_t{1024}, Unit::kNumber, ""});
  before.ledger.push_back({"payload_bytes", "payload bytes", std::int64_t{1000}, Unit::kBytes, ""});
  after.ledger.push_back({"payload_bytes", "payload bytes", std::int64_t{2000}, Unit::kBytes, ""});
  const Report changed = compare(before, after, 0.05);
  EXPECT_FALSE(has_finding(changed, verdict::Severity::kWarning));
  EXPECT_THAT(changed.headline, StartsWith("Another workload"));
  const auto ledger = std::ranges::find(changed.tables, "ledger_changes", &Table::id);
  ASSERT_NE(ledger, changed.tables.end());
  EXPECT_EQ(ledger->rows.size(), 1U);
}

TEST(Compare, NothingInCommonIsSaid) {
  const Report none = compare(timed({100, 101}), report_of(kGood), 0.05);
  EXPECT_THAT(none.headline, HasSubstr("Nothing was measured on both sides"));
  EXPECT_TRUE(none.checked.empty());
}

TEST(Compare, ASlowerLinkShowsInWholeOperationsWithItsPhasesAsContext) {
  test::SyntheticRun slow;
  slow.wire_bytes_per_ns = 0.06;
  const Report worse = compare(report_of(test::SyntheticRun{}), report_of(slow), 0.05);
  ASSERT_TRUE(has_finding(worse, verdict::Severity::kWarning));
  EXPECT_EQ(worse.findings.front().id, "runs-differ");
  const Table& table = worse.tables.front();
  std::vector<std::string> words;
  for (const auto& row : table.rows) words.push_back(std::get<std::string>(row[7]));
  EXPECT_EQ(std::ranges::count(words, "worse"), 2) << "dispatch and combine";
  EXPECT_GT(std::ranges::count(words, "longer"), 0) << "phases";
}

TEST(Compare, AFindingThatBecomesMoreSevereIsTold) {
  Report before = timed({100, 101});
  Report after = timed({100, 101});
  verdict::Finding finding;
  finding.id = "skew";
  finding.where = "dispatch";
  finding.severity = verdict::Severity::kNotice;
  before.findings.push_back(finding);
  finding.severity = verdict::Severity::kWarning;
  after.findings.push_back(finding);
  const Report told = compare(before, after, 0.05);
  ASSERT_EQ(told.findings.size(), 1U);
  EXPECT_THAT(told.findings[0].sentence, StartsWith("Was notice, is warning"));
}

}  // namespace
}  // namespace shunt::report
