// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/heat.hpp"
#include "report/matrix.hpp"
#include "verdict/explain.hpp"

namespace shunt::report {
namespace {

using verdict::Finding;
using verdict::Severity;

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kReset = "\x1b[0m";

class Writer {
 public:
  explicit Writer(TextOptions options) : options_(std::move(options)) {}

  void line(std::string_view text) {
    out_ += text;
    out_ += '\n';
  }
  void blank() {
    if (!out_.empty()) out_ += '\n';
  }
  void heading(std::string_view text) {
    blank();
    line(painted(text, kBold));
  }
  /// `lead` before the first line, blanks as wide before the others.
  void paragraph(std::string_view lead, std::string_view text) {
    const std::size_t indent = display_width(lead);
    std::string prefix(lead);
    for (const std::string& part : wrap(text, options_.width - indent)) {
      line(prefix + part);
      prefix.assign(indent, ' ');
    }
  }
  [[nodiscard]] std::string painted(std::string_view text, std::string_view code) const {
    if (!options_.colour) return std::string(text);
    return fmt::format("{}{}{}", code, text, kReset);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  TextOptions options_;
  std::string out_;
};

struct Laid {
  std::vector<std::string> cells;  ///< Name, unit, then one a row.
  std::size_t width = 0;
  bool right = false;
};

Laid lay_column(const Table& table, std::size_t c, std::string_view title) {
  const Column& column = table.columns[c];
  const Scale scale = column_scale(table, c);
  Laid laid;
  laid.right = column.unit != Unit::kText;
  laid.cells.emplace_back(title);
  laid.cells.push_back(scale.name.empty() ? "" : fmt::format("({})", scale.name));
  for (const auto& row : table.rows) laid.cells.push_back(cell_text(row[c], column.unit, scale));
  for (const std::string& cell : laid.cells) laid.width = std::max(laid.width, display_width(cell));
  return laid;
}

void write_table(Writer& out, const Table& table, const TextOptions& options) {
  out.heading(table.title);
  std::vector<Laid> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (!column.title.empty()) {
      Laid laid = lay_column(table, c, column.title);
      // A column of remarks shows only where there is one.
      const bool blank = std::all_of(
          laid.cells.begin() + 2, laid.cells.end(), [](const auto& cell) { return cell.empty(); });
      if (!blank) columns.push_back(std::move(laid));
    } else if (options.all_columns) {
      columns.push_back(lay_column(table, c, column.key));
    }
  }
  const bool units =
      std::ranges::any_of(columns, [](const Laid& c) { return !c.cells[1].empty(); });
  for (std::size_t row = 0; row < table.rows.size() + 2; ++row) {
    if (row == 1 && !units) continue;
    std::string text = "  ";
    for (const Laid& column : columns) {
      text += pad(column.cells[row], column.width, column.right) + "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out.line(row < 2 ? out.painted(text, kDim) : text);
  }
  for (const std::string& note : table.notes) out.paragraph("  ", note);
}

void write_config(Writer& out, const Report& report, const TextOptions& options) {
  if (report.config.empty()) return;
  out.heading("configuration");
  std::string text;
  for (const Fact& fact : report.config) {
    if (!text.empty()) text += " · ";
    // Non-breaking inside a fact: wrap() breaks at plain blanks only.
    std::string part = fmt::format("{} {}", fact.label, fact_text(fact.value, fact.unit));
    if (!fact.note.empty()) part += fmt::format(" ({})", fact.note);
    std::ranges::replace(part, ' ', '\x1f');
    text += part;
  }
  std::string wrapped;
  Writer inner(options);
  inner.paragraph("  ", text);
  wrapped = inner.take();
  std::ranges::replace(wrapped, '\x1f', ' ');
  if (!wrapped.empty()) wrapped.pop_back();
  out.line(wrapped);
}

void write_ledger(Writer& out, const Report& report, std::size_t width) {
  if (report.ledger.empty()) return;
  out.heading("ledger (one iteration, all ranks)");
  std::size_t labels = 0;
  std::size_t values = 0;
  for (const Fact& fact : report.ledger) {
    labels = std::max(labels, display_width(fact.label));
    values = std::max(values, display_width(fact_text(fact.value, fact.unit)));
  }
  for (const Fact& fact : report.ledger) {
    const std::string text = fmt::format("  {}  {}",
                                         pad(fact.label, labels, false),
                                         pad(fact_text(fact.value, fact.unit), values, true));
    const bool noted = !fact.note.empty() && display_width(text) + 2 + 20 < width;
    if (noted) {
      out.paragraph(text + "  ", fact.note);
    } else {
      out.line(text);
    }
  }
}

void write_bars(Writer& out, const Report& report) {
  if (report.bars.empty()) return;
  out.heading("link utilisation");
  constexpr std::size_t kCells = 30;
  std::size_t labels = 0;
  for (const Bar& bar : report.bars) labels = std::max(labels, display_width(bar.label));
  for (const Bar& bar : report.bars) {
    const std::string label = pad(bar.label, labels, false);
    if (!bar.share) {
      out.paragraph(fmt::format("  {}  ", label), bar.text);
      continue;
    }
    const double share = std::clamp(*bar.share, 0.0, 1.0);
    const auto full = static_cast<std::size_t>(std::floor(share * kCells));
    std::string drawn;
    for (std::size_t i = 0; i < kCells; ++i) drawn += i < full ? "█" : "·";
    const std::string figures = fmt::format("{:5.1f} %  {}", *bar.share * 100, bar.text);
    out.line(fmt::format("  {}  |{}| {}{}{}",
                         label,
                         drawn,
                         figures,
                         bar.word.empty() ? "" : "  ",
                         out.painted(bar.word, kBold)));
  }
}

std::string severity_word(const Writer& out, Severity severity) {
  switch (severity) {
    case Severity::kCritical:
      return out.painted("critical", "\x1b[1;31m");
    case Severity::kWarning:
      return out.painted("warning", "\x1b[1;33m");
    case Severity::kNotice:
      return out.painted("notice", "\x1b[1;36m");
    case Severity::kInfo:
      break;
  }
  return out.painted("info", kBold);
}

/// The rule behind `id`, as it applies to own runs or to foreign evidence.
void explain_rule(Writer& out, const std::string& id, bool foreign, bool fired) {
  if (const auto* entry = foreign ? verdict::explanation_of(id) : nullptr) {
    out.paragraph("    rule: ", fmt::format("fires when {}", entry->fires_when));
    // A finding that fired shows its own inputs and arithmetic.
    if (!fired) {
      out.paragraph("    needs: ", std::string(entry->needs));
      out.paragraph("    arithmetic: ", std::string(entry->derivation));
    }
    out.paragraph("    source: ", std::string(entry->source));
    return;
  }
  for (const verdict::CatalogueEntry& entry : verdict::own_run_catalogue()) {
    if (entry.id == id) out.paragraph("    rule: ", "fires when " + entry.fires_when);
  }
}

/// What was asked for and did not fire.
void explain_absent(Writer& out, const Report& report, const std::string& id) {
  const bool fired = std::ranges::any_of(report.findings,
                                         [&](const Finding& finding) { return finding.id == id; });
  if (id.empty() || id == "all" || fired || verdict::explanation_of(id) == nullptr) return;
  out.line(fmt::format("  {} did not fire", id));
  explain_rule(out, id, report.kind == "log", false);
  out.line(fmt::format("    page: docs/findings/{}.md", id));
}

void explain(Writer& out, const Finding& finding, bool foreign) {
  explain_rule(out, finding.id, foreign, true);
  for (const verdict::Evidence& evidence : finding.evidence) {
    out.paragraph("    evidence: ",
                  fmt::format("{}: {} [{}]", evidence.name, evidence.value, evidence.source));
  }
  if (!finding.derivation.empty()) out.paragraph("    derivation: ", finding.derivation);
  if (!finding.confirm.empty()) out.paragraph("    confirmed if: ", finding.confirm);
  out.line(fmt::format("    page: docs/findings/{}.md", finding.id));
}

void write_findings(Writer& out, const Report& report, const TextOptions& options) {
  out.heading("findings");
  if (report.findings.empty()) {
    out.line(report.checked.empty() ? "  none: nothing could be checked" : "  no fault found");
  }
  for (const Finding& finding : report.findings) {
    const std::string sure = finding.confidence == verdict::Confidence::kHigh
                                 ? ""
                                 : fmt::format(" ({} confidence)", to_string(finding.confidence));
    out.line(fmt::format("  {} {} · {}{}",
                         severity_word(out, finding.severity),
                         out.painted(finding.id, kBold),
                         finding.where,
                         sure));
    out.paragraph("    ", finding.sentence);
    if (!finding.action.empty()) out.paragraph("    → ", finding.action);
    if (options.explain == "all" || options.explain == finding.id) {
      explain(out, finding, report.kind == "log");
    }
  }
  if (report.findings.empty() && !report.checked.empty()) {
    out.paragraph("  checked: ", fmt::format("{}", fmt::join(report.checked, ", ")));
  }
  explain_absent(out, report, options.explain);
  // Rules that lack the same input are named together.
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const verdict::Unchecked& unchecked : report.unchecked) {
    const auto it =
        std::ranges::find(reasons, unchecked.missing, &std::pair<std::string, std::string>::first);
    if (it == reasons.end()) {
      reasons.emplace_back(unchecked.missing, unchecked.id);
    } else {
      it->second += ", " + unchecked.id;
    }
  }
  for (const auto& [missing, ids] : reasons) {
    out.paragraph("  not checked: ", fmt::format("{}; {}", ids, missing));
  }
}

}  // namespace

bool wants_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return ::isatty(fd) == 1;
}

std::string render_text(const Report& report, const TextOptions& options) {
  Writer out(options);
  out.paragraph("", out.painted(report.title, kBold));
  if (!report.headline.empty()) out.paragraph("verdict: ", report.headline);
  write_config(out, report, options);
  for (const Table& table : report.tables) {
    if (!table.rows.empty()) write_table(out, table, options);
  }
  for (const Matrix& matrix : report.matrices) {
    out.heading(matrix.title);
    std::string drawn = matrix_text(matrix, options.width);
    drawn.pop_back();
    out.line(drawn);
  }
  for (const Heat& heat : report.heats) {
    out.heading(heat.title);
    std::string drawn = heat_text(heat, options.width);
    drawn.pop_back();
    out.line(drawn);
  }
  write_ledger(out, report, options.width);
  write_bars(out, report);
  write_findings(out, report, options);
  if (!report.notes.empty()) {
    out.heading("notes");
    for (const std::string& note : report.notes) out.paragraph("  ", note);
  }
  return out.take();
}

}  // namespace shunt::report
