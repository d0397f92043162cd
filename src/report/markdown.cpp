// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/markdown.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/heat.hpp"
#include "report/matrix.hpp"

namespace shunt::report {
namespace {

/// Pipes would end a cell, line ends a row; `<` would start a tag.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') {
      out += "\\|";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out.push_back(c == '\n' ? ' ' : c);
    }
  }
  return out;
}

/// Text inside a fence: nothing in it can end the fence.
std::string fenced(std::string text) {
  for (std::size_t at = text.find("```"); at != std::string::npos; at = text.find("```", at)) {
    text.replace(at, 3, "'''");
  }
  return text;
}

void write_table(const Table& table, std::string& out) {
  out += fmt::format("\n**{}**\n\n|", escaped(table.title));
  std::string rule = "|";
  std::vector<Scale> scales;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    scales.push_back(column_scale(table, c));
    if (column.title.empty()) continue;
    out += fmt::format(" {}{} |",
                       column.title,
                       scales[c].name.empty() ? "" : fmt::format(" ({})", scales[c].name));
    rule += column.unit == Unit::kText ? "---|" : "--:|";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].title.empty()) continue;
      out += fmt::format(" {} |", escaped(cell_text(row[c], table.columns[c].unit, scales[c])));
    }
    out += "\n";
  }
  for (const std::string& note : table.notes) out += fmt::format("\n_{}_\n", escaped(note));
}

void write_finding(const verdict::Finding& finding, std::string& out) {
  out += fmt::format("- **{}** `{}` ({}, confidence {}): {}\n",
                     to_string(finding.severity),
                     finding.id,
                     escaped(finding.where),
                     to_string(finding.confidence),
                     escaped(finding.sentence));
  for (const auto& evidence : finding.evidence) {
    out +=
        fmt::format("  - {}: {}{}\n",
                    escaped(evidence.name),
                    escaped(evidence.value),
                    evidence.source.empty() ? "" : fmt::format(" [{}]", escaped(evidence.source)));
  }
  if (!finding.derivation.empty())
    out += fmt::format("  - because: {}\n", escaped(finding.derivation));
  if (!finding.action.empty()) out += fmt::format("  - do: {}\n", escaped(finding.action));
  if (!finding.confirm.empty())
    out += fmt::format("  - to confirm: {}\n", escaped(finding.confirm));
}

}  // namespace

std::string render_markdown(const Report& report) {
  std::string out = fmt::format("### shunt {}: {}\n\n{}\n",
                                report.kind == "comparison" ? "compare" : "analyze",
                                escaped(report.title),
                                escaped(report.headline));
  if (!report.findings.empty()) out += "\n#### Findings\n\n";
  for (const auto& finding : report.findings) write_finding(finding, out);
  for (const Matrix& matrix : report.matrices) {
    out += fmt::format(
        "\n#### {}\n\n```\n{}```\n", escaped(matrix.title), fenced(matrix_text(matrix, 140)));
  }
  for (const Heat& heat : report.heats) {
    out +=
        fmt::format("\n#### {}\n\n```\n{}```\n", escaped(heat.title), fenced(heat_text(heat, 140)));
  }
  out += "\n<details><summary>What was read</summary>\n";
  if (!report.config.empty()) out += "\n| setting | value | from |\n|---|---|---|\n";
  for (const Fact& fact : report.config) {
    out += fmt::format("| {} | {} | {} |\n",
                       escaped(fact.label),
                       escaped(fact_text(fact.value, fact.unit)),
                       escaped(fact.note));
  }
  for (const Table& table : report.tables) write_table(table, out);
  if (!report.notes.empty()) out += "\n";
  for (const std::string& note : report.notes) out += fmt::format("- {}\n", escaped(note));
  out += "\n</details>\n";
  return out;
}

}  // namespace shunt::report
