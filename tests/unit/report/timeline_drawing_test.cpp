// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a timeline's marks lie: positions are read with the picture's own axis, as a reader does.
#include "report/timeline_drawing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/recording_canvas.hpp"
#include "support/timelines.hpp"

namespace shunt::report {
namespace {

using analysis::Timeline;
using testing::Font;
using testing::Mark;
using testing::RecordingCanvas;

/// Half a pixel of a PNG, which has two a unit, and what sums of doubles are off.
constexpr double kNear = 0.26;

RecordingCanvas drawn(const Timeline& timeline,
                      const PictureText& text = {},
                      Font font = Font::kPng) {
  RecordingCanvas canvas(font);
  draw_timeline_on(canvas, timeline, text);
  return canvas;
}

bool overlap(const Box& a, const Box& b) {
  return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height &&
         b.top < a.top + a.height;
}

/// The time axis, from two of its labels.
class Axis {
 public:
  explicit Axis(const RecordingCanvas& canvas) {
    double unit = 0;
    for (const Mark& label : canvas.texts()) {
      if (label.text == "time (ns)") unit = 1;
      if (label.text == "time (µs)") unit = 1e3;
      if (label.text == "time (ms)") unit = 1e6;
    }
    for (const Mark& label : canvas.texts()) {
      if (label.how.align != 0.5) continue;
      const double at = std::stod(label.text) * unit;
      ticks_.push_back({at, label.letters.left + label.letters.width / 2});
    }
    if (unit == 0 || ticks_.size() < 2) ADD_FAILURE() << "no axis to read";
  }
  /// The x of a time.
  [[nodiscard]] double x(double ns) const {
    const auto [t0, x0] = ticks_.front();
    const auto [t1, x1] = ticks_.back();
    return x0 + (ns - t0) * (x1 - x0) / (t1 - t0);
  }
  [[nodiscard]] double ns_per_px() const {
    return (ticks_.back().first - ticks_.front().first) /
           (ticks_.back().second - ticks_.front().second);
  }
  [[nodiscard]] const std::vector<std::pair<double, double>>& ticks() const { return ticks_; }

 private:
  std::vector<std::pair<double, double>> ticks_;  ///< ns, x
};

/// What follows the label of each lane up to the next text.
struct Row {
  std::string name;
  double baseline = 0;
  std::vector<Mark> marks;
};

std::vector<Row> rows_of(const RecordingCanvas& canvas, const Timeline& timeline) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < canvas.marks().size(); ++i) {
    const Mark& mark = canvas.marks()[i];
    const bool lane = std::ranges::any_of(timeline.lanes, [&](const analysis::TimelineLane& l) {
      return mark.kind == Mark::Kind::kText && mark.text == l.group;
    });
    if (!lane) continue;
    rows.push_back({mark.text, mark.baseline, {}});
    // After the last row come the links, whose text follows their bars.
    const bool last = rows.size() == timeline.lanes.size();
    const std::size_t end = last ? i + 1 + 2 * timeline.lanes.back().phases.size() : ~std::size_t{};
    for (++i; i < std::min(end, canvas.marks().size()); ++i) {
      if (canvas.marks()[i].kind != Mark::Kind::kBoxes) break;
      rows.back().marks.push_back(canvas.marks()[i]);
    }
    --i;
  }
  return rows;
}

/// Every text apart from every other, everything on the paper.
void expect_tidy(const Timeline& timeline, const PictureText& text, Font font) {
  const RecordingCanvas canvas = drawn(timeline, text, font);
  const Box paper{0, 0, kTimelineWidth, timeline_height(timeline, text)};
  const auto inside = [&](const Box& box) {
    return box.left >= paper.left && box.top >= paper.top &&
           box.left + box.width <= paper.width + kNear &&
           box.top + box.height <= paper.height + kNear;
  };
  const std::vector<Mark> texts = canvas.texts();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(inside(texts[i].letters)) << texts[i].text;
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(overlap(texts[i].letters, texts[j].letters))
          << "'" << texts[i].text << "' over '" << texts[j].text << "'";
    }
  }
  for (const Mark& mark : canvas.marks()) {
    for (const Box& box : mark.boxes) {
      EXPECT_TRUE(inside(box)) << box.left << " " << box.top;
      EXPECT_GT(box.width, 0);
      EXPECT_GT(box.height, 0);
    }
    for (const Point& p : mark.points) EXPECT_TRUE(inside({p.x, p.y, 0, 0})) << p.x << " " << p.y;
  }
}

TEST(TimelineDrawing, SpansLieWhereTheAxisSays) {
  const Timeline timeline = test::round_timeline(3);
  const RecordingCanvas canvas = drawn(timeline);
  const Axis axis(canvas);
  const std::vector<Row> rows = rows_of(canvas, timeline);
  ASSERT_EQ(rows.size(), timeline.lanes.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const analysis::TimelineLane& lane = timeline.lanes[r];
    ASSERT_EQ(rows[r].marks.size(), 2 * lane.phases.size()) << r;
    for (std::size_t p = 0; p < lane.phases.size(); ++p) {
      const auto& phase = lane.phases[p];
      const Mark& pale = rows[r].marks[2 * p];
      ASSERT_EQ(pale.boxes.size(), 1U);
      EXPECT_NEAR(pale.boxes[0].left, axis.x(static_cast<double>(phase.begin)), kNear);
      EXPECT_NEAR(
          pale.boxes[0].left + pale.boxes[0].width, axis.x(static_cast<double>(phase.end)), kNear);
      const Mark& solid = rows[r].marks[2 * p + 1];
      EXPECT_EQ(solid.paint.rgb, pale.paint.rgb);
      EXPECT_LT(pale.paint.alpha, solid.paint.alpha);
      std::vector<analysis::TimelinePiece> work;
      std::ranges::copy_if(lane.work, std::back_inserter(work), [&](const auto& piece) {
        return piece.phase == phase.phase;
      });
      ASSERT_EQ(solid.boxes.size(), work.size());
      for (std::size_t w = 0; w < work.size(); ++w) {
        // Work is drawn in columns of half a pixel.
        EXPECT_NEAR(solid.boxes[w].left, axis.x(static_cast<double>(work[w].begin)), 0.5 + kNear);
        EXPECT_NEAR(solid.boxes[w].left + solid.boxes[w].width,
                    axis.x(static_cast<double>(work[w].end)),
                    0.5 + kNear);
      }
    }
  }
}

TEST(TimelineDrawing, NothingLeavesItsRow) {
  for (const Timeline& timeline :
       {test::round_timeline(5), test::timeline_of({}), test::timeline_of({.chunks = 3})}) {
    const std::vector<Row> rows = rows_of(drawn(timeline), timeline);
    ASSERT_EQ(rows.size(), timeline.lanes.size());
    double above = 0;
    for (const Row& row : rows) {
      double top = row.baseline;
      double bottom = row.baseline;
      for (const Mark& mark : row.marks) {
        for (const Box& box : mark.boxes) {
          EXPECT_LE(box.top, row.baseline) << row.name;
          EXPECT_GE(box.top + box.height, row.baseline) << row.name;
          top = std::min(top, box.top);
          bottom = std::max(bottom, box.top + box.height);
        }
      }
      EXPECT_GT(top, above) << row.name << " begins in the row above";
      above = bottom;
    }
  }
}

TEST(TimelineDrawing, WorkLiesInItsPhase) {
  const Timeline timeline = test::timeline_of({});
  for (const Row& row : rows_of(drawn(timeline), timeline)) {
    std::optional<Box> phase;
    for (const Mark& mark : row.marks) {
      if (mark.paint.alpha < 1) {
        phase = mark.boxes.at(0);
        continue;
      }
      ASSERT_TRUE(phase.has_value());
      for (const Box& box : mark.boxes) {
        EXPECT_GE(box.left, phase->left - 0.5);
        EXPECT_LE(box.left + box.width, phase->left + phase->width + 1);
      }
    }
  }
}

/// Bars over an axis line, and the dashed rating, of the first link.
struct Strip {
  std::vector<Box> bars;
  double bottom = 0;
  double rating = 0;
};

Strip first_strip(const RecordingCanvas& canvas) {
  Strip strip;
  for (const Mark& mark : canvas.marks()) {
    if (mark.kind == Mark::Kind::kLine && mark.dashed && strip.rating == 0) {
      EXPECT_EQ(mark.points[0].y, mark.points[1].y);
      strip.rating = mark.points[0].y;
    }
    if (mark.kind == Mark::Kind::kBoxes && mark.boxes.size() > 1 && strip.rating == 0) {
      strip.bars = mark.boxes;
    }
  }
  if (!strip.bars.empty()) strip.bottom = strip.bars[0].top + strip.bars[0].height;
  return strip;
}

TEST(TimelineDrawing, BarsHoldTheBytesOfTheLink) {
  const Timeline timeline = test::round_timeline(2);
  const RecordingCanvas canvas = drawn(timeline);
  const Axis axis(canvas);
  const Strip strip = first_strip(canvas);
  ASSERT_FALSE(strip.bars.empty());
  const double rate_per_px = 10 / (strip.bottom - strip.rating);
  double bytes = 0;
  for (const Box& bar : strip.bars) {
    EXPECT_NEAR(bar.top + bar.height, strip.bottom, 1e-9);
    bytes += bar.height * rate_per_px * bar.width * axis.ns_per_px();
  }
  EXPECT_NEAR(bytes, 2e6, 1e3);
  // In the middle of each flow: 7.5 and 2.5 B/ns.
  for (const auto& [ns, rate] : {std::pair{300'000.0, 7.5}, {500'000.0, 2.5}}) {
    const double x = axis.x(ns);
    const auto bar = std::ranges::find_if(
        strip.bars, [x](const Box& b) { return b.left <= x && x < b.left + b.width; });
    ASSERT_NE(bar, strip.bars.end());
    EXPECT_NEAR(bar->height * rate_per_px, rate, 0.01);
  }
}

TEST(TimelineDrawing, TheCurveStepsWithThePutsInFlight) {
  const Timeline timeline = test::round_timeline(2);
  const RecordingCanvas canvas = drawn(timeline);
  const Axis axis(canvas);
  const auto curve = std::ranges::find_if(canvas.marks(), [](const Mark& mark) {
    return mark.kind == Mark::Kind::kLine && mark.points.size() > 2;
  });
  ASSERT_NE(curve, canvas.marks().end());
  const double zero = curve->points.front().y;
  const auto [low, high] = std::ranges::minmax(curve->points, {}, &Point::y);
  const double one = (high.y - low.y) / 3;  // Most in flight: 3.
  const auto height_at = [&](double ns) {
    const double x = axis.x(ns);
    double y = zero;
    for (const Point& p : curve->points) {
      if (p.x <= x) y = p.y;
    }
    return (zero - y) / one;
  };
  EXPECT_NEAR(height_at(100'000), 0, 1e-6);
  EXPECT_NEAR(height_at(170'000), 1, 1e-6);
  EXPECT_NEAR(height_at(300'000), 3, 1e-6);
  EXPECT_NEAR(height_at(500'000), 2, 1e-6);
  EXPECT_NEAR(height_at(700'000), 0, 1e-6);
  for (std::size_t i = 1; i < curve->points.size(); ++i) {
    const Point& a = curve->points[i - 1];
    const Point& b = curve->points[i];
    EXPECT_TRUE(a.x == b.x || a.y == b.y) << "a slope at point " << i;
    EXPECT_LE(a.x, b.x);
  }
}

TEST(TimelineDrawing, TicksStandOnTheirGridLines) {
  for (const std::uint64_t length : {7'300U, 1'000'000U, 48'000'000U}) {
    Timeline timeline = test::round_timeline(1);
    timeline.length_ns = length;
    for (auto& lane : timeline.lanes) lane.phases = lane.work = {};
    timeline.links.clear();
    const RecordingCanvas canvas = drawn(timeline);
    const Axis axis(canvas);
    std::vector<double> grid;
    for (const Mark& mark : canvas.marks()) {
      if (mark.kind == Mark::Kind::kLine && mark.points[0].x == mark.points[1].x) {
        grid.push_back(mark.points[0].x);
      }
    }
    ASSERT_EQ(grid.size(), axis.ticks().size());
    for (std::size_t i = 0; i < grid.size(); ++i) {
      EXPECT_NEAR(axis.ticks()[i].second, grid[i], 1e-6);
      EXPECT_NEAR(axis.x(axis.ticks()[i].first), grid[i], 0.01) << "uneven ticks";
    }
  }
}

TEST(TimelineDrawing, NoTextOverAnother) {
  const PictureText text{"shunt bench: 2 nodes × 2 ranks, 1024 tokens",
                         "node 0 → node 1 is full: 95.2 % of its rating, and the ranks wait for it "
                         "in the receive phase longer than they work; a faster link, fewer bytes a "
                         "token or fewer nodes a token would shorten dispatch, more queue pairs "
                         "would not"};
  for (const Font font : {Font::kPng, Font::kSvg}) {
    expect_tidy(test::timeline_of({}), text, font);
    expect_tidy(test::timeline_of({.nodes = 3, .ranks_per_node = 1}), text, font);
    expect_tidy(test::round_timeline(1), {}, font);
    expect_tidy(test::round_timeline(16), text, font);
  }
}

TEST(TimelineDrawing, SaysWhatItLeavesOut) {
  Timeline timeline = test::round_timeline(40);
  timeline.links.resize(7, timeline.links[0]);
  expect_tidy(timeline, {"40 ranks", "nothing to say"}, Font::kPng);
  const std::vector<Mark> texts = drawn(timeline).texts();
  EXPECT_EQ(std::ranges::count(texts, "send", &Mark::text), 16);
  EXPECT_EQ(std::ranges::count(texts, "puts in flight", &Mark::text), 4);
  EXPECT_EQ(std::ranges::count(texts, "24 more ranks and 3 more links not drawn", &Mark::text), 1);
}

}  // namespace
}  // namespace shunt::report
