// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The pixels of a PNG against what was drawn: the boxes have their colours, and no ink lies where
// nothing was drawn.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <cairo.h>
#include <gtest/gtest.h>

#include "report/timeline_drawing.hpp"
#include "support/recording_canvas.hpp"
#include "support/timelines.hpp"

namespace shunt::report {
namespace {

using testing::Mark;
using testing::RecordingCanvas;

constexpr int kScale = 2;  ///< Pixels a unit.

using Colour = std::array<double, 3>;

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint32_t> pixels;  ///< 0xRRGGBB

  [[nodiscard]] Colour at(int x, int y) const {
    const std::uint32_t p = pixels[static_cast<std::size_t>(y) * width + x];
    return {(p >> 16 & 0xffU) * 1.0, (p >> 8 & 0xffU) * 1.0, (p & 0xffU) * 1.0};
  }
};

Image decode(const std::string& png) {
  struct Source {
    const std::string& bytes;
    std::size_t at = 0;
  } source{png};
  const auto read = [](void* closure, unsigned char* to, unsigned length) {
    auto& from = *static_cast<Source*>(closure);
    if (from.at + length > from.bytes.size()) return CAIRO_STATUS_READ_ERROR;
    std::memcpy(to, from.bytes.data() + from.at, length);
    from.at += length;
    return CAIRO_STATUS_SUCCESS;
  };
  const std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> surface(
      cairo_image_surface_create_from_png_stream(read, &source), cairo_surface_destroy);
  EXPECT_EQ(cairo_surface_status(surface.get()), CAIRO_STATUS_SUCCESS);
  Image image;
  image.width = cairo_image_surface_get_width(surface.get());
  image.height = cairo_image_surface_get_height(surface.get());
  const unsigned char* rows = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, rows + static_cast<std::ptrdiff_t>(y) * stride + x * 4, sizeof(pixel));
      image.pixels.push_back(pixel & 0xff'ffffU);
    }
  }
  return image;
}

/// What the marks make of white paper. Boxes are filled; what they cover in part, lines and letters
/// are only known to be somewhere within their bounds.
class Expected {
 public:
  Expected(int width, int height)
      : width_(width), height_(height), cells_(static_cast<std::size_t>(width) * height) {}

  void draw(const Mark& mark) {
    for (const Box& box : mark.boxes) fill(box, mark.paint);
    for (std::size_t i = 1; i < mark.points.size(); ++i) {
      const Point& a = mark.points[i - 1];
      const Point& b = mark.points[i];
      const double half = mark.width / 2;
      blur({std::min(a.x, b.x) - half,
            std::min(a.y, b.y) - half,
            std::abs(a.x - b.x) + mark.width,
            std::abs(a.y - b.y) + mark.width});
    }
    if (mark.kind == Mark::Kind::kText) {
      Box around = mark.letters;
      around.top -= 0.3 * mark.how.size;
      around.height += 0.6 * mark.how.size;
      blur(around);
    }
  }

  struct Cell {
    Colour colour{255, 255, 255};
    bool known = true;
  };
  [[nodiscard]] const Cell& at(int x, int y) const {
    return cells_[static_cast<std::size_t>(y) * width_ + x];
  }

 private:
  template <typename Change>
  void each(const Box& box, Change change) {
    const double left = box.left * kScale;
    const double top = box.top * kScale;
    const double right = left + box.width * kScale;
    const double bottom = top + box.height * kScale;
    // A pixel more on every side: edges that lie on a border of pixels may fall to either.
    for (int y = std::max(0, static_cast<int>(std::floor(top)) - 1);
         y < std::min(height_, static_cast<int>(std::ceil(bottom)) + 1);
         ++y) {
      for (int x = std::max(0, static_cast<int>(std::floor(left)) - 1);
           x < std::min(width_, static_cast<int>(std::ceil(right)) + 1);
           ++x) {
        const bool whole =
            x >= left + 0.01 && x + 1 <= right - 0.01 && y >= top + 0.01 && y + 1 <= bottom - 0.01;
        change(cells_[static_cast<std::size_t>(y) * width_ + x], whole);
      }
    }
  }
  void fill(const Box& box, const Paint& paint) {
    const Colour ink{
        (paint.rgb >> 16 & 0xffU) * 1.0, (paint.rgb >> 8 & 0xffU) * 1.0, (paint.rgb & 0xffU) * 1.0};
    each(box, [&](Cell& cell, bool whole) {
      cell.known = cell.known && whole;
      for (std::size_t i = 0; i < ink.size(); ++i) {
        cell.colour[i] += (ink[i] - cell.colour[i]) * paint.alpha;
      }
    });
  }
  void blur(const Box& box) {
    each(box, [](Cell& cell, bool) { cell.known = false; });
  }

  int width_;
  int height_;
  std::vector<Cell> cells_;
};

void expect_as_drawn(const analysis::Timeline& timeline, const PictureText& text) {
  const double height = timeline_height(timeline, text);
  const auto canvas = PngCanvas::create(kTimelineWidth, height);
  if (canvas == nullptr) GTEST_SKIP() << "this build draws no PNG";
  draw_timeline_on(*canvas, timeline, text);
  const auto png = canvas->encode();
  ASSERT_TRUE(png) << png.error().to_string();
  const Image image = decode(*png);
  ASSERT_EQ(image.width, kTimelineWidth * kScale);
  ASSERT_EQ(image.height, height * kScale);

  RecordingCanvas recording;
  draw_timeline_on(recording, timeline, text);
  Expected expected(image.width, image.height);
  for (const Mark& mark : recording.marks()) expected.draw(mark);

  int wrong = 0;
  int known = 0;
  int coloured = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const Expected::Cell& cell = expected.at(x, y);
      if (!cell.known) continue;
      ++known;
      const Colour seen = image.at(x, y);
      coloured += cell.colour == Colour{255, 255, 255} ? 0 : 1;
      bool same = true;
      for (std::size_t i = 0; i < seen.size(); ++i) {
        same = same && std::abs(seen[i] - cell.colour[i]) <= 3;
      }
      if (!same && ++wrong <= 5) {
        ADD_FAILURE() << "pixel " << x << ", " << y << " is " << seen[0] << " " << seen[1] << " "
                      << seen[2] << ", not " << cell.colour[0] << " " << cell.colour[1] << " "
                      << cell.colour[2];
      }
    }
  }
  EXPECT_EQ(wrong, 0) << "pixels of " << known;
  // The comparison is of most of the picture, and of its colours.
  EXPECT_GT(known, image.width * image.height / 2);
  EXPECT_GT(coloured, image.width * image.height / 100);
}

TEST(PngPixels, AreThoseOfTheDrawing) {
  expect_as_drawn(test::round_timeline(3), {"three ranks", "a headline"});
}

TEST(PngPixels, OfARun) {
  test::SyntheticRun run;
  run.post_interval_ns = 10'000'000;
  expect_as_drawn(test::timeline_of(run), {"2 nodes × 2 ranks", "node 0 → node 1 is full"});
}

}  // namespace
}  // namespace shunt::report
