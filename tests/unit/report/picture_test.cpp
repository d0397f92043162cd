// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/picture.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "support/markup.hpp"
#include "support/timelines.hpp"

namespace shunt::report {
namespace {

using test::timeline_of;

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Timeline, HoldsOneIterationOnOneAxis) {
  const analysis::Timeline timeline = timeline_of({});
  EXPECT_EQ(timeline.lanes.size(), 4U * 4U);
  ASSERT_EQ(timeline.links.size(), 2U);
  EXPECT_EQ(timeline.links[0].flows.size(), 2U * 2U * 16U);
  EXPECT_EQ(timeline.links[0].in_flight.back().in_flight, 0);
  for (const auto& lane : timeline.lanes) {
    for (const auto& piece : lane.phases) EXPECT_LE(piece.end, timeline.length_ns);
  }
}

TEST(Picture, WritesBothFormatsAndRefusesOthers) {
  const char* keep = std::getenv("SHUNT_SHOW");
  const std::string base =
      (keep != nullptr ? std::string(keep) : ::testing::TempDir()) + "timeline";
  const PictureText text{"2 nodes × 2 ranks", "node 0 → node 1 is full: 95.2 %"};
  test::SyntheticRun run;
  run.post_interval_ns = 10'000'000;
  const analysis::Timeline timeline = timeline_of(run);
  ASSERT_TRUE(draw_timeline(timeline, text, base + ".svg"));
  const testing::Markup svg = testing::read_markup(contents(base + ".svg"));
  EXPECT_EQ(svg.error, "");
  EXPECT_EQ(svg.tags.front(), "svg");
  EXPECT_NE(svg.text.find("is full: 95.2 %"), std::string::npos);
  ASSERT_TRUE(draw_timeline(timeline, text, base + ".png"));
  EXPECT_EQ(contents(base + ".png").substr(1, 3), "PNG");
  EXPECT_EQ(draw_timeline(timeline, text, base + ".gif").error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(draw_timeline(timeline, text, "/nonexistent/timeline.svg"));
  EXPECT_EQ(draw_timeline({}, text, base + ".svg").error().code, ErrorCode::kCorrupt);
  if (keep == nullptr) {
    std::remove((base + ".svg").c_str());
    std::remove((base + ".png").c_str());
  }
}

}  // namespace
}  // namespace shunt::report
