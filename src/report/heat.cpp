// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/heat.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "verdict/foreign/rate_pairs.hpp"

namespace shunt::report {
namespace {

using logs::RateMatrix;

/// More marked pairs than these are counted, not listed.
constexpr std::size_t kMostListed = 8;

std::string label_of(const RateMatrix& matrix, int device) {
  if (std::ranges::find(matrix.hosts, device) != matrix.hosts.end()) {
    return fmt::format("CPU{}", device);
  }
  return fmt::format("{}{}", matrix.ranks ? "r" : "GPU", device);
}

std::string cell_text(const HeatCell& cell) {
  if (!cell.gbs) return cell.self ? "·" : "?";
  return heat_figure(*cell.gbs) + (cell.behind ? "!" : "");
}

/// The text without its mark.
std::string_view body_of(const std::string& text) {
  return std::string_view(text).substr(0, text.size() - (text.ends_with('!') ? 1 : 0));
}

std::size_t widest(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  std::size_t most = 0;
  for (const auto& row : rows) most = std::max(most, display_width(body_of(row[column])));
  return most;
}

std::string figures(const Heat& heat) {
  std::vector<std::vector<std::string>> rows{{""}};
  rows.front().insert(rows.front().end(), heat.columns.begin(), heat.columns.end());
  for (std::size_t r = 0; r < heat.rows.size(); ++r) {
    rows.push_back({heat.rows[r]});
    for (std::size_t c = 0; c < heat.columns.size(); ++c) {
      rows.back().push_back(cell_text(heat.at(r, c)));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      // The figures end in one column: a mark stands outside of it.
      line += pad(std::string(body_of(row[c])), widest(rows, c), c > 0);
      line += row[c].ends_with('!') ? "! " : "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

char tenth(double value, double best) {
  const int step = best > 0 ? static_cast<int>(value / best * 10) : 0;
  return static_cast<char>('0' + std::clamp(step, 0, 9));
}

bool has_gaps(const Heat& heat) {
  return std::ranges::any_of(heat.cells,
                             [](const HeatCell& cell) { return !cell.self && !cell.gbs; });
}

/// One digit a pair; heads as digits below each other.
std::string digits(const Heat& heat) {
  std::size_t label = 0;
  for (const std::string& row : heat.rows) label = std::max(label, display_width(row));
  std::string text;
  const std::size_t count = heat.columns.size();
  std::string tens(label + 4, ' ');
  std::string ones(label + 4, ' ');
  for (std::size_t c = 0; c < count; ++c) {
    tens += c % 10 == 0 ? static_cast<char>('0' + c / 10 % 10) : ' ';
    ones += static_cast<char>('0' + c % 10);
  }
  tens.erase(tens.find_last_not_of(' ') + 1);
  if (count > 10) text += tens + "\n";
  text += ones + "\n";
  for (std::size_t r = 0; r < heat.rows.size(); ++r) {
    std::string line = "  " + pad(heat.rows[r], label, false) + "  ";
    for (std::size_t c = 0; c < count; ++c) {
      const HeatCell& cell = heat.at(r, c);
      const double best = cell.crossing ? heat.most_crossing : heat.most;
      line += cell.self ? '.' : !cell.gbs ? '?' : cell.behind ? '!' : tenth(*cell.gbs, best);
    }
    text += line + "\n";
  }
  return text;
}

std::string digits_legend(const Heat& heat) {
  return fmt::format("tenths of {}{} GB/s (9: from 0.9 up){}; . itself{}",
                     heat.block > 0 ? fmt::format("the best inside blocks of {}, ", heat.block)
                                    : std::string("the highest, "),
                     heat_figure(heat.most),
                     heat.block > 0 ? fmt::format(" and of the best between them, {}",
                                                  heat_figure(heat.most_crossing))
                                    : "",
                     has_gaps(heat) ? ", ? not in the input" : "");
}

}  // namespace

Heat make_heat(const RateMatrix& matrix, std::string id, std::string title) {
  Heat heat{.id = std::move(id), .title = std::move(title)};
  for (const int device : matrix.columns) heat.columns.push_back(label_of(matrix, device));
  const auto behind = verdict::foreign::cells_behind(matrix);
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    heat.rows.push_back(matrix.host_rows ? "host" : label_of(matrix, matrix.rows[r]));
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      const std::size_t at = r * matrix.columns.size() + c;
      const bool self = !matrix.host_rows && matrix.rows[r] == matrix.columns[c];
      heat.cells.push_back({matrix.cells[at], self, behind[at], false});
      if (!self && matrix.cells[at]) heat.most = std::max(heat.most, *matrix.cells[at]);
    }
  }
  heat.block = verdict::foreign::block_of(matrix);
  if (heat.block > 0) {
    for (const auto& pair : verdict::foreign::device_pairs(matrix)) {
      if (!pair.crossing) continue;
      HeatCell& cell = heat.cells[pair.cell];
      cell.crossing = true;
      heat.most_crossing = std::max(heat.most_crossing, *cell.gbs);
    }
  }
  if (matrix.bidirectional) heat.note = "both directions at once, summed";
  if (matrix.peer_off) heat.note = "peer access off: by way of the host";
  return heat;
}

std::string heat_figure(double gbs) {
  if (gbs >= 99.95) return fmt::format("{:.0f}", gbs);
  return gbs >= 9.995 ? fmt::format("{:.1f}", gbs) : fmt::format("{:.2f}", gbs);
}

int heat_step(const Heat& heat, const HeatCell& cell) {
  if (!cell.gbs || heat.most <= 0) return 0;
  return std::clamp(static_cast<int>(*cell.gbs / heat.most * 10), 0, 9);
}

std::string behind_list(const Heat& heat) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t r = 0; r < heat.rows.size(); ++r) {
    for (std::size_t c = 0; c < heat.columns.size(); ++c) {
      const HeatCell& cell = heat.at(r, c);
      if (!cell.behind || ++count > kMostListed) continue;
      text += fmt::format("{}{} → {} {}",
                          text.empty() ? "" : ", ",
                          heat.rows[r],
                          heat.columns[c],
                          heat_figure(*cell.gbs));
    }
  }
  if (count > kMostListed) text += fmt::format(", and {} more", count - kMostListed);
  return text;
}

std::string heat_text(const Heat& heat, std::size_t width) {
  std::string text = figures(heat);
  const bool fits =
      display_width(text.substr(0, text.find('\n'))) <= width && heat.columns.size() <= 16;
  if (!fits) text = digits(heat);
  const auto add = [&](const char* lead, const std::string& words) {
    if (words.empty()) return;
    std::string prefix = fmt::format("  {}", lead);
    for (const std::string& part : wrap(words, width - display_width(prefix))) {
      text += prefix + part + "\n";
      prefix.assign(display_width(prefix), ' ');
    }
  };
  if (!fits) add("", digits_legend(heat));
  add("! ", behind_list(heat).empty() ? "" : "stays behind its like: " + behind_list(heat));
  add("note: ", heat.note);
  return text;
}

}  // namespace shunt::report
