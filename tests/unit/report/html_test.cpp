// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs/reader.hpp"
#include "report/escape.hpp"
#include "report/foreign_report.hpp"
#include "report/picture.hpp"
#include "report/run_report.hpp"
#include "support/command.hpp"
#include "support/markup.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::report {
namespace {

using ::testing::HasSubstr;
using testing::Markup;
using ::testing::Not;
using testing::read_markup;

Report report_of(std::string_view text) {
  logs::Evidence evidence;
  logs::gather(logs::make_document("bench <i>.log", text), evidence);
  return build_foreign_report(evidence);
}

std::string page_of(const Report& report) {
  const PagePart part{&report, "", ""};
  return render_html({&part, 1}, "shunt analyze 1.2.3");
}

std::string page_of(const test::SyntheticRun& run) {
  const analysis::Measures measures = run.measure();
  const Report report = build_report(run.summary(), measures);
  analysis::TimelineBuilder builder(run.summary().run, measures.timeline_ops);
  run.play(builder);
  const PagePart part{&report, inline_timeline(builder.finish()).value(), "iteration 3"};
  return render_html({&part, 1}, "shunt bench 1.2.3");
}

constexpr std::string_view kLog =
    "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 20, RDMA chunk 24: 60.00 GB/s (RDMA), 196.20 "
    "GB/s (NVL)\nNIC 400 Gb/s\n";

/// What a page must not hold whatever it shows.
void expect_self_contained(const std::string& page) {
  for (const char* word : {"<script",
                           "http:",
                           "https:",
                           "src=",
                           "href=",
                           "@import",
                           "url(",
                           "<link",
                           "<img",
                           "<iframe",
                           "<object",
                           " on"}) {
    std::size_t at = page.find(word);
    if (std::string_view(word) == " on") {
      // An event attribute would be " on…=" inside a tag.
      for (; at != std::string::npos; at = page.find(word, at + 1)) {
        const std::size_t close = page.find_first_of("<>", at);
        const bool in_tag = close != std::string::npos && page[close] == '>';
        EXPECT_FALSE(in_tag && page.substr(at, close - at).find('=') < 20) << page.substr(at, 60);
      }
      continue;
    }
    EXPECT_EQ(at, std::string::npos) << word << ": " << page.substr(at, 80);
  }
}

TEST(Html, ARunHasItsSectionsAndIsWellFormed) {
  const std::string page = page_of(test::SyntheticRun{});
  const Markup markup = read_markup(page);
  EXPECT_EQ(markup.error, "");
  EXPECT_EQ(markup.count("h1"), 1);
  EXPECT_GE(markup.count("table"), 4) << "phases of both operations, links, ledger";
  EXPECT_GE(markup.count("svg"), 5) << "four bars and the timeline";
  EXPECT_THAT(markup.text, HasSubstr("node 0 → node 1 (dispatch) is full"));
  EXPECT_THAT(markup.text, HasSubstr("dispatch_inter_node_recv"));
  EXPECT_THAT(markup.text, HasSubstr("remote copies"));
  EXPECT_THAT(markup.text, HasSubstr("iteration 3"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  expect_self_contained(page);
}

TEST(Html, AFindingShowsSeverityConfidenceArithmeticAndWhatWouldConfirmIt) {
  Report report{.title = "log", .headline = "Slow."};
  report.findings.push_back({"underused",
                             verdict::Severity::kWarning,
                             verdict::Confidence::kMedium,
                             "NIC",
                             "It is slow.",
                             {{"wire", "12.9 GB/s", "line 4"}},
                             "25.8 × 1/2",
                             "Look above.",
                             "port_xmit_data"});
  const std::string text = read_markup(page_of(report)).text;
  for (const char* part : {"warning",
                           "medium confidence",
                           "underused",
                           "It is slow.",
                           "12.9 GB/s",
                           "line 4",
                           "25.8 × 1/2",
                           "Look above.",
                           "port_xmit_data"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Html, HostileTextStaysText) {
  const std::string hostile =
      "<script>alert(1)</script> \"onload=\"x ' & ]]> </style><b> \xff\xc0\x80 \x01 \xe2\x80\xae";
  Report report = report_of(std::string(kLog) + "odd " + hostile + "\n");
  report.title = report.headline = hostile;
  report.config.push_back({"k", hostile, hostile, Unit::kText, hostile});
  report.ledger.push_back({"k", hostile, hostile, Unit::kText, hostile});
  report.bars.push_back({hostile, 0.5, 1.0, 2.0, hostile, hostile});
  report.tables.push_back({"t", hostile, {{"a", hostile, Unit::kText}}, {{hostile}}, {hostile}});
  report.unchecked.push_back({hostile, hostile});
  report.checked.push_back(hostile);
  report.findings.push_back({"x",
                             verdict::Severity::kInfo,
                             verdict::Confidence::kLow,
                             hostile,
                             hostile,
                             {{hostile, hostile, hostile}},
                             hostile,
                             hostile,
                             hostile});
  const std::string page = page_of(report);
  const Markup markup = read_markup(page);
  EXPECT_EQ(markup.error, "");
  EXPECT_EQ(markup.count("script"), 0);
  EXPECT_EQ(markup.count("b"), 2) << "the words beside two bars, nothing of the log's";
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  expect_self_contained(page);
}

TEST(Html, AnUnratedLinkHasNoUtilisation) {
  const Report report = report_of(kLog.substr(0, kLog.find('\n') + 1));
  ASSERT_FALSE(report.bars.empty());
  EXPECT_FALSE(report.bars.front().share);
  const std::string text = read_markup(page_of(report)).text;
  EXPECT_THAT(text, HasSubstr("No rating is stated"));
  EXPECT_THAT(read_markup(page_of(report_of(kLog))).text, Not(HasSubstr("No rating is stated")));
}

TEST(Html, ChromiumShowsVerdictAndTables) {
  std::string browser;
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (testing::run_command(std::string("command -v ") + name).status == 0) browser = name;
  }
  if (browser.empty()) GTEST_SKIP() << "no chromium here";
  const testing::TemporaryDirectory scratch;
  testing::spill(scratch.file("page.html"), page_of(test::SyntheticRun{}));
  // HOME: what the browser leaves behind belongs into the scratch folder.
  const testing::Outcome outcome = testing::run_command(fmt::format(
      "HOME={0} timeout 100 {1} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
      "--user-data-dir={0}/profile --dump-dom file://{0}/page.html",
      scratch.path(),
      browser));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("is full"));
  EXPECT_THAT(outcome.out, HasSubstr("<td class=\"t\">dispatch_inter_node_recv</td>"));
  EXPECT_THAT(outcome.out, HasSubstr("<svg class=\"picture\""));
  EXPECT_THAT(outcome.out, Not(HasSubstr("<script")));
}

TEST(Escape, KeepsTextAndReplacesWhatXmlForbids) {
  EXPECT_EQ(escape_markup("a → b\n"), "a → b\n");
  EXPECT_EQ(escape_markup("<&>\"'"), "&lt;&amp;&gt;&quot;&#39;");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(escape_markup("\x1b[0m"), bad + "[0m");
  EXPECT_EQ(escape_markup("\xc3"), bad) << "cut";
  EXPECT_EQ(escape_markup("\xc0\xaf"), bad + bad) << "overlong";
  EXPECT_EQ(escape_markup("\xed\xa0\x80"), bad + bad + bad) << "surrogate";
  EXPECT_EQ(escape_markup("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(escape_markup("\xf4\x90\x80\x80"), bad + bad + bad + bad) << "beyond Unicode";
}

TEST(Html, ASweepIsDrawnAsLinesOverItsSizes) {
  const std::string page = page_of(report_of(
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    120.0    8.74   16.38      0\n"
      "    67108864      16777216     float     sum      -1    700.0   95.87  179.76      0\n"
      "  1073741824     268435456     float     sum      -1   5200.0  206.49  387.17      0\n"));
  expect_self_contained(page);
  EXPECT_EQ(read_markup(page).error, "");
  EXPECT_THAT(page, HasSubstr("busbw: what a rank sends"));
  EXPECT_THAT(page, HasSubstr(">message size</text>"));
  EXPECT_THAT(page, HasSubstr(">64 MiB</text>"));
  // Three places on each of the two lines, the last of busbw highest.
  EXPECT_THAT(page, HasSubstr("stroke-width=\"2\""));
}

TEST(Html, RatesOverRanksAreDrawnWhereThereAreThree) {
  const std::string head = "Combine, 8 GPUs a node, 400G NIC:\n";
  const std::string two = "EP16: 287 us, 25.6 GB/s\nEP32: 402 us, 18.3 GB/s\n";
  const std::string page = page_of(report_of(head + two + "EP64: 517 us, 14.1 GB/s\n"));
  EXPECT_EQ(read_markup(page).error, "");
  EXPECT_THAT(page, HasSubstr(">ranks</text>"));
  EXPECT_THAT(page, HasSubstr(">combine</text>"));
  EXPECT_THAT(page_of(report_of(head + two)), Not(HasSubstr(">ranks</text>")));
}

}  // namespace
}  // namespace shunt::report
