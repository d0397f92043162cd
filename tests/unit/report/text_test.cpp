// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/text.hpp"

#include <gtest/gtest.h>

#include "report/cell.hpp"
#include "report/run_report.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::report {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(Text, FitsAHundredColumnsAndStatesTheVerdict) {
  const test::SyntheticRun run;
  const Report report = build_report(run.summary(), run.measure());
  const std::string text = render_text(report, {});
  if (std::getenv("SHUNT_SHOW") != nullptr) std::fputs(text.c_str(), stderr);
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(display_width(line), 100U) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
  EXPECT_NE(text.find("verdict: node 0 → node 1 (dispatch) is full"), std::string::npos) << text;
  EXPECT_NE(text.find("info saturated"), std::string::npos);
}

}  // namespace
}  // namespace shunt::report
