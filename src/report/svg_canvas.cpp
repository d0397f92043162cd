// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <fmt/format.h>

#include "report/canvas.hpp"
#include "report/cell.hpp"
#include "report/escape.hpp"

namespace shunt::report {
namespace {

/// At most two decimals and no trailing zeros: a twentieth of a pixel is enough.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace

SvgCanvas::SvgCanvas(double width, double height, bool inside_page) : inside_page_(inside_page) {
  const std::string size = fmt::format("viewBox=\"0 0 {0} {1}\"", number(width), number(height));
  if (inside_page) {
    out_ = fmt::format("<svg class=\"picture\" {} role=\"img\">\n", size);
    return;
  }
  out_ = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" {} "
      "font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      number(width),
      number(height),
      size);
}

std::string SvgCanvas::colour(const char* property, const Paint& paint) const {
  std::string value = inside_page_ ? fmt::format("style=\"{}:var(--{})\"", property, paint.name)
                                   : fmt::format("{}=\"#{:06x}\"", property, paint.rgb);
  if (paint.alpha >= 1) return value;
  return fmt::format("{} {}-opacity=\"{}\"", value, property, number(paint.alpha));
}

void SvgCanvas::boxes(std::span<const Box> boxes, const Paint& paint) {
  if (boxes.empty()) return;
  std::string path;
  for (const Box& box : boxes) {
    path += fmt::format("M{} {}h{}v{}h-{}z",
                        number(box.left),
                        number(box.top),
                        number(box.width),
                        number(box.height),
                        number(box.width));
  }
  out_ += fmt::format("<path {} d=\"{}\"/>\n", colour("fill", paint), path);
}

void SvgCanvas::polyline(std::span<const Point> points,
                         const Paint& paint,
                         double width,
                         bool dashed) {
  std::string path;
  for (const Point& point : points) {
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", number(point.x), number(point.y));
  }
  out_ += fmt::format("<path fill=\"none\" {} stroke-width=\"{}\"{} d=\"{}\"/>\n",
                      colour("stroke", paint),
                      number(width),
                      dashed ? " stroke-dasharray=\"5 3\"" : "",
                      path);
}

void SvgCanvas::text(
    double x, double y, const std::string& what, const Paint& paint, const Lettering& how) {
  const char* anchor = how.align >= 0.75  ? " text-anchor=\"end\""
                       : how.align > 0.25 ? " text-anchor=\"middle\""
                                          : "";
  out_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\"{}{} {}>{}</text>\n",
                      number(x),
                      number(y),
                      number(how.size),
                      how.bold ? " font-weight=\"bold\"" : "",
                      anchor,
                      colour("fill", paint),
                      escape_markup(what));
}

double SvgCanvas::text_width(const std::string& what, double size) const {
  // The viewer's font decides; a wide sans serif's mean keeps neighbours apart in any.
  return 0.6 * size * static_cast<double>(display_width(what));
}

std::string SvgCanvas::finish() {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace shunt::report
