// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include "base/error.hpp"
#include "report/cell.hpp"

namespace shunt::report {
namespace {

using analysis::Timeline;
using analysis::TimelineLane;
using analysis::TimelineLink;
using record::Phase;

constexpr double kWidth = 1200;
constexpr double kLeft = 150;
constexpr double kRight = 30;
constexpr double kPlot = kWidth - kLeft - kRight;
constexpr double kTop = 74;
constexpr double kLane = 13;
constexpr double kLaneGap = 3;
constexpr double kRankGap = 9;
constexpr double kStrip = 56;
constexpr double kFlight = 34;
constexpr double kLinkGap = 16;
constexpr double kAxis = 34;
constexpr double kLegend = 58;
constexpr int kMaxRanks = 16;
constexpr std::size_t kMaxLinks = 4;

struct Colour {
  double r, g, b;
};
constexpr Colour hex(unsigned rgb) {
  return {(rgb >> 16 & 0xff) / 255.0, (rgb >> 8 & 0xff) / 255.0, (rgb & 0xff) / 255.0};
}
constexpr Colour kInk = hex(0x222222);
constexpr Colour kFaint = hex(0x777777);

/// Okabe–Ito: told apart with any colour vision.
Colour colour_of(Phase phase) {
  switch (phase) {
    case Phase::kCopyToStaging:
      return hex(0xE69F00);
    case Phase::kDispatchInterNodeSend:
      return hex(0xD55E00);
    case Phase::kDispatchInterNodeRecv:
      return hex(0x0072B2);
    case Phase::kDispatchIntra:
    case Phase::kCombineIntraNode:
      return hex(0x009E73);
    case Phase::kCombineInterNode:
      return hex(0xCC79A7);
    case Phase::kCombineAll:
      return hex(0x56B4E9);
    case Phase::kDispatchOutputCopy:
      return hex(0xF0E442);
    default:
      return hex(0x555555);
  }
}

class Canvas {
 public:
  Canvas(cairo_t* cr, std::uint64_t length_ns)
      : cr_(cr), length_(static_cast<double>(std::max<std::uint64_t>(1, length_ns))) {}

  [[nodiscard]] double x(double ns) const { return kLeft + kPlot * ns / length_; }
  void paint(Colour c, double alpha = 1) const { cairo_set_source_rgba(cr_, c.r, c.g, c.b, alpha); }
  void box(double left, double top, double width, double height) const {
    cairo_rectangle(cr_, left, top, width, height);
    cairo_fill(cr_);
  }
  void line(double x0, double y0, double x1, double y1, double width = 1) const {
    cairo_set_line_width(cr_, width);
    cairo_move_to(cr_, x0, y0);
    cairo_line_to(cr_, x1, y1);
    cairo_stroke(cr_);
  }
  /// align 0: from x on, 0.5: around it, 1: up to it.
  void text(double at_x,
            double y,
            const std::string& what,
            double size,
            double align = 0,
            bool bold = false) const {
    cairo_select_font_face(cr_,
                           "DejaVu Sans",
                           CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr_, size);
    cairo_text_extents_t extents;
    cairo_text_extents(cr_, what.c_str(), &extents);
    cairo_move_to(cr_, at_x - extents.x_advance * align, y);
    cairo_show_text(cr_, what.c_str());
  }
  [[nodiscard]] cairo_t* raw() const { return cr_; }
  [[nodiscard]] double length() const { return length_; }

 private:
  cairo_t* cr_;
  double length_;
};

/// 1, 2 or 5 times a power of ten, for about eight ticks.
double tick_step(double length) {
  const double raw = length / 8;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

void draw_axis(const Canvas& canvas, double top, double bottom) {
  const double step = tick_step(canvas.length());
  const Scale scale = scale_for(Unit::kNs, canvas.length());
  for (double at = 0; at <= canvas.length(); at += step) {
    canvas.paint(kFaint, 0.22);
    canvas.line(canvas.x(at), top, canvas.x(at), bottom, 0.6);
    canvas.paint(kFaint);
    canvas.text(canvas.x(at), bottom + 15, fmt::format("{:g}", at / scale.divisor), 11, 0.5);
  }
  canvas.paint(kFaint);
  canvas.line(kLeft, bottom, kLeft + kPlot, bottom, 0.8);
  canvas.text(kLeft - 10, bottom + 15, fmt::format("time ({})", scale.name), 11, 1);
}

/// Work is drawn by pixel columns, so that a picture stays small however many spans there are.
void draw_lane(const Canvas& canvas, const TimelineLane& lane, double top) {
  for (const auto& piece : lane.phases) {
    const double left = canvas.x(static_cast<double>(piece.begin));
    const double right = canvas.x(static_cast<double>(piece.end));
    canvas.paint(colour_of(piece.phase), 0.25);
    canvas.box(left, top, std::max(0.75, right - left), kLane);
    std::vector<bool> columns(static_cast<std::size_t>(kPlot) * 2 + 2, false);
    for (const auto& work : lane.work) {
      if (work.phase != piece.phase || work.begin < piece.begin || work.end > piece.end) continue;
      const auto first =
          static_cast<std::size_t>((canvas.x(static_cast<double>(work.begin)) - kLeft) * 2);
      const auto last =
          static_cast<std::size_t>((canvas.x(static_cast<double>(work.end)) - kLeft) * 2);
      for (std::size_t c = first; c <= last && c < columns.size(); ++c) columns[c] = true;
    }
    canvas.paint(colour_of(piece.phase));
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (!columns[c]) continue;
      std::size_t end = c;
      while (end < columns.size() && columns[end]) ++end;
      canvas.box(kLeft + static_cast<double>(c) / 2, top, static_cast<double>(end - c) / 2, kLane);
      c = end;
    }
  }
}

double draw_lanes(const Canvas& canvas, const Timeline& timeline, double top, int* ranks_left) {
  int rank = -1;
  int drawn = 0;
  for (const TimelineLane& lane : timeline.lanes) {
    if (lane.rank != rank) {
      if (drawn == kMaxRanks) {
        ++*ranks_left;
        rank = lane.rank;
        continue;
      }
      if (*ranks_left > 0) continue;
      if (rank >= 0) top += kRankGap;
      rank = lane.rank;
      ++drawn;
      canvas.paint(kInk);
      canvas.text(16, top + kLane - 2.5, fmt::format("rank {}", rank), 12, 0, true);
    } else if (*ranks_left > 0) {
      continue;
    }
    canvas.paint(kFaint);
    canvas.text(kLeft - 10, top + kLane - 2.5, lane.group, 11, 1);
    draw_lane(canvas, lane, top);
    top += kLane + kLaneGap;
  }
  return top;
}

/// GB/s by column of `bins`.
std::vector<double> rates_of(const Canvas& canvas, const TimelineLink& link, std::size_t bins) {
  std::vector<double> bytes(bins, 0);
  const double width = canvas.length() / static_cast<double>(bins);
  for (const auto& flow : link.flows) {
    const double begin = static_cast<double>(flow.begin);
    const double span = std::max(1.0, static_cast<double>(flow.end) - begin);
    const auto first = static_cast<std::size_t>(begin / width);
    const auto last = static_cast<std::size_t>((begin + span) / width);
    for (std::size_t b = first; b <= last && b < bins; ++b) {
      const double from = std::max(begin, static_cast<double>(b) * width);
      const double to = std::min(begin + span, static_cast<double>(b + 1) * width);
      if (to > from) bytes[b] += static_cast<double>(flow.bytes) * (to - from) / span;
    }
  }
  for (double& b : bytes) b /= width;
  return bytes;
}

void draw_rate(const Canvas& canvas,
               const Timeline& timeline,
               const TimelineLink& link,
               double top) {
  constexpr std::size_t kBins = 255;
  const std::vector<double> rates = rates_of(canvas, link, kBins);
  const double most = *std::ranges::max_element(rates);
  const double rating = timeline.rating_bytes_per_ns.value_or(0);
  const double full = std::max(1e-12, rating > 0 ? rating * 1.15 : most * 1.1);
  const double bottom = top + kStrip;
  canvas.paint(hex(0x0072B2), 0.75);
  for (std::size_t b = 0; b < kBins; ++b) {
    const double height = std::min(1.0, rates[b] / full) * kStrip;
    const double width = kPlot / static_cast<double>(kBins);
    if (height > 0)
      canvas.box(kLeft + static_cast<double>(b) * width, bottom - height, width, height);
  }
  canvas.paint(kFaint);
  canvas.line(kLeft, bottom, kLeft + kPlot, bottom, 0.6);
  canvas.paint(kInk);
  canvas.text(16, top + 14, link.name, 12, 0, true);
  canvas.paint(kFaint);
  if (rating > 0) {
    const double y = bottom - rating / full * kStrip;
    canvas.text(16, top + 30, "share of the rating", 11);
    canvas.text(kLeft + kPlot, y - 4, fmt::format("rating {:.4g} GB/s", rating), 10, 1);
    canvas.paint(hex(0xD55E00));
    const double dash[] = {5, 3};
    cairo_set_dash(canvas.raw(), dash, 2, 0);
    canvas.line(kLeft, y, kLeft + kPlot, y, 1.2);
    cairo_set_dash(canvas.raw(), nullptr, 0, 0);
  } else {
    canvas.text(16, top + 30, fmt::format("GB/s, at most {:.3g}", most), 11);
  }
}

void draw_flight(const Canvas& canvas, const TimelineLink& link, double top) {
  int most = 1;
  for (const auto& step : link.in_flight) most = std::max(most, step.in_flight);
  const double bottom = top + kFlight;
  const auto y = [&](int count) { return bottom - kFlight * count / most; };
  cairo_t* cr = canvas.raw();
  cairo_move_to(cr, kLeft, bottom);
  int before = 0;
  for (const auto& step : link.in_flight) {
    const double at = canvas.x(static_cast<double>(step.time));
    cairo_line_to(cr, at, y(before));
    cairo_line_to(cr, at, y(step.in_flight));
    before = step.in_flight;
  }
  cairo_line_to(cr, kLeft + kPlot, y(before));
  canvas.paint(hex(0x009E73));
  cairo_set_line_width(cr, 1.3);
  cairo_stroke(cr);
  canvas.paint(kFaint);
  canvas.line(kLeft, bottom, kLeft + kPlot, bottom, 0.6);
  canvas.text(16, top + 20, "puts in flight", 11);
  canvas.text(kLeft - 6, top + 8, std::to_string(most), 10, 1);
}

void draw_legend(const Canvas& canvas, const Timeline& timeline, double top) {
  std::vector<Phase> shown;
  bool sync = false;
  for (const TimelineLane& lane : timeline.lanes) {
    for (const auto& piece : lane.phases) {
      if (lane.group == "sync") {
        sync = true;
      } else if (std::ranges::count(shown, piece.phase) == 0) {
        shown.push_back(piece.phase);
      }
    }
  }
  std::ranges::sort(shown);
  double left = kLeft;
  const auto entry = [&](Colour colour, double alpha, const std::string& name) {
    cairo_text_extents_t extents;
    cairo_set_font_size(canvas.raw(), 11);
    cairo_text_extents(canvas.raw(), name.c_str(), &extents);
    if (left + 17 + extents.x_advance > kWidth - 8) {
      left = kLeft;
      top += 18;
    }
    canvas.paint(colour, alpha);
    canvas.box(left, top - 10, 12, 12);
    canvas.paint(kInk);
    canvas.text(left + 17, top, name, 11);
    left += 17 + extents.x_advance + 12;
  };
  for (const Phase phase : shown) entry(colour_of(phase), 1, record::to_string(phase));
  if (sync) entry(colour_of(Phase::kDispatchSync), 1, "counts, barriers, release");
  entry(hex(0x555555), 0.25, "pale: waiting");
}

double height_of(const Timeline& timeline) {
  int ranks = 0;
  int last = -1;
  double height = kTop;
  for (const TimelineLane& lane : timeline.lanes) {
    if (lane.rank != last) {
      last = lane.rank;
      if (++ranks > kMaxRanks) break;
      height += ranks > 1 ? kRankGap : 0;
    }
    height += kLane + kLaneGap;
  }
  const auto links = static_cast<double>(std::min(timeline.links.size(), kMaxLinks));
  return height + links * (kStrip + kFlight + 8 + kLinkGap) + kAxis + kLegend + 12;
}

void draw(cairo_t* cr, const Timeline& timeline, const PictureText& text, double height) {
  const Canvas canvas(cr, timeline.length_ns);
  cairo_set_source_rgb(cr, 1, 1, 1);
  cairo_paint(cr);
  canvas.paint(kInk);
  canvas.text(16, 28, text.title, 16, 0, true);
  canvas.text(16, 50, text.headline, 13);
  int ranks_left = 0;
  const double axis = height - kLegend - kAxis - 4;
  draw_axis(canvas, kTop - 6, axis);
  double top = draw_lanes(canvas, timeline, kTop, &ranks_left) + kLinkGap;
  for (std::size_t i = 0; i < std::min(timeline.links.size(), kMaxLinks); ++i) {
    draw_rate(canvas, timeline, timeline.links[i], top);
    draw_flight(canvas, timeline.links[i], top + kStrip + 8);
    top += kStrip + kFlight + 8 + kLinkGap;
  }
  draw_legend(canvas, timeline, axis + 42);
  const std::size_t links_left = timeline.links.size() - std::min(timeline.links.size(), kMaxLinks);
  if (ranks_left > 0 || links_left > 0) {
    canvas.paint(kFaint);
    canvas.text(kWidth - kRight,
                28,
                fmt::format("{} more ranks and {} more links not drawn", ranks_left, links_left),
                11,
                1);
  }
}

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;
using Context = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;

Status cairo_outcome(cairo_status_t status, const std::string& path) {
  if (status == CAIRO_STATUS_SUCCESS) return {};
  return fail(ErrorCode::kSystem,
              ErrorScope::kOperation,
              "cannot write {}: {}",
              path,
              cairo_status_to_string(status));
}

bool ends_with(const std::string& path, const std::string& ending) {
  return path.size() > ending.size() &&
         path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

Status draw_timeline(const Timeline& timeline, const PictureText& text, const std::string& path) {
  const bool svg = ends_with(path, ".svg");
  if (!svg && !ends_with(path, ".png")) {
    return usage_error("cannot tell the format of '{}'; name it .svg or .png", path);
  }
  if (timeline.lanes.empty()) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "there is no measured iteration to draw; was the run recorded to its end?");
  }
  const double height = std::ceil(height_of(timeline));
  constexpr int kPngScale = 2;
  // Written beside its place and renamed, so that a reader never sees half a picture.
  const std::string partial = path + ".partial";
  const Surface surface(svg ? cairo_svg_surface_create(partial.c_str(), kWidth, height)
                            : cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                                         static_cast<int>(kWidth) * kPngScale,
                                                         static_cast<int>(height) * kPngScale),
                        cairo_surface_destroy);
  {
    const Context context(cairo_create(surface.get()), cairo_destroy);
    if (!svg) cairo_scale(context.get(), kPngScale, kPngScale);
    draw(context.get(), timeline, text, height);
    SHUNT_TRY(cairo_outcome(cairo_status(context.get()), path));
  }
  if (!svg) {
    SHUNT_TRY(cairo_outcome(cairo_surface_write_to_png(surface.get(), partial.c_str()), path));
  }
  cairo_surface_finish(surface.get());
  SHUNT_TRY(cairo_outcome(cairo_surface_status(surface.get()), path));
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    const int sys = errno;
    return system_error(sys, "cannot rename {} to {}", partial, path);
  }
  return {};
}

}  // namespace shunt::report
