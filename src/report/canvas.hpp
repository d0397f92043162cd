// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: what a drawing needs of what it is drawn on. Coordinates in px, y downwards.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "shunt/result.hpp"

namespace shunt::report {

/// A colour by its part in the picture: a page with a dark side restyles it by name.
struct Paint {
  const char* name = "ink";
  unsigned rgb = 0x222222;
  double alpha = 1;

  [[nodiscard]] constexpr Paint faded(double to) const { return {name, rgb, to}; }
};

inline constexpr Paint kInk{"ink", 0x222222};
inline constexpr Paint kFaint{"muted", 0x777777};

struct Box {
  double left, top, width, height;
};
struct Point {
  double x, y;
};
struct Lettering {
  double size = 11;
  double align = 0;  ///< 0: from x on, 0.5: around it, 1: up to it.
  bool bold = false;
};

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void boxes(std::span<const Box> boxes, const Paint& paint) = 0;
  virtual void polyline(std::span<const Point> points,
                        const Paint& paint,
                        double width,
                        bool dashed) = 0;
  virtual void text(
      double x, double y, const std::string& what, const Paint& paint, const Lettering& how) = 0;
  [[nodiscard]] virtual double text_width(const std::string& what, double size) const = 0;

  void box(double left, double top, double width, double height, const Paint& paint) {
    const Box one{left, top, width, height};
    boxes({&one, 1}, paint);
  }
  void line(double x0, double y0, double x1, double y1, const Paint& paint, double width = 1) {
    const Point ends[] = {{x0, y0}, {x1, y1}};
    polyline(ends, paint, width, false);
  }
};

/// SVG with text as text. Inside a page, colours are the page's CSS variables (--ink, --muted …)
/// and the paper is the page's; a file of its own has colours as numbers on white.
class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(double width, double height, bool inside_page);
  void boxes(std::span<const Box> boxes, const Paint& paint) override;
  void polyline(std::span<const Point> points,
                const Paint& paint,
                double width,
                bool dashed) override;
  void text(double x,
            double y,
            const std::string& what,
            const Paint& paint,
            const Lettering& how) override;
  [[nodiscard]] double text_width(const std::string& what, double size) const override;
  /// The whole element; the canvas is empty afterwards.
  [[nodiscard]] std::string finish();

 private:
  [[nodiscard]] std::string colour(const char* property, const Paint& paint) const;

  bool inside_page_;
  std::string out_;
};

/// A canvas for PNG at twice the resolution; null where this build has no PNG (no cairo).
class PngCanvas : public Canvas {
 public:
  [[nodiscard]] static std::unique_ptr<PngCanvas> create(double width, double height);
  /// The file's bytes.
  [[nodiscard]] virtual Result<std::string> encode() = 0;
};

}  // namespace shunt::report
