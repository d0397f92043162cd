// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/foreign_report.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "logs/reader.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/text.hpp"

namespace shunt::report {
namespace {

Report report_of(std::string_view text) {
  logs::Evidence evidence;
  logs::gather(logs::make_document("bench.log", text), evidence);
  return build_foreign_report(evidence);
}

constexpr std::string_view kGood =
    "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 20, RDMA chunk 24: 60.00 GB/s (RDMA), 196.20 "
    "GB/s (NVL)\nNIC 400 Gb/s\nsomething else <b> | pipe\n";

TEST(ForeignReport, TextNamesVerdictFiguresAndWhatWasNotUnderstood) {
  const std::string text = render_text(report_of(kGood), {});
  EXPECT_NE(text.find("30.0"), std::string::npos);
  EXPECT_NE(text.find("not understood"), std::string::npos);
  EXPECT_NE(text.find("something else"), std::string::npos);
}

TEST(ForeignReport, TheWireColumnIsHalfOfThePrintedOneAtTwoNodes) {
  const Report report = report_of(kGood);
  ASSERT_FALSE(report.tables.empty());
  const Table& table = report.tables.front();
  const auto wire = std::ranges::find(table.columns, "wire_gb_per_s", &Column::key);
  ASSERT_NE(wire, table.columns.end());
  const auto index = static_cast<std::size_t>(wire - table.columns.begin());
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows.at(0).at(index)), 30.0);
}

TEST(ForeignReport, MarkdownEscapesWhatWouldBreakATable) {
  const std::string text = render_markdown(report_of(kGood));
  EXPECT_NE(text.find("&lt;b>"), std::string::npos);
  EXPECT_NE(text.find("\\| pipe"), std::string::npos);
}

TEST(ForeignReport, JsonHasTheFindings) {
  const std::string text = render_json(report_of(kGood));
  EXPECT_NE(text.find("\"shunt.report/1\""), std::string::npos);
  EXPECT_NE(text.find("\"underused\""), std::string::npos);
}

TEST(ForeignReport, NothingRecognisedIsSaid) {
  const Report report = report_of("hello\n");
  EXPECT_NE(report.headline.find("Nothing in the input"), std::string::npos);
  EXPECT_TRUE(report.tables.empty());
}

}  // namespace
}  // namespace shunt::report
