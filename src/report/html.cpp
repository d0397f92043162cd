// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/escape.hpp"
#include "report/html_parts.hpp"
#include "report/html_style.hpp"

namespace shunt::report {
namespace {

using verdict::Finding;
using verdict::Severity;

constexpr std::array kWorstFirst{
    Severity::kCritical, Severity::kWarning, Severity::kNotice, Severity::kInfo};

/// Longest headline that is set large; of a longer one, what stands before the first stop.
constexpr std::size_t kShout = 90;

struct Headline {
  std::string shout;
  std::string rest;
};

Headline split_headline(const std::string& text) {
  if (display_width(text) <= kShout) return {text, ""};
  for (const char* mark : {": ", "; ", ", "}) {
    const std::size_t at = text.find(mark);
    // What stands before an early comma is no statement yet.
    if (at != std::string::npos && at >= 16 && at <= kShout) {
      return {text.substr(0, *mark == ':' ? at + 1 : at), text.substr(at + 2)};
    }
  }
  return {text, ""};
}

std::string badge(const char* style, const std::string& text) {
  return fmt::format("<span class=\"chip s-{}\">{}</span>", style, escape_markup(text));
}

/// The class of the page's edge: the worst finding's, or that nothing was found.
const char* mood_of(const Report& report) {
  if (report.findings.empty()) return report.checked.empty() ? "info" : "good";
  const Severity worst = report.findings.front().severity;
  return worst == Severity::kInfo ? "good" : verdict::to_string(worst);
}

/// "2 warnings", but "2 critical" and "2 info".
const char* plural(Severity severity, std::ptrdiff_t count) {
  const bool noun = severity == Severity::kWarning || severity == Severity::kNotice;
  return noun && count > 1 ? "s" : "";
}

std::string chips(const Report& report) {
  std::string out;
  for (const Severity severity : kWorstFirst) {
    const auto count = std::ranges::count(report.findings, severity, &Finding::severity);
    if (count > 0) {
      out += badge(
          verdict::to_string(severity),
          fmt::format("{} {}{}", count, verdict::to_string(severity), plural(severity, count)));
    }
  }
  if (report.findings.empty()) {
    out += badge(mood_of(report), report.checked.empty() ? "nothing checked" : "no fault found");
  }
  if (report.dropped_records > 0) {
    out += badge("warning", fmt::format("{} records dropped", report.dropped_records));
  }
  return fmt::format("<p class=\"chips\">{}</p>\n", out);
}

std::string header(const Report& report) {
  const Headline headline =
      split_headline(report.headline.empty() ? report.title : report.headline);
  std::string out =
      fmt::format("<header class=\"verdict s-{}\">\n<p class=\"eyebrow\">{}</p>\n<h1{}>{}</h1>\n",
                  mood_of(report),
                  escape_markup(report.title),
                  display_width(headline.shout) > kShout ? " class=\"long\"" : "",
                  escape_markup(headline.shout));
  if (!headline.rest.empty()) {
    out += fmt::format("<p class=\"lead\">{}</p>\n", escape_markup(headline.rest));
  }
  return out + chips(report) + "</header>\n";
}

std::string fact(const char* name, const std::string& text) {
  if (text.empty()) return "";
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escape_markup(text));
}

std::string reasons(const Finding& finding) {
  std::string out;
  if (!finding.evidence.empty()) {
    out += "<div class=\"scroll\"><table class=\"evidence\"><tbody>\n";
    for (const verdict::Evidence& one : finding.evidence) {
      out += fmt::format("<tr><td>{}</td><td class=\"t\">{}</td><td class=\"src\">{}</td></tr>\n",
                         escape_markup(one.name),
                         escape_markup(one.value),
                         escape_markup(one.source));
    }
    out += "</tbody></table></div>\n";
  }
  return out + "<dl class=\"reason\">\n" + fact("arithmetic", finding.derivation) +
         fact("would confirm it", finding.confirm) +
         fact("more", fmt::format("docs/findings/{}.md", finding.id)) + "</dl>\n";
}

std::string article(const Finding& finding, bool open) {
  std::string out = fmt::format(
      "<article class=\"finding s-{0}\">\n<h3><span class=\"sev\">{0}</span> <code>{1}</code> "
      "<span class=\"where\">{2} · {3} confidence</span></h3>\n<p>{4}</p>\n",
      verdict::to_string(finding.severity),
      escape_markup(finding.id),
      escape_markup(finding.where),
      verdict::to_string(finding.confidence),
      escape_markup(finding.sentence));
  if (!finding.action.empty()) {
    out += fmt::format("<p class=\"do\">{}</p>\n", escape_markup(finding.action));
  }
  return out +
         fmt::format("<details{}><summary>evidence and arithmetic</summary>\n",
                     open ? " open=\"open\"" : "") +
         reasons(finding) + "</details>\n</article>\n";
}

std::string timeline(const PagePart& part) {
  if (part.timeline.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Timeline{}{}</h2>\n<div class=\"scroll\">{}</div>\n</section>\n",
      part.timeline_title.empty() ? "" : ": ",
      escape_markup(part.timeline_title),
      part.timeline);
}

std::string part_of(const PagePart& part) {
  const Report& report = *part.report;
  return header(report) + html_bars(report) + html_findings(report) + timeline(part) +
         html_matrices(report) + html_heats(report) + html_tables(report) + html_ledger(report) +
         html_config(report) + html_coverage(report);
}

}  // namespace

std::string html_findings(const Report& report) {
  if (report.findings.empty()) return "";
  std::string out = "<section>\n<h2>Findings</h2>\n";
  for (const Finding& finding : report.findings) {
    const bool first = &finding == &report.findings.front();
    out += article(finding, first || finding.severity >= Severity::kWarning);
  }
  return out + "</section>\n";
}

std::string render_html(std::span<const PagePart> parts, const std::string& program) {
  const Report& first = *parts.front().report;
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      escape_markup(first.headline.empty() ? first.title : first.headline),
      kPageStyle);
  for (const PagePart& part : parts) out += part_of(part);
  return out + fmt::format(
                   "<footer>{} · GB/s is 1e9 bytes a second · a page in docs/findings "
                   "explains each finding</footer>\n</main>\n</body>\n</html>\n",
                   escape_markup(program));
}

}  // namespace shunt::report
