// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/timeline_drawing.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "report/axis.hpp"
#include "report/cell.hpp"

namespace shunt::report {
namespace {

using analysis::Timeline;
using analysis::TimelineLane;
using analysis::TimelineLink;
using record::Phase;

constexpr double kWidth = kTimelineWidth;
constexpr double kLeft = 150;
constexpr double kRight = 30;
constexpr double kPlot = kWidth - kLeft - kRight;
constexpr double kTitles = 60;  ///< Title and headline, where there are any.
constexpr double kTop = 14;
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

constexpr Paint kVermilion{"vermilion", 0xD55E00};
constexpr Paint kBlue{"blue", 0x0072B2};
constexpr Paint kGreen{"green", 0x009E73};
constexpr Paint kGrey{"grey", 0x555555};

/// Okabe–Ito: told apart with any colour vision.
Paint paint_of(Phase phase) {
  switch (phase) {
    case Phase::kCopyToStaging:
      return {"orange", 0xE69F00};
    case Phase::kDispatchInterNodeSend:
      return kVermilion;
    case Phase::kDispatchInterNodeRecv:
      return kBlue;
    case Phase::kDispatchIntra:
    case Phase::kCombineIntraNode:
      return kGreen;
    case Phase::kCombineInterNode:
      return {"purple", 0xCC79A7};
    case Phase::kCombineAll:
      return {"sky", 0x56B4E9};
    case Phase::kDispatchOutputCopy:
      return {"yellow", 0xF0E442};
    default:
      return kGrey;
  }
}

/// The canvas with the time axis on it.
class Sheet {
 public:
  Sheet(Canvas& canvas, std::uint64_t length_ns)
      : canvas_(canvas), length_(static_cast<double>(std::max<std::uint64_t>(1, length_ns))) {}

  [[nodiscard]] double x(double ns) const { return kLeft + kPlot * ns / length_; }
  [[nodiscard]] double length() const { return length_; }
  [[nodiscard]] Canvas* operator->() const { return &canvas_; }

 private:
  Canvas& canvas_;
  double length_;
};

void draw_axis(const Sheet& sheet, double top, double bottom) {
  const double step = tick_step(sheet.length());
  const Scale scale = scale_for(Unit::kNs, sheet.length());
  for (double at = 0; at <= sheet.length(); at += step) {
    sheet->line(sheet.x(at), top, sheet.x(at), bottom, kFaint.faded(0.22), 0.6);
    sheet->text(
        sheet.x(at), bottom + 15, fmt::format("{:g}", at / scale.divisor), kFaint, {11, 0.5});
  }
  sheet->line(kLeft, bottom, kLeft + kPlot, bottom, kFaint, 0.8);
  sheet->text(kLeft - 10, bottom + 15, fmt::format("time ({})", scale.name), kFaint, {11, 1});
}

/// Runs of marked half-pixel columns as boxes: a picture stays small however many spans there are.
std::vector<Box> boxes_of(const std::vector<bool>& columns, double top) {
  std::vector<Box> boxes;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c]) continue;
    std::size_t end = c;
    while (end < columns.size() && columns[end]) ++end;
    boxes.push_back(
        {kLeft + static_cast<double>(c) / 2, top, static_cast<double>(end - c) / 2, kLane});
    c = end;
  }
  return boxes;
}

void draw_lane(const Sheet& sheet, const TimelineLane& lane, double top) {
  const auto column = [&](std::uint64_t ns) {
    return static_cast<std::size_t>((sheet.x(static_cast<double>(ns)) - kLeft) * 2);
  };
  for (const auto& piece : lane.phases) {
    const double left = sheet.x(static_cast<double>(piece.begin));
    const double right = sheet.x(static_cast<double>(piece.end));
    const Paint paint = paint_of(piece.phase);
    sheet->box(left, top, std::max(0.75, right - left), kLane, paint.faded(0.25));
    std::vector<bool> columns(static_cast<std::size_t>(kPlot) * 2 + 2, false);
    for (const auto& work : lane.work) {
      if (work.phase != piece.phase || work.begin < piece.begin || work.end > piece.end) continue;
      const std::size_t last = std::min(column(work.end), columns.size() - 1);
      for (std::size_t c = column(work.begin); c <= last; ++c) columns[c] = true;
    }
    sheet->boxes(boxes_of(columns, top), paint);
  }
}

double draw_lanes(const Sheet& sheet, const Timeline& timeline, double top, int* ranks_left) {
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
      sheet->text(16, top + kLane - 2.5, fmt::format("rank {}", rank), kInk, {12, 0, true});
    } else if (*ranks_left > 0) {
      continue;
    }
    sheet->text(kLeft - 10, top + kLane - 2.5, lane.group, kFaint, {11, 1});
    draw_lane(sheet, lane, top);
    top += kLane + kLaneGap;
  }
  return top;
}

/// GB/s by column of `bins`.
std::vector<double> rates_of(const Sheet& sheet, const TimelineLink& link, std::size_t bins) {
  std::vector<double> bytes(bins, 0);
  const double width = sheet.length() / static_cast<double>(bins);
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

void draw_rate(const Sheet& sheet, const Timeline& timeline, const TimelineLink& link, double top) {
  constexpr std::size_t kBins = 255;
  const std::vector<double> rates = rates_of(sheet, link, kBins);
  const double most = *std::ranges::max_element(rates);
  const double rating = timeline.rating_bytes_per_ns.value_or(0);
  const double full = std::max(1e-12, rating > 0 ? rating * 1.15 : most * 1.1);
  const double bottom = top + kStrip;
  std::vector<Box> boxes;
  for (std::size_t b = 0; b < kBins; ++b) {
    const double height = std::min(1.0, rates[b] / full) * kStrip;
    const double width = kPlot / static_cast<double>(kBins);
    if (height > 0) {
      boxes.push_back({kLeft + static_cast<double>(b) * width, bottom - height, width, height});
    }
  }
  sheet->boxes(boxes, kBlue.faded(0.75));
  sheet->line(kLeft, bottom, kLeft + kPlot, bottom, kFaint, 0.6);
  sheet->text(16, top + 14, link.name, kInk, {12, 0, true});
  if (rating <= 0) {
    sheet->text(16, top + 30, fmt::format("GB/s, at most {:.3g}", most), kFaint, {});
    return;
  }
  const double y = bottom - rating / full * kStrip;
  // Beside the strip: in it, bars would cover the words.
  sheet->text(16, top + 30, fmt::format("dashed: {:.4g} GB/s", rating), kFaint, {});
  const Point ends[] = {{kLeft, y}, {kLeft + kPlot, y}};
  sheet->polyline(ends, kVermilion, 1.2, true);
}

void draw_flight(const Sheet& sheet, const TimelineLink& link, double top) {
  int most = 1;
  for (const auto& step : link.in_flight) most = std::max(most, step.in_flight);
  const double bottom = top + kFlight;
  const auto y = [&](int count) { return bottom - kFlight * count / most; };
  std::vector<Point> points{{kLeft, bottom}};
  int before = 0;
  for (const auto& step : link.in_flight) {
    const double at = sheet.x(static_cast<double>(step.time));
    points.push_back({at, y(before)});
    points.push_back({at, y(step.in_flight)});
    before = step.in_flight;
  }
  points.push_back({kLeft + kPlot, y(before)});
  sheet->polyline(points, kGreen, 1.3, false);
  sheet->line(kLeft, bottom, kLeft + kPlot, bottom, kFaint, 0.6);
  sheet->text(16, top + 20, "puts in flight", kFaint, {});
  sheet->text(kLeft - 6, top + 8, std::to_string(most), kFaint, {10, 1});
}

void draw_legend(const Sheet& sheet, const Timeline& timeline, double top) {
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
  const auto entry = [&](const Paint& paint, const std::string& name) {
    const double width = sheet->text_width(name, 11);
    if (left + 17 + width > kWidth - 8) {
      left = kLeft;
      top += 18;
    }
    sheet->box(left, top - 10, 12, 12, paint);
    sheet->text(left + 17, top, name, kInk, {});
    left += 17 + width + 12;
  };
  for (const Phase phase : shown) entry(paint_of(phase), record::to_string(phase));
  if (sync) entry(kGrey, "counts, barriers, release");
  entry(kGrey.faded(0.25), "pale: waiting");
}

/// The headline in lines that fit.
std::vector<std::string> headline_lines(const PictureText& text) {
  return wrap(text.headline, 150);
}

double top_of(const PictureText& text) {
  if (text.title.empty()) return kTop;
  return kTop + kTitles + 17.0 * (static_cast<double>(headline_lines(text).size()) - 1);
}

}  // namespace

double timeline_height(const Timeline& timeline, const PictureText& text) {
  int ranks = 0;
  int last = -1;
  double height = top_of(text);
  for (const TimelineLane& lane : timeline.lanes) {
    if (lane.rank != last) {
      last = lane.rank;
      if (++ranks > kMaxRanks) break;
      height += ranks > 1 ? kRankGap : 0;
    }
    height += kLane + kLaneGap;
  }
  const auto links = static_cast<double>(std::min(timeline.links.size(), kMaxLinks));
  return std::ceil(height + links * (kStrip + kFlight + 8 + kLinkGap) + kAxis + kLegend + 12);
}

void draw_timeline_on(Canvas& canvas, const Timeline& timeline, const PictureText& text) {
  const Sheet sheet(canvas, timeline.length_ns);
  double line = 50;
  if (!text.title.empty()) {
    canvas.text(16, 28, text.title, kInk, {16, 0, true});
    for (const std::string& part : headline_lines(text)) {
      canvas.text(16, line, part, kInk, {13});
      line += 17;
    }
  }
  int ranks_left = 0;
  const double axis = timeline_height(timeline, text) - kLegend - kAxis - 4;
  draw_axis(sheet, top_of(text) - 6, axis);
  double top = draw_lanes(sheet, timeline, top_of(text), &ranks_left) + kLinkGap;
  const std::size_t links = std::min(timeline.links.size(), kMaxLinks);
  for (std::size_t i = 0; i < links; ++i) {
    draw_rate(sheet, timeline, timeline.links[i], top);
    draw_flight(sheet, timeline.links[i], top + kStrip + 8);
    top += kStrip + kFlight + 8 + kLinkGap;
  }
  draw_legend(sheet, timeline, axis + 42);
  const std::size_t links_left = timeline.links.size() - links;
  if (ranks_left > 0 || links_left > 0) {
    canvas.text(kLeft,
                axis + 78,
                fmt::format("{} more ranks and {} more links not drawn", ranks_left, links_left),
                kFaint,
                {});
  }
}

}  // namespace shunt::report
