// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A canvas that keeps what is drawn on it, for tests of a drawing's geometry.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "report/canvas.hpp"

namespace shunt::testing {

/// One call of a canvas.
struct Mark {
  enum class Kind { kBoxes, kLine, kText } kind = Kind::kBoxes;
  report::Paint paint;
  std::vector<report::Box> boxes;
  std::vector<report::Point> points;
  double width = 0;  ///< Of the line.
  bool dashed = false;
  std::string text;
  report::Box letters{};  ///< What the text covers, from its font.
  report::Lettering how;
  double baseline = 0;
};

/// Which canvas tells how wide a text is: a PNG's from its font (where this build draws PNG), an
/// SVG's from an estimate.
enum class Font { kPng, kSvg };

class RecordingCanvas final : public report::Canvas {
 public:
  explicit RecordingCanvas(Font font = Font::kPng) {
    if (font == Font::kPng) font_ = report::PngCanvas::create(1, 1);
  }

  void boxes(std::span<const report::Box> boxes, const report::Paint& paint) override {
    Mark& mark = add(Mark::Kind::kBoxes, paint);
    mark.boxes.assign(boxes.begin(), boxes.end());
  }
  void polyline(std::span<const report::Point> points,
                const report::Paint& paint,
                double width,
                bool dashed) override {
    Mark& mark = add(Mark::Kind::kLine, paint);
    mark.points.assign(points.begin(), points.end());
    mark.width = width;
    mark.dashed = dashed;
  }
  void text(double x,
            double y,
            const std::string& what,
            const report::Paint& paint,
            const report::Lettering& how) override {
    Mark& mark = add(Mark::Kind::kText, paint);
    // Bold letters are wider by less than this.
    const double width = text_width(what, how.size) * (how.bold ? 1.2 : 1);
    mark.text = what;
    mark.how = how;
    mark.baseline = y;
    mark.letters = {x - width * how.align, y - 0.8 * how.size, width, how.size};
  }
  [[nodiscard]] double text_width(const std::string& what, double size) const override {
    return font_ != nullptr ? font_->text_width(what, size) : estimate_.text_width(what, size);
  }

  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
  /// The texts, in the order of their drawing.
  [[nodiscard]] std::vector<Mark> texts() const {
    std::vector<Mark> found;
    std::ranges::copy_if(marks_, std::back_inserter(found), [](const Mark& mark) {
      return mark.kind == Mark::Kind::kText;
    });
    return found;
  }

 private:
  Mark& add(Mark::Kind kind, const report::Paint& paint) {
    marks_.emplace_back();
    marks_.back().kind = kind;
    marks_.back().paint = paint;
    return marks_.back();
  }

  std::vector<Mark> marks_;
  std::unique_ptr<report::PngCanvas> font_;
  report::SvgCanvas estimate_{1, 1, false};
};

}  // namespace shunt::testing
