// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/units.hpp"
#include "report/cell.hpp"
#include "report/escape.hpp"
#include "report/html_parts.hpp"

namespace shunt::report {
namespace {

/// A column that is shown: not one for JSON only, not one of remarks without a remark.
bool is_shown(const Table& table, std::size_t c) {
  if (table.columns[c].title.empty()) return false;
  return std::ranges::any_of(table.rows, [c](const auto& row) {
    const auto* text = std::get_if<std::string>(&row[c]);
    return text == nullptr || !text->empty();
  });
}

std::string table_of(const Table& table) {
  std::string head;
  std::vector<std::size_t> shown;
  std::vector<Scale> scales;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    scales.push_back(column_scale(table, c));
    if (!is_shown(table, c)) continue;
    shown.push_back(c);
    head +=
        fmt::format("<th{}>{}{}</th>",
                    table.columns[c].unit == Unit::kText ? "" : " class=\"n\"",
                    escape_markup(table.columns[c].title),
                    scales[c].name.empty() ? "" : fmt::format("<small>{}</small>", scales[c].name));
  }
  std::string out =
      "<div class=\"scroll\"><table>\n<thead><tr>" + head + "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const std::size_t c : shown) {
      const Unit unit = table.columns[c].unit;
      out += fmt::format("<td class=\"{}\">{}</td>",
                         unit == Unit::kText ? 't' : 'n',
                         escape_markup(cell_text(row[c], unit, scales[c])));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string fact_rows(const std::vector<Fact>& facts) {
  std::string out = "<div class=\"scroll\"><table><tbody>\n";
  for (const Fact& fact : facts) {
    const bool number = fact.unit != Unit::kText;
    out += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td class=\"from\">{}</td></tr>\n",
                       escape_markup(fact.label),
                       number ? 'n' : 't',
                       escape_markup(fact_text(fact.value, fact.unit)),
                       escape_markup(fact.note));
  }
  return out + "</tbody></table></div>\n";
}

/// A place on the axis of the bars.
struct Tick {
  double gb_per_s;
  std::string label;
  bool rating;
};

constexpr double kUsualNic = 50;  ///< GB/s: 400 Gb/s, what verdicts compare with.
constexpr double kLeastNic = 1;   ///< GB/s: what carries less is no such NIC.

/// The ratings that were stated; where one is missing, the usual ones up to the next above.
std::vector<Tick> ticks_of(const std::vector<Bar>& bars) {
  std::vector<Tick> ticks;
  double most = 0;
  bool unrated = false;
  for (const Bar& bar : bars) {
    most = std::max(most, bar.rate.value_or(0));
    unrated = unrated || (bar.rate && !bar.rating);
    if (!bar.rating || std::ranges::find(ticks, *bar.rating, &Tick::gb_per_s) != ticks.end())
      continue;
    ticks.push_back({*bar.rating, "rated " + format_rating(*bar.rating * 1e9), true});
  }
  if (!ticks.empty() || !unrated || most < kLeastNic) return ticks;
  for (const int gbit : {100, 200, 400, 800, 1600}) {
    const double at = gbit / 8.0;
    if (at * 4.5 < std::max(most, kUsualNic)) continue;
    ticks.push_back({at, fmt::format("{}G", gbit), false});
    if (at >= kUsualNic && at > most) break;
  }
  return ticks;
}

std::string bar_svg(const Bar& bar, const std::vector<Tick>& ticks, double full) {
  const auto x = [full](double value) { return fmt::format("{:.1f}", value / full * 1000); };
  const char* colour = bar.word == "full" ? "green" : bar.word == "underused" ? "orange" : "blue";
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\"><title>{}</title>"
      "<rect x=\"0\" y=\"3\" width=\"1000\" height=\"14\" style=\"fill:var(--soft)\"/>"
      "<rect x=\"0\" y=\"3\" width=\"{}\" height=\"14\" style=\"fill:var(--{})\"/>",
      escape_markup(bar.label + ": " + bar.text),
      x(*bar.rate),
      colour);
  for (const Tick& tick : ticks) {
    out += fmt::format(
        "<path d=\"M{0} 0V20\" style=\"stroke:var(--{1})\" stroke-width=\"2\"{2} "
        "vector-effect=\"non-scaling-stroke\"/>",
        x(tick.gb_per_s),
        tick.rating ? "vermilion" : "muted",
        tick.rating ? "" : " stroke-dasharray=\"3 3\"");
  }
  return out + "</svg>";
}

std::string axis_of(const std::vector<Tick>& ticks, double full) {
  std::string out = "<div class=\"axis\">";
  for (const Tick& tick : ticks) {
    const double at = tick.gb_per_s / full * 100;
    out += fmt::format("<span{} style=\"left:{:.2f}%\">{}{}</span>",
                       at > 82 ? " class=\"end\"" : "",
                       at,
                       escape_markup(tick.label),
                       tick.rating ? "" : fmt::format("<br/>{:g} GB/s", tick.gb_per_s));
  }
  return out + "</div>";
}

}  // namespace

std::string html_bars(const Report& report) {
  if (report.bars.empty()) return "";
  const std::vector<Tick> ticks = ticks_of(report.bars);
  double full = 0;
  for (const Tick& tick : ticks) full = std::max(full, tick.gb_per_s);
  for (const Bar& bar : report.bars) full = std::max(full, bar.rate.value_or(0));
  full *= 1.04;
  std::string out =
      "<section>\n<h2>What the link carried, against its rating</h2>\n<div class=\"bars\">\n";
  bool drawn = false;
  for (const Bar& bar : report.bars) {
    out += fmt::format("<div class=\"label\">{}</div>", escape_markup(bar.label));
    if (!bar.rate || full <= 0) {
      out += fmt::format("<div class=\"plain\">{}</div>\n", escape_markup(bar.text));
      continue;
    }
    drawn = true;
    const std::string share = bar.share ? fmt::format("{:.1f} % · ", *bar.share * 100) : "";
    const std::string figures =
        bar.share ? share + bar.text : fmt::format("{} GB/s", format_significant(*bar.rate));
    out += fmt::format("<div class=\"fig\">{}{}</div>",
                       escape_markup(figures),
                       bar.word.empty() ? "" : fmt::format(" <b>{}</b>", escape_markup(bar.word)));
    out += bar_svg(bar, ticks, full) + "\n";
  }
  if (drawn && !ticks.empty()) out += axis_of(ticks, full);
  out += "</div>\n";
  if (drawn && !ticks.empty() && !ticks.front().rating) {
    out +=
        "<p class=\"note\">No rating is stated, so there is no utilisation; the marks are the "
        "usual "
        "ratings, to compare with.</p>\n";
  }
  return out + "</section>\n";
}

std::string html_tables(const Report& report) {
  std::string out;
  for (const Table& table : report.tables) {
    if (table.rows.empty()) continue;
    out += fmt::format("<section>\n<h2>{}</h2>\n", escape_markup(table.title)) + html_chart(table) +
           table_of(table);
    for (const std::string& note : table.notes) {
      out += fmt::format("<p class=\"note\">{}</p>\n", escape_markup(note));
    }
    out += "</section>\n";
  }
  return out;
}

std::string html_ledger(const Report& report) {
  if (report.ledger.empty()) return "";
  return "<section>\n<h2>Ledger: what one iteration must move, all ranks</h2>\n" +
         fact_rows(report.ledger) + "</section>\n";
}

std::string html_config(const Report& report) {
  if (report.config.empty()) return "";
  return "<section>\n<h2>Configuration</h2>\n" + fact_rows(report.config) + "</section>\n";
}

std::string html_coverage(const Report& report) {
  std::string out;
  if (!report.notes.empty()) {
    out += "<ul>\n";
    for (const std::string& note : report.notes) {
      const bool quoted = note.starts_with("  ");
      const std::string text = escape_markup(quoted ? note.substr(2) : note);
      out += quoted ? fmt::format("<li class=\"line\"><code>{}</code></li>\n", text)
                    : fmt::format("<li>{}</li>\n", text);
    }
    out += "</ul>\n";
  }
  if (!report.unchecked.empty()) {
    out += "<details><summary>not checked, and what is missing</summary>\n<ul>\n";
    for (const auto& one : report.unchecked) {
      out += fmt::format(
          "<li><code>{}</code>: {}</li>\n", escape_markup(one.id), escape_markup(one.missing));
    }
    out += "</ul></details>\n";
  }
  if (!report.checked.empty()) {
    out += "<details><summary>checked</summary>\n<p class=\"note\">";
    for (std::size_t i = 0; i < report.checked.size(); ++i) {
      out += (i == 0 ? "" : ", ") + escape_markup(report.checked[i]);
    }
    out += "</p></details>\n";
  }
  if (out.empty()) return "";
  return "<section>\n<h2>What was read</h2>\n" + out + "</section>\n";
}

}  // namespace shunt::report
