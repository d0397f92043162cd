// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// shunt compare A B: what changed between two runs or two logs.
#include "report/compare.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/file.hpp"
#include "cli/analyze.hpp"
#include "cli/inputs.hpp"
#include "cli/run_analysis.hpp"
#include "cli/verbs.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/text.hpp"

namespace shunt::cli {
namespace {

struct CompareOptions {
  std::string before;
  std::string after;
  std::vector<std::string> set;
  double threshold = 5;
  std::string output;
  std::string html;
  bool json = false;
  bool markdown = false;
  bool fail = false;
};

Exit run_compare(CompareOptions options) {
  if (options.json && options.markdown) {
    complain("--json and --md exclude each other");
    return Exit::kUsage;
  }
  for (const std::string& input : inputs_among(options.set)) {
    if (!options.after.empty()) {
      complain(fmt::format("two inputs are compared; '{}' is a third", input));
      return Exit::kUsage;
    }
    (options.before.empty() ? options.before : options.after) = input;
  }
  if (options.after.empty()) {
    complain("BEFORE and AFTER are required; 'shunt compare --help' shows what is allowed");
    return Exit::kUsage;
  }
  if (options.before == "-" && options.after == "-") {
    complain("standard input can be one side only");
    return Exit::kUsage;
  }
  const auto before = analyze_input(options.before, options.set);
  if (!before) return complain(before.error());
  const auto after = analyze_input(options.after, options.set);
  if (!after) return complain(after.error());
  report::Report report = report::compare(*before, *after, options.threshold / 100);
  report.tool_version = version();
  std::string text;
  if (options.json) {
    text = report::render_json(report);
  } else if (options.markdown) {
    text = report::render_markdown(report);
  } else {
    report::TextOptions how;
    how.colour = options.output.empty() && report::wants_colour(STDOUT_FILENO);
    text = report::render_text(report, how);
  }
  if (!options.html.empty()) {
    const report::PagePart part{&report, "", ""};
    const auto written = write_page(options.html, {&part, 1}, "compare");
    if (!written) return complain(written.error());
  }
  if (options.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else if (const auto written = write_file(options.output, text); !written) {
    return complain(written.error());
  }
  const bool worse = report::has_finding(report, verdict::Severity::kWarning);
  return options.fail && worse ? Exit::kFindings : Exit::kDone;
}

}  // namespace

void add_compare(Program& program) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App& verb = program.add_verb(
      "compare",
      "Say what changed between two runs or two logs: configuration, rates, findings.",
      {"shunt compare before/ after/", "shunt compare good.log bad.log --set nodes=2"},
      [options] { return run_compare(*options); });
  verb.add_option("BEFORE", options->before, "Run directory or log");
  verb.add_option("AFTER", options->after, "Run directory or log");
  verb.add_option("--set", options->set, "A fact both inputs lack: nodes=2, rate=400G …")
      ->type_name("KEY=VALUE");
  verb.add_option("--threshold", options->threshold, "Per cent of change that counts")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  verb.add_flag("--json", options->json, "JSON, schema shunt.report/1");
  verb.add_flag("--md", options->markdown, "Markdown, to paste into an issue");
  verb.add_option(
          "--html", options->html, "Also write all of it as one page, to look at or to show")
      ->type_name("FILE");
  verb.add_option("-o,--output", options->output, "Write to FILE instead of standard output")
      ->type_name("FILE");
  verb.add_flag("--fail-on-worse", options->fail, "Exit with 1 if something became worse");
}

}  // namespace shunt::cli
