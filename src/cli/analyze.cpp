// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// shunt analyze: run directories, and anybody's logs, tables, matrices and counters.
#include "cli/analyze.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "cli/inputs.hpp"
#include "cli/run_analysis.hpp"
#include "cli/verbs.hpp"
#include "logs/read_trace.hpp"
#include "logs/reader.hpp"
#include "report/foreign_report.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/picture.hpp"
#include "report/text.hpp"
#include "report/trace_timeline.hpp"

namespace shunt::cli {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> set;
  std::string explain;
  std::string fail_on;
  std::string output;
  std::string out;
  std::string html;
  std::string table;
  std::string phases;
  std::string interval;
  bool json = false;
  bool csv = false;
  bool markdown = false;
  bool wide = false;
  bool strict = false;
};

/// Names what was read and the first line that nobody understood.
Unexpected nothing_known(const logs::Evidence& evidence) {
  const std::string what = evidence.files.size() == 1
                               ? fmt::format("'{}'", evidence.files.front().name)
                               : fmt::format("{} files", evidence.files.size());
  std::string first;
  if (!evidence.unread.empty()) {
    const logs::Source& source = evidence.unread.front().source;
    first = fmt::format("; the first of {} lines not understood, line {}: {}",
                        evidence.unread.size(),
                        source.line,
                        source.text.substr(0, 80));
  }
  return fail(ErrorCode::kCorrupt,
              ErrorScope::kUsage,
              "nothing in {} is a log, table, matrix, counter or trace that shunt knows{}",
              what,
              first.empty() ? " (no text in it)" : first);
}

/// All files that are no run, judged together.
struct LogAnalysis {
  report::Report report;
  report::TraceTimeline timeline;  ///< Drawn only for a page.
};

Result<LogAnalysis> analyze_logs(std::span<LogInput> inputs, const AnalyzeOptions& options) {
  logs::Evidence evidence;
  for (const std::string& assignment : options.set) {
    SHUNT_TRY(logs::set_option(evidence, assignment));
  }
  if (!options.interval.empty()) {
    SHUNT_TRY(logs::set_option(evidence, "interval=" + options.interval));
  }
  trace::PhaseTable phases;
  if (!options.phases.empty()) SHUNT_TRY(phases.load(options.phases));
  for (LogInput& input : inputs) {
    const auto bytes = input.open();
    if (!bytes) return Unexpected(bytes.error());
    SHUNT_TRY(logs::gather_input(**bytes, input.name, phases, evidence));
  }
  LogAnalysis logs;
  logs.report = report::build_foreign_report(evidence);
  if (evidence.empty() && evidence.config.empty() && logs.report.findings.empty()) {
    return nothing_known(evidence);
  }
  if (!options.html.empty()) logs.timeline = report::draw_traces(evidence);
  return logs;
}

/// What all inputs gave: each run directory by itself, all other files together.
struct Analyzed {
  std::vector<RunAnalysis> runs;
  std::optional<LogAnalysis> logs;

  [[nodiscard]] std::vector<report::Report*> reports() {
    std::vector<report::Report*> all;
    for (RunAnalysis& run : runs) all.push_back(&run.report);
    if (logs) all.push_back(&logs->report);
    return all;
  }
};

Result<Analyzed> analyze_all(const AnalyzeOptions& options) {
  auto inputs = open_inputs(options.inputs);
  if (!inputs) return Unexpected(std::move(inputs).error());
  Analyzed out;
  out.runs = std::move(inputs->runs);
  if (inputs->logs.empty()) return out;
  auto foreign = analyze_logs(inputs->logs, options);
  if (!foreign) return Unexpected(std::move(foreign).error());
  out.logs = std::move(*foreign);
  return out;
}

Result<std::string> render(const report::Report& value, const AnalyzeOptions& options) {
  if (options.csv) return report::render_csv(value, options.table);
  if (options.json) return report::render_json(value);
  if (options.markdown) return report::render_markdown(value);
  report::TextOptions text;
  text.colour = options.output.empty() && report::wants_colour(STDOUT_FILENO);
  text.all_columns = options.wide;
  text.explain = options.explain;
  // On somebody else's log the figures behind the verdict are half of the answer.
  if (text.explain.empty() && value.kind == "log" && !value.findings.empty()) {
    text.explain = value.findings.front().id;
  }
  return report::render_text(value, text);
}

std::optional<verdict::Severity> severity_named(const std::string& name) {
  for (const auto severity : {verdict::Severity::kInfo,
                              verdict::Severity::kNotice,
                              verdict::Severity::kWarning,
                              verdict::Severity::kCritical}) {
    if (name == verdict::to_string(severity)) return severity;
  }
  return std::nullopt;
}

/// The page and the picture that were asked for.
Status write_pictures(const AnalyzeOptions& options, Analyzed& analyzed) {
  if (!options.html.empty()) {
    std::vector<report::PagePart> parts;
    for (const RunAnalysis& run : analyzed.runs) {
      auto part = page_part(run);
      if (!part) return Unexpected(std::move(part).error());
      parts.push_back(std::move(*part));
    }
    if (analyzed.logs) {
      const report::TraceTimeline& drawn = analyzed.logs->timeline;
      parts.push_back({&analyzed.logs->report, drawn.markup, drawn.title});
    }
    SHUNT_TRY(write_page(options.html, parts, "analyze"));
  }
  if (options.out.empty()) return {};
  if (analyzed.runs.size() != 1) {
    return usage_error("--out draws the timeline of one run directory; the inputs have {}",
                       analyzed.runs.empty() ? "none" : std::to_string(analyzed.runs.size()));
  }
  const RunAnalysis& run = analyzed.runs.front();
  const auto timeline = timeline_of(run);
  if (!timeline) return Unexpected(timeline.error());
  const std::string title = fmt::format(
      "{}, iteration {}", run.report.title, run.measures.timeline_iteration.value_or(0));
  return report::draw_timeline(*timeline, {title, run.report.headline}, options.out);
}

Result<std::string> render_all(const AnalyzeOptions& options, Analyzed& analyzed) {
  const auto reports = analyzed.reports();
  if (options.csv && reports.size() > 1) {
    return usage_error("--csv gives a table of one report; the inputs make {}", reports.size());
  }
  std::string text;
  for (report::Report* one : reports) {
    if (one->tool_version.empty()) one->tool_version = version();
    const auto rendered = render(*one, options);
    if (!rendered) return Unexpected(rendered.error());
    if (!text.empty() && !options.json) text += "\n";
    text += *rendered;
  }
  return text;
}

Exit run_analyze(AnalyzeOptions options) {
  if (options.json + options.csv + options.markdown > 1) {
    complain("--json, --csv and --md exclude each other");
    return Exit::kUsage;
  }
  for (std::string& input : inputs_among(options.set)) options.inputs.push_back(std::move(input));
  if (options.inputs.empty()) {
    complain("INPUT is required; 'shunt analyze --help' shows what is allowed");
    return Exit::kUsage;
  }
  if (options.out.ends_with(".html")) options.html = std::exchange(options.out, "");
  const auto least = severity_named(options.fail_on);
  auto analyzed = analyze_all(options);
  if (!analyzed) return complain(analyzed.error());
  const auto text = render_all(options, *analyzed);
  if (!text) return complain(text.error());
  if (const auto drawn = write_pictures(options, *analyzed); !drawn) return complain(drawn.error());
  if (options.output.empty()) {
    std::fwrite(text->data(), 1, text->size(), stdout);
  } else if (const auto written = write_file(options.output, *text); !written) {
    return complain(written.error());
  }
  if (options.strict && std::ranges::any_of(analyzed->runs, &RunAnalysis::incomplete)) {
    return Exit::kIncomplete;
  }
  const auto reports = analyzed->reports();
  const bool found = least && std::ranges::any_of(reports, [&](const report::Report* one) {
                       return report::has_finding(*one, *least);
                     });
  return found ? Exit::kFindings : Exit::kDone;
}

}  // namespace

Result<report::Report> analyze_input(const std::string& input,
                                     const std::vector<std::string>& set) {
  AnalyzeOptions options;
  options.inputs = {input};
  options.set = set;
  auto analyzed = analyze_all(options);
  if (!analyzed) return Unexpected(std::move(analyzed).error());
  const auto reports = analyzed->reports();
  if (reports.size() != 1) {
    return usage_error(
        "'{}' names {} runs or logs; compare takes one a side", input, reports.size());
  }
  return std::move(*reports.front());
}

void add_analyze(Program& program) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App& verb = program.add_verb(
      "analyze",
      "Say what limited a run, from its directory or from any log, matrix or counters.",
      {"shunt analyze run/", "shunt analyze bench.log topo.txt --set rate=400G --explain all"},
      [options] { return run_analyze(*options); });
  program.set_unnamed_verb(verb, "file, directory or pattern that matches one", names_input);
  verb.add_option("INPUT",
                  options->inputs,
                  "Run directories, files, globs, directories of files, or - for standard input");
  verb.add_option("--set", options->set, "A fact the input lacks: nodes=2, rate=400G, gpu=H100 …")
      ->type_name("KEY=VALUE");
  verb.add_option("--interval", options->interval, "Seconds between two counter snapshots")
      ->type_name("SECONDS");
  verb.add_option(
          "--phases", options->phases, "Span names of traces: lines 'part of a name -> phase'")
      ->type_name("FILE");
  verb.add_option(
          "--explain", options->explain, "Rule, evidence and arithmetic of a finding, or all")
      ->type_name("ID");
  verb.add_flag("--json", options->json, "JSON, schema shunt.report/1 (docs/schemas/report.json)");
  verb.add_flag("--csv", options->csv, "One table as CSV");
  verb.add_option("--table", options->table, "Which table --csv gives (else the first)")
      ->type_name("ID");
  verb.add_option("--out", options->out, "Also draw the timeline of a run's typical iteration")
      ->type_name("FILE.svg|png");
  verb.add_option(
          "--html", options->html, "Also write all of it as one page, to look at or to show")
      ->type_name("FILE");
  verb.add_flag("--md", options->markdown, "Markdown, to paste into an issue");
  verb.add_flag("--wide", options->wide, "All columns of the tables");
  verb.add_option("-o,--output", options->output, "Write to FILE instead of standard output")
      ->type_name("FILE");
  verb.add_option("--fail-on", options->fail_on, "Exit with 1 on findings at least this severe")
      ->check(CLI::IsMember({"info", "notice", "warning", "critical"}));
  verb.add_flag(
      "--strict", options->strict, "Exit with 6 if ranks or records of a run are missing");
}

}  // namespace shunt::cli
