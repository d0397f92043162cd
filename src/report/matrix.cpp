// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/matrix.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/units.hpp"
#include "cluster/assess.hpp"
#include "report/cell.hpp"

namespace shunt::report {
namespace {

using cluster::Device;
using cluster::DeviceKind;
using cluster::PathKind;
using cluster::Topology;

Nearness nearness_of(PathKind kind) {
  if (kind == PathKind::kSelf) return Nearness::kSelf;
  if (cluster::is_gpu_link(kind)) return Nearness::kGpuLink;
  if (cluster::is_near(kind)) return Nearness::kNear;
  if (kind == PathKind::kUnknown) return Nearness::kUnknown;
  const bool far = kind == PathKind::kSys || kind == PathKind::kNoLink;
  return far ? Nearness::kFar : Nearness::kHost;
}

/// A NIC's row repeats the NIC columns of the GPUs; it is worth showing for its paths to NICs.
bool is_worth_a_row(const Topology& topology, std::size_t row) {
  const DeviceKind kind = topology.devices[row].kind;
  for (std::size_t other = 0; other < topology.devices.size(); ++other) {
    const bool counts =
        kind == DeviceKind::kGpu || topology.devices[other].kind == DeviceKind::kNic;
    if (other != row && counts && topology.cell(row, other).kind != PathKind::kUnknown) return true;
  }
  return kind == DeviceKind::kGpu && topology.devices.size() == 1;
}

std::string describe(const Device& device) {
  std::string text;
  const auto append = [&text](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  append(device.name);
  append(device.bdf);
  append(device.netdev);
  append(device.link_type);
  if (device.rating_bytes_per_s > 0) append(format_rating(device.rating_bytes_per_s));
  append(device.state);
  return text;
}

/// One block of columns.
std::string block(const Matrix& matrix, std::size_t first, std::size_t last, bool affinity) {
  std::vector<std::vector<std::string>> rows{{""}};
  for (std::size_t c = first; c < last; ++c) rows.front().push_back(matrix.columns[c]);
  if (affinity) rows.front().insert(rows.front().end(), {"NUMA", "CPUs"});
  for (const MatrixRow& row : matrix.rows) {
    if (row.nic && first < matrix.gpus && last <= matrix.gpus) continue;
    rows.push_back({row.label});
    for (std::size_t c = first; c < last; ++c) {
      rows.back().push_back(row.cells[c].text + mark_text(row.cells[c]));
    }
    const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
    if (affinity) rows.back().insert(rows.back().end(), {or_dash(row.numa), or_dash(row.cpus)});
  }
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t c = 0; c < row.size(); ++c) line += pad(row[c], widths[c], false) + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    most = std::max(most, display_width(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return most;
}

bool has_affinity(const Matrix& matrix) {
  return std::ranges::any_of(
      matrix.rows, [](const auto& row) { return !row.cpus.empty() || !row.numa.empty(); });
}

}  // namespace

Matrix make_matrix(const Topology& topology, std::string id, std::string title) {
  const cluster::Assessment assessment = cluster::assess(topology);
  Matrix matrix{.id = std::move(id), .title = std::move(title)};
  matrix.gpus = topology.of_kind(DeviceKind::kGpu).size();
  matrix.problems = assessment.problems;
  matrix.gaps = topology.gaps;
  const std::size_t size = topology.devices.size();
  for (std::size_t row = 0; row < size; ++row) {
    const Device& device = topology.devices[row];
    matrix.columns.push_back(device.label);
    if (const std::string text = describe(device); !text.empty() && text != device.label) {
      matrix.devices.push_back(fmt::format("{}: {}", device.label, text));
    }
    if (!is_worth_a_row(topology, row)) continue;
    MatrixRow out{device.label, {}, device.cpus, device.numa, device.kind == DeviceKind::kNic};
    for (std::size_t column = 0; column < size; ++column) {
      const cluster::Path& path = topology.path(row, column);
      const cluster::CellMark& mark = assessment.cells[row * size + column];
      out.cells.push_back(
          {path.to_string(), nearness_of(path.kind), mark.own, mark.problem, mark.trap});
    }
    matrix.rows.push_back(std::move(out));
  }
  return matrix;
}

std::string mark_text(const MatrixCell& cell) {
  return std::string(cell.own ? "*" : "") + (cell.problem ? "!" : "") + (cell.trap ? "^" : "");
}

std::vector<std::pair<std::string, std::string>> mark_legend(const Matrix& matrix) {
  const auto has = [&matrix](bool MatrixCell::*flag) {
    return std::ranges::any_of(matrix.rows, [flag](const auto& row) {
      return std::ranges::count(row.cells, true, flag) > 0;
    });
  };
  std::vector<std::pair<std::string, std::string>> legend;
  if (has(&MatrixCell::own)) legend.emplace_back("*", "the NIC to give this GPU");
  if (has(&MatrixCell::problem)) legend.emplace_back("!", "a problem");
  if (has(&MatrixCell::trap)) legend.emplace_back("^", "what NIC i for GPU i would pick: far");
  return legend;
}

std::string matrix_text(const Matrix& matrix, std::size_t width) {
  const std::size_t columns = matrix.columns.size();
  bool affinity = has_affinity(matrix);
  std::string text;
  for (std::size_t first = 0; first < columns;) {
    // GPUs and NICs share a block only where all fit into one.
    std::size_t last = first < matrix.gpus ? matrix.gpus : columns;
    if (first == 0 && widest(block(matrix, 0, columns, affinity)) <= width) last = columns;
    while (last - first > 1 && widest(block(matrix, first, last, false)) > width) --last;
    std::string drawn = block(matrix, first, last, affinity);
    const bool fits = widest(drawn) <= width;
    if (!fits) drawn = block(matrix, first, last, false);
    affinity = affinity && !fits;
    text += (first == 0 ? "" : "\n") + drawn;
    first = last;
  }
  std::string legend;
  for (const auto& [mark, meaning] : mark_legend(matrix)) {
    legend += fmt::format("{}{} {}", legend.empty() ? "  " : "   ", mark, meaning);
  }
  if (!legend.empty()) text += legend + "\n";
  const auto list = [&](const char* lead, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      std::string prefix = fmt::format("  {}", lead);
      for (const std::string& part : wrap(line, width - display_width(prefix))) {
        text += prefix + part + "\n";
        prefix.assign(display_width(prefix), ' ');
      }
    }
  };
  list("! ", matrix.problems);
  list("", matrix.devices);
  list("note: ", matrix.gaps);
  return text;
}

}  // namespace shunt::report
