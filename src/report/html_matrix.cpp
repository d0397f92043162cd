// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "report/escape.hpp"
#include "report/html_parts.hpp"
#include "report/matrix.hpp"

namespace shunt::report {
namespace {

/// More columns than these are set tighter.
constexpr std::size_t kDense = 16;

/// The style of a nearness; what it is called in the legend.
struct Look {
  Nearness nearness;
  const char* style;
  const char* name;
};
constexpr Look kLooks[] = {{Nearness::kSelf, "m-self", ""},
                           {Nearness::kGpuLink, "m-link", "GPU link"},
                           {Nearness::kNear, "m-near", "within PCIe bridges"},
                           {Nearness::kHost, "m-host", "through the CPU"},
                           {Nearness::kFar, "m-far", "between sockets, or no link"},
                           {Nearness::kUnknown, "m-none", "not in the input"}};

std::string cell_of(const MatrixCell& cell) {
  std::string style = std::ranges::find(kLooks, cell.nearness, &Look::nearness)->style;
  if (cell.own) style += " own";
  if (cell.trap) style += " trap";
  if (cell.problem) style += " bad";
  return fmt::format(
      "<td class=\"{}\">{}{}</td>", style, escape_markup(cell.text), mark_text(cell));
}

std::string row_of(const MatrixRow& row, std::size_t gpus) {
  std::string out = fmt::format("<tr><th>{}</th>", escape_markup(row.label));
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    if (c == gpus) out += "<td class=\"gap\"></td>";
    out += cell_of(row.cells[c]);
  }
  return out + fmt::format("<td class=\"numa\">{}</td></tr>\n", escape_markup(row.numa));
}

bool occurs(const Matrix& matrix, Nearness nearness) {
  return std::ranges::any_of(matrix.rows, [nearness](const MatrixRow& row) {
    return std::ranges::count(row.cells, nearness, &MatrixCell::nearness) > 0;
  });
}

std::string legend_of(const Matrix& matrix) {
  std::string out = "<div class=\"key\">";
  for (const Look& look : kLooks) {
    if (*look.name == '\0' || !occurs(matrix, look.nearness)) continue;
    out += fmt::format("<span><i class=\"{}\"></i>{}</span>", look.style, look.name);
  }
  for (const auto& [mark, meaning] : mark_legend(matrix)) {
    const char* style = mark == "*" ? "own" : mark == "!" ? "bad" : "trap";
    out += fmt::format("<span><i class=\"{}\"></i>{} {}</span>", style, mark, meaning);
  }
  return out + "</div>\n";
}

std::string list_of(const std::vector<std::string>& lines, const char* style) {
  if (lines.empty()) return "";
  std::string out = fmt::format("<ul class=\"{}\">\n", style);
  for (const std::string& line : lines) out += fmt::format("<li>{}</li>\n", escape_markup(line));
  return out + "</ul>\n";
}

}  // namespace

std::string html_matrices(const Report& report) {
  std::string out;
  for (const Matrix& matrix : report.matrices) {
    out += fmt::format(
        "<section>\n<h2>{}</h2>\n<div class=\"scroll\"><table "
        "class=\"matrix{}\">\n<thead><tr><th></th>",
        escape_markup(matrix.title),
        matrix.columns.size() > kDense ? " dense" : "");
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      if (c == matrix.gpus) out += "<th></th>";
      out += fmt::format("<th>{}</th>", escape_markup(matrix.columns[c]));
    }
    out += "<th>NUMA</th></tr></thead>\n<tbody>\n";
    for (const MatrixRow& row : matrix.rows) out += row_of(row, matrix.gpus);
    out += "</tbody></table></div>\n" + legend_of(matrix) + list_of(matrix.problems, "problems") +
           list_of(matrix.devices, "devices") + list_of(matrix.gaps, "devices") + "</section>\n";
  }
  return out;
}

}  // namespace shunt::report
