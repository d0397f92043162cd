// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/heat.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs/reader.hpp"
#include "report/foreign_report.hpp"
#include "report/html.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "support/markup.hpp"
#include "verdict/foreign/rate_pairs.hpp"

namespace shunt::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Ranks in nodes of eight: 350 inside, 45 between; one pair between two nodes at 20.
logs::RateMatrix ranks(int count) {
  logs::RateMatrix matrix;
  matrix.title = "Bandwidth between ranks (GB/s)";
  matrix.ranks = true;
  for (int r = 0; r < count; ++r) {
    matrix.rows.push_back(r);
    matrix.columns.push_back(r);
    for (int c = 0; c < count; ++c) {
      const double rate = r / 8 == c / 8 ? 350 - c : 45;
      matrix.cells.push_back(r == c ? std::nullopt : std::optional<double>(rate));
    }
  }
  matrix.cells[static_cast<std::size_t>(count) * 2 + 9] = 20;
  return matrix;
}

logs::RateMatrix gpus(std::vector<std::optional<double>> cells) {
  logs::RateMatrix matrix;
  matrix.title = "Bandwidth Matrix (GB/s)";
  for (int i = 0; static_cast<std::size_t>(i * i) < cells.size(); ++i) {
    matrix.rows.push_back(i);
    matrix.columns.push_back(i);
  }
  matrix.cells = std::move(cells);
  return matrix;
}

TEST(Heat, FiguresAlignAndPairsThatStayBehindAreMarked) {
  const Heat heat = make_heat(
      gpus({700, 48.37, 9.91, 48.36, 701, 48.3, 9.92, 48.2, 702}), "rates_0", "copies, line 1");
  EXPECT_EQ(heat_text(heat, 100),
            "        GPU0  GPU1  GPU2\n"
            "  GPU0   700  48.4  9.91!\n"
            "  GPU1  48.4   701  48.3\n"
            "  GPU2  9.92! 48.2   702\n"
            "  ! stays behind its like: GPU0 → GPU2 9.91, GPU2 → GPU0 9.92\n");
  EXPECT_DOUBLE_EQ(heat.most, 48.37);
}

TEST(Heat, WhatIsMissingIsNotADefect) {
  const Heat heat = make_heat(gpus({std::nullopt, 40.0, std::nullopt, std::nullopt}), "r", "t");
  EXPECT_EQ(heat_text(heat, 100),
            "        GPU0  GPU1\n"
            "  GPU0     ·  40.0\n"
            "  GPU1     ?     ·\n");
}

TEST(Heat, ManyRanksAreOneDigitAPairByTheirKind) {
  const Heat heat = make_heat(ranks(24), "rates_0", "ranks");
  EXPECT_EQ(heat.block, 8U);
  const std::string text = heat_text(heat, 100);
  EXPECT_THAT(text, HasSubstr("  r0   .99999999999999999999999\n"));
  EXPECT_THAT(text, HasSubstr("  r2   99.999999!99999999999999\n"));
  EXPECT_THAT(text, HasSubstr("tenths of the best inside blocks of 8, 350 GB/s"));
  EXPECT_THAT(text, HasSubstr("of the best between them,\n  45.0; . itself\n"));
  EXPECT_THAT(text, HasSubstr("! stays behind its like: r2 → r9 20.0\n"));
  EXPECT_THAT(text, HasSubstr("       0         1         2\n"));
}

TEST(Heat, BlocksAreTheLargestThatTheFiguresShow) {
  EXPECT_EQ(verdict::foreign::block_of(ranks(16)), 8U);
  EXPECT_EQ(verdict::foreign::block_of(ranks(48)), 8U);
  logs::RateMatrix alike = ranks(16);
  for (auto& cell : alike.cells) {
    if (cell) cell = 45;
  }
  EXPECT_EQ(verdict::foreign::block_of(alike), 0U);
  logs::RateMatrix machine = ranks(16);
  machine.ranks = false;  // GPUs of one machine are one kind: islands are the finding.
  EXPECT_EQ(verdict::foreign::block_of(machine), 0U);
}

/// Through the reader, with the forms that scripts print.
Report report_of(const std::string& text) {
  logs::Evidence evidence;
  logs::gather(logs::make_document("matrix.txt", text), evidence);
  return build_foreign_report(evidence);
}

std::string printed(const char* head, const char* row, const char* gap) {
  std::string text = "All pairs, bandwidth between ranks (GB/s)\n   ";
  for (int c = 0; c < 4; ++c) text += fmt::format("  {}{}", head, c);
  text += "\n";
  for (int r = 0; r < 4; ++r) {
    text += fmt::format(fmt::runtime(row), r);
    for (int c = 0; c < 4; ++c) {
      text += r == c ? fmt::format("  {}", gap) : fmt::format("  {}.5{}", 40 + c, r);
    }
    text += "\n";
  }
  return text;
}

TEST(Heat, RowsAndHeadsInEveryForm) {
  const auto cells = [](const Report& report) {
    std::string all;
    for (const Heat& heat : report.heats) {
      for (const HeatCell& cell : heat.cells)
        all += cell.gbs ? fmt::format("{} ", *cell.gbs) : "- ";
    }
    return all;
  };
  const std::string want = cells(report_of(printed("", "{}", "N/A")));
  EXPECT_THAT(want, HasSubstr("- 41.5 42.5 43.5 40.51 - "));
  EXPECT_EQ(cells(report_of(printed("rank", "rank{}:", "-"))), want);
  EXPECT_EQ(cells(report_of(printed("rank ", "rank {} |", "X"))), want);
  EXPECT_EQ(cells(report_of(printed("r", "r{}", "N/A"))), want);
  EXPECT_EQ(cells(report_of(printed("", "[rank {}]", "N/A"))), want);
}

TEST(Heat, EveryRendererHasIt) {
  const Report report = report_of(
      "Bandwidth between ranks (GB/s)\n   0 1 2 3\n0 N/A 40 40 12\n1 40 N/A 40 40\n"
      "2 40 40 N/A 40\n3 40 40 40 N/A\n");
  ASSERT_EQ(report.heats.size(), 1U);
  EXPECT_EQ(report.findings.front().id, "gpu-links-uneven");
  const PagePart part{&report, "", ""};
  const std::string page = render_html({&part, 1}, "shunt analyze 1.2.3");
  const auto markup = testing::read_markup(page);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(page, HasSubstr("class=\"h3 bad\" title=\"r0 → r3: 12.0 GB/s, stays behind\">12.0!"));
  EXPECT_THAT(page, HasSubstr("class=\"h9\" title=\"r3 → r0: 40.0 GB/s\">40.0<"));
  EXPECT_THAT(render_markdown(report), HasSubstr("12.0!"));
  EXPECT_THAT(render_json(report), HasSubstr("\"behind\": true"));
}

TEST(Heat, WhatSlowPairsHaveInCommonIsSaid) {
  const auto said = [](int row, int column, bool both) {
    std::string text = "Bandwidth between ranks (GB/s)\n   0 1 2 3 4\n";
    for (int r = 0; r < 5; ++r) {
      text += std::to_string(r);
      for (int c = 0; c < 5; ++c) {
        const bool slow = both ? r == row || c == row : r == row || c == column;
        text += r == c ? " N/A" : slow ? " 12" : " 40";
      }
      text += "\n";
    }
    return report_of(text).findings.front().sentence;
  };
  EXPECT_THAT(said(-1, 3, false), HasSubstr("All of them lead to rank 3."));
  EXPECT_THAT(said(2, -1, false), HasSubstr("All of them start at rank 2."));
  EXPECT_THAT(said(1, -1, true), HasSubstr("All of them have rank 1 at one end."));
  EXPECT_THAT(said(1, 3, false), Not(HasSubstr("All of them")));
}

TEST(Heat, ATopologyOfWhichNothingIsKnownHasNoHead) {
  const Report report =
      report_of("        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity\nGPU0\n");
  EXPECT_TRUE(report.matrices.empty());
}

}  // namespace
}  // namespace shunt::report
