// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// shunt analyze: run directories, and anybody's logs, tables, matrices and counters.
#include "cli/analyze.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <glob.h>

#include "analysis/measure_builder.hpp"
#include "analysis/timeline.hpp"
#include "base/error.hpp"
#include "cli/verbs.hpp"
#include "logs/read_trace.hpp"
#include "logs/reader.hpp"
#include "profile/run_reader.hpp"
#include "report/foreign_report.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/picture.hpp"
#include "report/run_report.hpp"
#include "report/text.hpp"

namespace shunt::cli {
namespace {

namespace fs = std::filesystem;

struct AnalyzeOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> set;
  std::string explain;
  std::string fail_on;
  std::string output;
  std::string out;
  std::string table;
  std::string phases;
  std::string interval;
  bool json = false;
  bool csv = false;
  bool markdown = false;
  bool wide = false;
  bool strict = false;
};

/// A pattern that matches nothing stays as it is, so that the error names it.
std::vector<std::string> expand(const std::string& pattern) {
  if (pattern == "-" || fs::exists(pattern)) return {pattern};
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), GLOB_TILDE, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return out.empty() ? std::vector<std::string>{pattern} : out;
}

bool is_run(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::exists(path / "run.json", error);
}

/// Files under a directory, in name order; hidden ones left out.
std::vector<std::string> files_under(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(
           directory, fs::directory_options::skip_permission_denied, error);
       it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (error) break;
    if (it->path().filename().string().front() == '.') continue;
    if (it->is_regular_file(error)) out.push_back(it->path().string());
  }
  std::ranges::sort(out);
  return out;
}

struct Analyzed {
  report::Report report;
  bool incomplete = false;  ///< Ranks or records of a run are missing.
};

/// Draws the timeline of the run's typical iteration.
Status draw(const std::string& directory,
            const profile::RecordingSummary& recording,
            const analysis::Measures& measures,
            const report::Report& report,
            const std::string& out) {
  analysis::TimelineBuilder timeline(recording.run, measures.timeline_ops);
  SHUNT_TRY(profile::read_run(directory, timeline));
  const std::string title =
      fmt::format("{}, iteration {}", report.title, measures.timeline_iteration.value_or(0));
  return report::draw_timeline(timeline.finish(), {title, report.headline}, out);
}

Result<Analyzed> analyze_run(const std::string& directory, const AnalyzeOptions& options) {
  analysis::MeasureBuilder builder;
  const auto recording = profile::read_run(directory, builder);
  if (!recording) return Unexpected(recording.error());
  const analysis::Measures measures = builder.finish(*recording);
  Analyzed out;
  out.report = report::build_report(*recording, measures);
  out.incomplete = out.report.dropped_records != 0 || !measures.missing_ranks.empty() ||
                   !measures.incomplete_ranks.empty();
  if (!options.out.empty()) {
    SHUNT_TRY(draw(directory, *recording, measures, out.report, options.out));
  }
  return out;
}

Result<report::Report> analyze_logs(const std::vector<std::string>& paths,
                                    const AnalyzeOptions& options) {
  logs::Evidence evidence;
  for (const std::string& assignment : options.set) {
    SHUNT_TRY(logs::set_option(evidence, assignment));
  }
  if (!options.interval.empty()) {
    SHUNT_TRY(logs::set_option(evidence, "interval=" + options.interval));
  }
  trace::PhaseTable phases;
  if (!options.phases.empty()) SHUNT_TRY(phases.load(options.phases));
  for (const std::string& path : paths) {
    if (path != "-" && logs::looks_like_trace(path)) {
      SHUNT_TRY(logs::gather_trace(path, phases, evidence));
      continue;
    }
    const auto document = logs::load_document(path);
    if (!document) return Unexpected(document.error());
    logs::gather(*document, evidence);
  }
  return report::build_foreign_report(evidence);
}

Result<std::vector<Analyzed>> analyze_all(const AnalyzeOptions& options) {
  std::vector<Analyzed> reports;
  std::vector<std::string> logs;
  for (const std::string& input : options.inputs) {
    for (const std::string& path : expand(input)) {
      std::error_code error;
      if (is_run(path)) {
        auto run = analyze_run(path, options);
        if (!run) return Unexpected(run.error());
        reports.push_back(std::move(*run));
      } else if (fs::is_directory(path, error)) {
        const auto files = files_under(path);
        if (files.empty()) {
          return fail(
              ErrorCode::kCorrupt, ErrorScope::kUsage, "'{}' holds no files and no run.json", path);
        }
        logs.insert(logs.end(), files.begin(), files.end());
      } else {
        logs.push_back(path);
      }
    }
  }
  if (!logs.empty()) {
    auto foreign = analyze_logs(logs, options);
    if (!foreign) return Unexpected(foreign.error());
    reports.push_back({std::move(*foreign), false});
  }
  return reports;
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

/// The whole result or nothing: written beside, then renamed.
Status write_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  std::FILE* file = std::fopen(beside.c_str(), "wb");
  if (file == nullptr) return system_error(errno, "cannot write '{}'", beside);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) return system_error(errno, "cannot write '{}'", beside);
  std::error_code error;
  fs::rename(beside, path, error);
  if (error) return system_error(error.value(), "cannot rename '{}' to '{}'", beside, path);
  return {};
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

Exit run_analyze(const AnalyzeOptions& options) {
  if (options.json + options.csv + options.markdown > 1) {
    complain("--json, --csv and --md exclude each other");
    return Exit::kUsage;
  }
  const auto least = severity_named(options.fail_on);
  auto analyzed = analyze_all(options);
  if (!analyzed) return complain(analyzed.error());
  std::string text;
  for (Analyzed& one : *analyzed) {
    if (one.report.tool_version.empty()) one.report.tool_version = version();
    const auto rendered = render(one.report, options);
    if (!rendered) return complain(rendered.error());
    if (!text.empty() && !options.json && !options.csv) text += "\n";
    text += *rendered;
  }
  if (options.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else if (const auto written = write_file(options.output, text); !written) {
    return complain(written.error());
  }
  if (options.strict && std::ranges::any_of(*analyzed, &Analyzed::incomplete)) {
    return Exit::kIncomplete;
  }
  const bool found = least && std::ranges::any_of(*analyzed, [&](const Analyzed& one) {
                       return report::has_finding(one.report, *least);
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
  if (!analyzed) return Unexpected(analyzed.error());
  if (analyzed->size() != 1) {
    return usage_error("'{}' names {} inputs; compare takes one a side", input, analyzed->size());
  }
  return std::move(analyzed->front().report);
}

void add_analyze(Program& program) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App& verb = program.add_verb(
      "analyze",
      "Say what limited a run, from its directory or from any log, matrix or counters.",
      {"shunt analyze run/", "shunt analyze bench.log topo.txt --set rate=400G --explain all"},
      [options] { return run_analyze(*options); });
  verb.add_option("INPUT",
                  options->inputs,
                  "Run directories, files, globs, directories of files, or - for standard input")
      ->required();
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
