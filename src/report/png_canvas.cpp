// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <cairo.h>

#include "base/error.hpp"
#include "report/canvas.hpp"

namespace shunt::report {
namespace {

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;
using Context = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;

constexpr int kScale = 2;

class CairoCanvas final : public PngCanvas {
 public:
  CairoCanvas(double width, double height)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                            static_cast<int>(width) * kScale,
                                            static_cast<int>(height) * kScale),
                 cairo_surface_destroy),
        context_(cairo_create(surface_.get()), cairo_destroy) {
    cairo_scale(cr(), kScale, kScale);
    cairo_set_source_rgb(cr(), 1, 1, 1);
    cairo_paint(cr());
  }

  void boxes(std::span<const Box> boxes, const Paint& paint) override {
    set(paint);
    for (const Box& box : boxes) cairo_rectangle(cr(), box.left, box.top, box.width, box.height);
    cairo_fill(cr());
  }

  void polyline(std::span<const Point> points,
                const Paint& paint,
                double width,
                bool dashed) override {
    set(paint);
    const double dash[] = {5, 3};
    cairo_set_dash(cr(), dash, dashed ? 2 : 0, 0);
    cairo_set_line_width(cr(), width);
    // Text leaves a current point behind, which the line would begin at.
    cairo_new_path(cr());
    for (const Point& point : points) cairo_line_to(cr(), point.x, point.y);
    cairo_stroke(cr());
  }

  void text(double x,
            double y,
            const std::string& what,
            const Paint& paint,
            const Lettering& how) override {
    set(paint);
    select(how.size, how.bold);
    cairo_move_to(cr(), x - width_of(what) * how.align, y);
    cairo_show_text(cr(), what.c_str());
  }

  [[nodiscard]] double text_width(const std::string& what, double size) const override {
    select(size, false);
    return width_of(what);
  }

  [[nodiscard]] Result<std::string> encode() override {
    std::string bytes;
    const auto append = [](void* closure, const unsigned char* data, unsigned length) {
      static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
      return CAIRO_STATUS_SUCCESS;
    };
    cairo_status_t status = cairo_status(cr());
    if (status == CAIRO_STATUS_SUCCESS) {
      status = cairo_surface_write_to_png_stream(surface_.get(), append, &bytes);
    }
    if (status == CAIRO_STATUS_SUCCESS) return bytes;
    return fail(ErrorCode::kSystem,
                ErrorScope::kOperation,
                "cannot draw the picture: {}",
                cairo_status_to_string(status));
  }

 private:
  [[nodiscard]] cairo_t* cr() const { return context_.get(); }

  void set(const Paint& paint) {
    const auto part = [&](int shift) { return (paint.rgb >> shift & 0xffU) / 255.0; };
    cairo_set_source_rgba(cr(), part(16), part(8), part(0), paint.alpha);
  }
  void select(double size, bool bold) const {
    cairo_select_font_face(cr(),
                           "DejaVu Sans",
                           CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr(), size);
  }
  [[nodiscard]] double width_of(const std::string& what) const {
    cairo_text_extents_t extents;
    cairo_text_extents(cr(), what.c_str(), &extents);
    return extents.x_advance;
  }
  Surface surface_;
  Context context_;
};

}  // namespace

std::unique_ptr<PngCanvas> PngCanvas::create(double width, double height) {
  return std::make_unique<CairoCanvas>(width, height);
}

}  // namespace shunt::report
