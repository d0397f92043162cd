// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/escape.hpp"
#include "report/heat.hpp"
#include "report/html_parts.hpp"

namespace shunt::report {
namespace {

/// More columns than these have no room for figures: they are in the cells' titles.
constexpr std::size_t kFigures = 16;

std::string cell_of(const Heat& heat, std::size_t row, std::size_t column, bool figures) {
  const HeatCell& cell = heat.at(row, column);
  const std::string name = fmt::format(
      "{} → {}: {}",
      heat.rows[row],
      heat.columns[column],
      cell.gbs
          ? fmt::format("{} GB/s{}", heat_figure(*cell.gbs), cell.behind ? ", stays behind" : "")
          : std::string("not in the input"));
  if (cell.self || !cell.gbs) {
    // What a device copies inside itself is another quantity: shown, not coloured.
    const std::string text = cell.gbs && figures ? heat_figure(*cell.gbs) : cell.self ? "" : "?";
    return fmt::format("<td class=\"none\" title=\"{}\">{}</td>", escape_markup(name), text);
  }
  return fmt::format("<td class=\"h{}{}\" title=\"{}\">{}{}</td>",
                     heat_step(heat, cell),
                     cell.behind ? " bad" : "",
                     escape_markup(name),
                     figures ? heat_figure(*cell.gbs) : "",
                     cell.behind ? "!" : "");
}

std::string legend_of(const Heat& heat) {
  std::string out = "<div class=\"key heat\"><span>0</span><span class=\"scale\">";
  for (int step = 0; step < 10; ++step) out += fmt::format("<i class=\"h{}\"></i>", step);
  out += fmt::format("</span><span>{} GB/s</span>", heat_figure(heat.most));
  if (!behind_list(heat).empty()) {
    out += "<span><i class=\"bad\"></i>! stays behind its like</span>";
  }
  return out + "</div>\n";
}

}  // namespace

std::string html_heats(const Report& report) {
  std::string out;
  for (const Heat& heat : report.heats) {
    const bool figures = heat.columns.size() <= kFigures;
    out += fmt::format(
        "<section>\n<h2>{}</h2>\n<div class=\"scroll\"><table class=\"matrix heat{}\">\n"
        "<thead><tr><th></th>",
        escape_markup(heat.title),
        figures ? "" : " small");
    for (std::size_t c = 0; c < heat.columns.size(); ++c) {
      out +=
          fmt::format("<th>{}</th>", figures ? escape_markup(heat.columns[c]) : std::to_string(c));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t r = 0; r < heat.rows.size(); ++r) {
      out += fmt::format("<tr><th>{}</th>", escape_markup(heat.rows[r]));
      for (std::size_t c = 0; c < heat.columns.size(); ++c) out += cell_of(heat, r, c, figures);
      out += "</tr>\n";
    }
    out += "</tbody></table></div>\n" + legend_of(heat);
    const std::string behind = behind_list(heat);
    if (!behind.empty()) {
      out += fmt::format("<ul class=\"problems\">\n<li>{}</li>\n</ul>\n", escape_markup(behind));
    }
    if (!heat.note.empty())
      out += fmt::format("<p class=\"note\">{}</p>\n", escape_markup(heat.note));
    out += "</section>\n";
  }
  return out;
}

}  // namespace shunt::report
