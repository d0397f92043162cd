// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "analysis/measure_builder.hpp"
#include "analysis/timeline.hpp"
#include "cli/verbs.hpp"
#include "profile/run_reader.hpp"
#include "report/json.hpp"
#include "report/picture.hpp"
#include "report/run_report.hpp"
#include "report/text.hpp"

namespace shunt::cli {
namespace {

struct Options {
  std::string directory;
  bool json = false;
  bool csv = false;
  std::string table;
  std::string explain;
  std::string out;
  std::string fail_on;
  bool wide = false;
  bool strict = false;
};

verdict::Severity severity_of(const std::string& name) {
  using verdict::Severity;
  for (const Severity one : {Severity::kNotice, Severity::kWarning, Severity::kCritical}) {
    if (name == to_string(one)) return one;
  }
  return Severity::kInfo;
}

Exit run(const Options& options) {
  if (options.json && options.csv) {
    complain("--json and --csv exclude each other");
    return Exit::kUsage;
  }
  analysis::MeasureBuilder builder;
  const auto recording = profile::read_run(options.directory, builder);
  if (!recording) return complain(recording.error());
  const analysis::Measures measures = builder.finish(*recording);
  const report::Report report = report::build_report(*recording, measures);
  if (!options.out.empty()) {
    analysis::TimelineBuilder timeline(recording->run, measures.timeline_ops);
    if (const auto again = profile::read_run(options.directory, timeline); !again) {
      return complain(again.error());
    }
    const std::string title =
        fmt::format("{}, iteration {}", report.title, measures.timeline_iteration.value_or(0));
    const Status drawn =
        report::draw_timeline(timeline.finish(), {title, report.headline}, options.out);
    if (!drawn) return complain(drawn.error());
  }
  std::string text;
  if (options.csv) {
    auto csv = report::render_csv(report, options.table);
    if (!csv) return complain(csv.error());
    text = std::move(*csv);
  } else if (options.json) {
    text = report::render_json(report);
  } else {
    report::TextOptions how;
    how.colour = report::wants_colour(STDOUT_FILENO);
    how.all_columns = options.wide;
    how.explain = options.explain;
    text = report::render_text(report, how);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  const bool incomplete = report.dropped_records != 0 || !measures.missing_ranks.empty() ||
                          !measures.incomplete_ranks.empty();
  if (options.strict && incomplete) return Exit::kIncomplete;
  if (!options.fail_on.empty() && report::has_finding(report, severity_of(options.fail_on))) {
    return Exit::kFindings;
  }
  return Exit::kDone;
}

}  // namespace

void add_analyze(Program& program) {
  auto options = std::make_shared<Options>();
  CLI::App& verb =
      program.add_verb("analyze",
                       "Say what a run did, how full its links were, and why.",
                       {"shunt analyze run/", "shunt analyze run/ --explain saturated"},
                       [options] { return run(*options); });
  verb.add_option("DIR", options->directory, "Run directory (shunt bench --out DIR)")->required();
  verb.add_flag("--json", options->json, "JSON, schema shunt.report/1 (docs/schemas/report.json)");
  verb.add_flag("--csv", options->csv, "One table as CSV");
  verb.add_option("--table", options->table, "Which table --csv gives (else the first)")
      ->type_name("ID");
  verb.add_option(
          "--explain", options->explain, "Rule, evidence and derivation of a finding, or of all")
      ->type_name("ID|all");
  verb.add_option("--out", options->out, "Also draw the timeline of a typical iteration")
      ->type_name("FILE.svg|png");
  verb.add_option("--fail-on", options->fail_on, "Exit with 1 for a finding at least this severe")
      ->check(CLI::IsMember({"notice", "warning", "critical"}));
  verb.add_flag("--wide", options->wide, "All columns of the tables");
  verb.add_flag(
      "--strict", options->strict, "Exit with 6 if ranks or records of the run are missing");
}

}  // namespace shunt::cli
