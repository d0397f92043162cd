// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/picture.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "report/timeline_drawing.hpp"

namespace shunt::report {

using analysis::Timeline;

namespace {

Status check(const Timeline& timeline) {
  if (!timeline.lanes.empty()) return {};
  return fail(ErrorCode::kCorrupt,
              ErrorScope::kOperation,
              "there is no measured iteration to draw; was the run recorded to its end?");
}

std::string svg_of(const Timeline& timeline, const PictureText& text, bool inside_page) {
  SvgCanvas canvas(kTimelineWidth, timeline_height(timeline, text), inside_page);
  draw_timeline_on(canvas, timeline, text);
  return canvas.finish();
}

Status draw_png(const Timeline& timeline, const PictureText& text, const std::string& path) {
  const auto canvas = PngCanvas::create(kTimelineWidth, timeline_height(timeline, text));
  if (canvas == nullptr) {
    return usage_error("this build draws no PNG (no cairo); name the picture .svg, not '{}'", path);
  }
  draw_timeline_on(*canvas, timeline, text);
  const auto bytes = canvas->encode();
  if (!bytes) return Unexpected(bytes.error());
  return write_file(path, *bytes);
}

}  // namespace

Status draw_timeline(const Timeline& timeline, const PictureText& text, const std::string& path) {
  const bool svg = path.ends_with(".svg");
  if (!svg && !path.ends_with(".png")) {
    return usage_error("cannot tell the format of '{}'; name it .svg or .png", path);
  }
  SHUNT_TRY(check(timeline));
  return svg ? write_file(path, svg_of(timeline, text, false)) : draw_png(timeline, text, path);
}

Result<std::string> inline_timeline(const Timeline& timeline) {
  SHUNT_TRY(check(timeline));
  return svg_of(timeline, {}, true);
}

}  // namespace shunt::report
