// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rates over sizes, or over numbers of ranks, as lines: for the tables that hold a sweep.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/units.hpp"
#include "report/axis.hpp"
#include "report/canvas.hpp"
#include "report/cell.hpp"
#include "report/html_parts.hpp"

namespace shunt::report {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 270;
constexpr double kLeft = 58;
constexpr double kRight = 18;
constexpr double kTop = 34;
constexpr double kBottom = 42;
constexpr std::size_t kMostSeries = 6;

constexpr std::array<Paint, kMostSeries> kPaints{{{"blue", 0x0072B2},
                                                  {"vermilion", 0xD55E00},
                                                  {"green", 0x009E73},
                                                  {"purple", 0xCC79A7},
                                                  {"orange", 0xE69F00},
                                                  {"sky", 0x56B4E9}}};

struct Series {
  std::string name;
  std::vector<Point> points;  ///< x: bytes or ranks, y: GB/s; by x.
};

struct Chart {
  std::string x_title;
  bool sizes = false;  ///< x is bytes.
  std::vector<Series> series;
};

std::size_t column(const Table& table, std::string_view key) {
  const auto found = std::ranges::find(table.columns, key, &Column::key);
  return static_cast<std::size_t>(found - table.columns.begin());
}

std::optional<double> cell(const std::vector<Value>& row, std::size_t c) {
  return c < row.size() ? as_number(row[c]) : std::nullopt;
}

/// A line needs three places to say anything.
void keep_lines(Chart& chart) {
  for (Series& one : chart.series) {
    std::ranges::stable_sort(one.points, {}, &Point::x);
    const auto same = [](const Point& a, const Point& b) { return a.x == b.x; };
    one.points.erase(std::unique(one.points.begin(), one.points.end(), same), one.points.end());
  }
  std::erase_if(chart.series, [](const Series& one) { return one.points.size() < 3; });
  if (chart.series.size() > kMostSeries) chart.series.resize(kMostSeries);
}

Chart sizes_of(const Table& table) {
  Chart chart{"message size", true, {}};
  const std::size_t size = column(table, "size_bytes");
  for (const auto& [key, name] : {std::pair{"rate_gb_per_s", "rate: bytes / time"},
                                  std::pair{"bus_gb_per_s", "busbw: what a rank sends"}}) {
    const std::size_t c = column(table, key);
    Series series{name, {}};
    for (const auto& row : table.rows) {
      const auto x = cell(row, size);
      const auto y = cell(row, c);
      if (x && y && *x > 0 && *y >= 0) series.points.push_back({*x, *y});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart ranks_of(const Table& table) {
  Chart chart{"ranks", false, {}};
  const std::size_t name = column(table, "operation");
  const std::size_t ranks = column(table, "ranks");
  const std::size_t rate = column(table, "rate_gb_per_s");
  std::map<std::string, std::size_t> known;
  for (const auto& row : table.rows) {
    const auto* text = name < row.size() ? std::get_if<std::string>(&row[name]) : nullptr;
    const auto x = cell(row, ranks);
    const auto y = cell(row, rate);
    if (text == nullptr || !x || !y || *x <= 0) continue;
    const auto [at, fresh] = known.emplace(*text, chart.series.size());
    if (fresh) chart.series.push_back({*text, {}});
    chart.series[at->second].points.push_back({*x, *y});
  }
  return chart;
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart), canvas_(kWidth, kHeight, true) {
    for (const Series& one : chart.series) {
      low_ = std::min(low_, std::log2(one.points.front().x));
      high_ = std::max(high_, std::log2(one.points.back().x));
      for (const Point& point : one.points) top_ = std::max(top_, point.y);
    }
    top_ = top_ > 0 ? top_ * 1.06 : 1;
  }

  std::string draw() {
    draw_rates();
    draw_places();
    double legend = kLeft;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      draw_series(chart_.series[i], kPaints[i]);
      canvas_.box(legend, 8, 12, 12, kPaints[i]);
      canvas_.text(legend + 17, 18, chart_.series[i].name, kInk, {12});
      legend += 40 + canvas_.text_width(chart_.series[i].name, 12);
    }
    return canvas_.finish();
  }

 private:
  [[nodiscard]] double x(double value) const {
    const double share = high_ > low_ ? (std::log2(value) - low_) / (high_ - low_) : 0.5;
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - value / top_ * (kHeight - kTop - kBottom);
  }

  void draw_rates() {
    const double step = tick_step(top_, 5);
    for (double at = 0; at <= top_; at += step) {
      canvas_.line(kLeft, y(at), kWidth - kRight, y(at), kFaint.faded(0.22), 0.8);
      canvas_.text(kLeft - 8, y(at) + 4, fmt::format("{:g}", at), kFaint, {12, 1});
    }
    canvas_.text(kLeft - 8, kTop - 12, "GB/s", kFaint, {12, 1});
  }

  /// The places that were measured, as far as their names fit.
  void draw_places() {
    std::vector<double> places;
    for (const Series& one : chart_.series) {
      for (const Point& point : one.points) places.push_back(point.x);
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    double free = 0;
    for (const double place : places) {
      const std::string name = chart_.sizes ? format_size(static_cast<std::uint64_t>(place))
                                            : fmt::format("{:g}", place);
      const double half = canvas_.text_width(name, 12) / 2;
      const double middle = std::clamp(x(place), kLeft + half - 20, kWidth - half);
      canvas_.line(
          x(place), kHeight - kBottom, x(place), kHeight - kBottom + 4, kFaint.faded(0.6), 0.8);
      if (middle - half < free) continue;
      canvas_.text(middle, kHeight - kBottom + 18, name, kFaint, {12, 0.5});
      free = middle + half + 8;
    }
    canvas_.text((kLeft + kWidth - kRight) / 2, kHeight - 6, chart_.x_title, kFaint, {12, 0.5});
  }

  void draw_series(const Series& series, const Paint& paint) {
    std::vector<Point> line;
    std::vector<Box> marks;
    for (const Point& point : series.points) {
      line.push_back({x(point.x), y(point.y)});
      marks.push_back({x(point.x) - 3, y(point.y) - 3, 6, 6});
    }
    canvas_.polyline(line, paint, 2, false);
    canvas_.boxes(marks, paint);
  }

  const Chart& chart_;
  SvgCanvas canvas_;
  double low_ = 1e9;
  double high_ = -1e9;
  double top_ = 0;
};

}  // namespace

std::string html_chart(const Table& table) {
  Chart chart;
  if (table.id.starts_with("sweep_")) {
    chart = sizes_of(table);
  } else if (table.id == "world_sizes") {
    chart = ranks_of(table);
  }
  keep_lines(chart);
  if (chart.series.empty()) return "";
  return "<div class=\"scroll\">" + Drawing(chart).draw() + "</div>\n";
}

}  // namespace shunt::report
