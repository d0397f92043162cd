// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of an SVG against what was drawn.
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "report/timeline_drawing.hpp"
#include "support/markup.hpp"
#include "support/recording_canvas.hpp"
#include "support/timelines.hpp"

namespace shunt::report {
namespace {

using testing::Mark;

/// SVG has two decimals.
constexpr double kNear = 0.0051;

/// The values of d="…", in order.
std::vector<std::string> paths_of(const std::string& svg) {
  std::vector<std::string> paths;
  for (std::size_t at = svg.find(" d=\""); at != std::string::npos; at = svg.find(" d=\"", at)) {
    at += 4;
    paths.push_back(svg.substr(at, svg.find('"', at) - at));
  }
  return paths;
}

/// "Mx yhwvhh-wz…" as boxes; none where it is something else.
std::vector<Box> boxes_of(const std::string& path) {
  std::vector<Box> boxes;
  for (std::size_t at = 0; at < path.size();) {
    Box box{};
    double back = 0;
    int read = 0;
    if (std::sscanf(path.c_str() + at,
                    "M%lf %lfh%lfv%lfh%lfz%n",
                    &box.left,
                    &box.top,
                    &box.width,
                    &box.height,
                    &back,
                    &read) != 5 ||
        read == 0 || back != -box.width) {
      return {};
    }
    boxes.push_back(box);
    at += static_cast<std::size_t>(read);
  }
  return boxes;
}

/// "Mx yLx y…" as points.
std::vector<Point> points_of(const std::string& path) {
  std::vector<Point> points;
  for (std::size_t at = 0; at < path.size();) {
    Point point{};
    int read = 0;
    const char* form = at == 0 ? "M%lf %lf%n" : "L%lf %lf%n";
    if (std::sscanf(path.c_str() + at, form, &point.x, &point.y, &read) != 2) return {};
    points.push_back(point);
    at += static_cast<std::size_t>(read);
  }
  return points;
}

void expect_path(const std::string& path, const Mark& mark) {
  if (mark.kind == Mark::Kind::kBoxes) {
    const std::vector<Box> boxes = boxes_of(path);
    ASSERT_EQ(boxes.size(), mark.boxes.size()) << path;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_NEAR(boxes[i].left, mark.boxes[i].left, kNear);
      EXPECT_NEAR(boxes[i].top, mark.boxes[i].top, kNear);
      EXPECT_NEAR(boxes[i].width, mark.boxes[i].width, kNear);
      EXPECT_NEAR(boxes[i].height, mark.boxes[i].height, kNear);
    }
    return;
  }
  const std::vector<Point> points = points_of(path);
  ASSERT_EQ(points.size(), mark.points.size()) << path;
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(points[i].x, mark.points[i].x, kNear);
    EXPECT_NEAR(points[i].y, mark.points[i].y, kNear);
  }
}

TEST(SvgGeometry, IsThatOfTheDrawing) {
  for (const bool inside_page : {false, true}) {
    for (const analysis::Timeline& timeline : {test::round_timeline(4), test::timeline_of({})}) {
      const PictureText text{"a title", "a headline"};
      SvgCanvas canvas(kTimelineWidth, timeline_height(timeline, text), inside_page);
      draw_timeline_on(canvas, timeline, text);
      const std::string svg = canvas.finish();
      testing::RecordingCanvas recording(testing::Font::kSvg);
      draw_timeline_on(recording, timeline, text);

      const std::vector<std::string> paths = paths_of(svg);
      std::size_t path = 0;
      std::string words;
      for (const Mark& mark : recording.marks()) {
        if (mark.kind == Mark::Kind::kText) {
          words += mark.text;
        } else if (mark.kind == Mark::Kind::kLine || !mark.boxes.empty()) {
          ASSERT_LT(path, paths.size());
          ASSERT_NO_FATAL_FAILURE(expect_path(paths[path++], mark));
        }
      }
      EXPECT_EQ(path, paths.size()) << "drawn twice, or by nobody";
      std::string shown = testing::read_markup(svg).text;
      std::erase(shown, '\n');
      EXPECT_EQ(shown, words);
    }
  }
}

}  // namespace
}  // namespace shunt::report
