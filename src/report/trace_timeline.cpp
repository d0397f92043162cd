// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/trace_timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "logs/read_trace.hpp"
#include "report/axis.hpp"
#include "report/canvas.hpp"
#include "report/cell.hpp"

namespace shunt::report {
namespace {

using trace::ForeignTrace;
using trace::KernelSpan;

constexpr double kWidth = 1200;
constexpr double kLeft = 250;
constexpr double kRight = 24;
constexpr double kLane = 18;
constexpr double kGap = 5;
constexpr double kGroupGap = 14;
constexpr double kAxis = 40;
constexpr double kLegend = 26;
constexpr std::size_t kMostTraces = 8;
constexpr std::size_t kMostLanes = 40;
/// Kernels of the first trace in a stretch: enough to see a pattern, few enough to see each.
constexpr std::size_t kStretch = 12;

constexpr std::array<Paint, 8> kPaints{{{"blue", 0x0072B2},
                                        {"vermilion", 0xD55E00},
                                        {"green", 0x009E73},
                                        {"purple", 0xCC79A7},
                                        {"orange", 0xE69F00},
                                        {"sky", 0x56B4E9},
                                        {"yellow", 0xF0E442},
                                        {"grey", 0x555555}}};

struct Piece {
  std::string name;
  double begin = 0;  ///< ns since the picture's origin.
  double end = 0;
};

struct Lane {
  std::string label;
  std::vector<Piece> pieces;
  bool first = false;  ///< Of its trace.
};

struct Picture {
  std::vector<Lane> lanes;
  double length = 0;
  std::string title;
  bool legend = false;  ///< Lanes are not named by what lies on them.
};

std::string name_of(const logs::Evidence& evidence, const logs::TraceFact& fact) {
  if (const auto rank = fact.trace.summary.header.rank) return fmt::format("rank {}", *rank);
  const std::string& path = evidence.files[static_cast<std::size_t>(fact.source.file)].name;
  std::string name = path.substr(path.find_last_of('/') + 1);
  return display_width(name) > 22 ? name.substr(0, 21) + "…" : name;
}

/// The round of median length.
const trace::Round& typical(const ForeignTrace& trace) {
  std::vector<const trace::Round*> rounds;
  for (const trace::Round& round : trace.rounds) rounds.push_back(&round);
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end(), [](const auto* a, const auto* b) {
    return a->whole.end_ns - a->whole.begin_ns < b->whole.end_ns - b->whole.begin_ns;
  });
  return **middle;
}

/// Each trace's typical round from its own begin: their clocks may differ.
Picture rounds_of(const logs::Evidence& evidence) {
  Picture picture;
  std::size_t drawn = 0;
  for (const logs::TraceFact& fact : evidence.traces) {
    if (fact.trace.rounds.empty() || logs::is_cut_copy(evidence, fact)) continue;
    if (++drawn > kMostTraces) break;
    const trace::Round& round = typical(fact.trace);
    std::vector<std::pair<std::string, trace::Interval>> phases(round.phases.begin(),
                                                                round.phases.end());
    std::ranges::stable_sort(phases, {}, [](const auto& phase) { return phase.second.begin_ns; });
    picture.lanes.push_back({name_of(evidence, fact), {}, true});
    for (const auto& [name, interval] : phases) {
      Piece piece{name,
                  static_cast<double>(interval.begin_ns - round.whole.begin_ns),
                  static_cast<double>(interval.end_ns - round.whole.begin_ns)};
      picture.length = std::max(picture.length, piece.end);
      picture.lanes.push_back({name, {std::move(piece)}, false});
    }
  }
  if (!picture.lanes.empty()) {
    picture.title = drawn > 1 ? "the typical round of each trace, each from its own begin"
                              : "the typical round; from a phase's first begin to its last end";
  }
  return picture;
}

/// Spans of one stream of time side by side where they overlap, at most three deep.
std::vector<std::vector<Piece>> side_by_side(std::vector<Piece> pieces) {
  std::vector<std::vector<Piece>> rows;
  std::ranges::stable_sort(pieces, {}, &Piece::begin);
  for (Piece& piece : pieces) {
    auto row = std::ranges::find_if(
        rows, [&piece](const auto& one) { return one.back().end <= piece.begin; });
    if (row == rows.end()) {
      if (rows.size() == 3) continue;
      rows.emplace_back();
      row = rows.end() - 1;
    }
    row->push_back(std::move(piece));
  }
  return rows;
}

/// A stretch of kernels in the middle of the first trace, and what the others did meanwhile.
Picture kernels_of(const logs::Evidence& evidence) {
  Picture picture;
  const auto lead = std::ranges::find_if(evidence.traces, [&](const logs::TraceFact& fact) {
    return !fact.trace.kernels.empty() && !logs::is_cut_copy(evidence, fact);
  });
  if (lead == evidence.traces.end()) return picture;
  const std::vector<KernelSpan>& kernels = lead->trace.kernels;
  const std::size_t count = std::min(kStretch, kernels.size());
  const auto begin = kernels.begin() + static_cast<std::ptrdiff_t>((kernels.size() - count) / 2);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  std::int64_t from = begin->begin_ns;
  std::int64_t to = begin->end_ns;
  for (auto kernel = begin; kernel != end; ++kernel) {
    from = std::min(from, kernel->begin_ns);
    to = std::max(to, kernel->end_ns);
  }
  std::size_t drawn = 0;
  for (const logs::TraceFact& fact : evidence.traces) {
    const bool same_clock = fact.trace.summary.header.base_ns == lead->trace.summary.header.base_ns;
    if (!same_clock || drawn >= kMostTraces || logs::is_cut_copy(evidence, fact)) continue;
    std::vector<Piece> pieces;
    for (const KernelSpan& kernel : fact.trace.kernels) {
      if (kernel.end_ns < from || kernel.begin_ns > to) continue;
      pieces.push_back({kernel.phase,
                        static_cast<double>(std::max(kernel.begin_ns, from) - from),
                        static_cast<double>(std::min(kernel.end_ns, to) - from)});
    }
    if (pieces.empty()) continue;
    ++drawn;
    bool first = true;
    for (auto& row : side_by_side(std::move(pieces))) {
      picture.lanes.push_back(
          {first ? name_of(evidence, fact) : "", std::move(row), std::exchange(first, false)});
    }
  }
  picture.length = static_cast<double>(to - from);
  picture.legend = true;
  picture.title = fmt::format("{} of {} communication kernels{}",
                              count,
                              kernels.size(),
                              drawn > 1 ? ", all ranks on one clock" : "");
  return picture;
}

class Drawing {
 public:
  explicit Drawing(const Picture& picture)
      : picture_(picture), canvas_(kWidth, height(picture), true) {}

  std::string draw() {
    const double bottom = height(picture_) - kAxis;
    if (picture_.legend) draw_legend();
    draw_axis(bottom);
    double top = legend_height(picture_);
    for (const Lane& lane : picture_.lanes) {
      if (lane.first && &lane != &picture_.lanes.front()) top += kGroupGap;
      draw_lane(lane, top);
      top += kLane + kGap;
    }
    return canvas_.finish();
  }

 private:
  static double legend_height(const Picture& picture) { return picture.legend ? kLegend : 8; }
  static double height(const Picture& picture) {
    double height = legend_height(picture) + kAxis;
    for (const Lane& lane : picture.lanes) {
      height += kLane + kGap + (lane.first && &lane != &picture.lanes.front() ? kGroupGap : 0);
    }
    return height;
  }

  [[nodiscard]] double x(double ns) const {
    return kLeft + ns / picture_.length * (kWidth - kLeft - kRight);
  }

  const Paint& paint(const std::string& name) {
    const auto known = std::ranges::find(names_, name);
    const auto at = static_cast<std::size_t>(known - names_.begin());
    if (known == names_.end()) names_.push_back(name);
    return kPaints[std::min(at, kPaints.size() - 1)];
  }

  void draw_legend() {
    double left = kLeft;
    for (const Lane& lane : picture_.lanes) {
      for (const Piece& piece : lane.pieces) {
        if (std::ranges::count(names_, piece.name) != 0) continue;
        const double width = canvas_.text_width(piece.name, 12) + 34;
        const Paint& colour = paint(piece.name);
        if (left + width > kWidth) continue;  // Its lane or its label names it.
        canvas_.box(left, 2, 12, 12, colour);
        canvas_.text(left + 17, 12, piece.name, kInk, {12});
        left += width;
      }
    }
  }

  void draw_axis(double bottom) {
    const double step = tick_step(picture_.length);
    const Scale scale = scale_for(Unit::kNs, picture_.length);
    for (double at = 0; at <= picture_.length; at += step) {
      canvas_.line(x(at), legend_height(picture_) - 4, x(at), bottom, kFaint.faded(0.22), 0.6);
      canvas_.text(x(at), bottom + 16, fmt::format("{:g}", at / scale.divisor), kFaint, {12, 0.5});
    }
    canvas_.line(kLeft, bottom, kWidth - kRight, bottom, kFaint, 0.8);
    canvas_.text(kLeft - 10, bottom + 16, fmt::format("time ({})", scale.name), kFaint, {12, 1});
  }

  void draw_lane(const Lane& lane, double top) {
    canvas_.text(kLeft - 10, top + kLane - 5, lane.label, kInk, {12, 1, lane.first});
    for (const Piece& piece : lane.pieces) {
      const double left = x(piece.begin);
      const double width = std::max(1.0, x(piece.end) - left);
      canvas_.box(left, top, width, kLane, paint(piece.name));
    }
  }

  const Picture& picture_;
  SvgCanvas canvas_;
  std::vector<std::string> names_;  ///< In order of their colours.
};

}  // namespace

TraceTimeline draw_traces(const logs::Evidence& evidence) {
  Picture picture = rounds_of(evidence);
  if (picture.lanes.empty()) picture = kernels_of(evidence);
  if (picture.lanes.empty() || picture.length <= 0) return {};
  if (picture.lanes.size() > kMostLanes) picture.lanes.resize(kMostLanes);
  return {Drawing(picture).draw(), picture.title};
}

}  // namespace shunt::report
