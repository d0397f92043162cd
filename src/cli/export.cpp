// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/export.hpp"

#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/verbs.hpp"

namespace shunt::cli {
namespace {

struct Options {
  std::string directory;
  std::string perfetto;
  std::string chrome;
  bool strict = false;
};

/// The notes once, then a line per file.
bool is_complete(const trace::ExportSummary& summary) {
  return summary.recording.notes.empty() && summary.left_out == 0;
}

void describe(const trace::ExportSummary& summary, const std::string& file, const char* viewer) {
  complain(fmt::format("{}: {} spans, {} puts, {} arrivals of {} ranks; open it in {}",
                       file,
                       summary.spans,
                       summary.puts,
                       summary.arrivals,
                       summary.recording.ranks.size(),
                       viewer));
  if (summary.spilled > 0) {
    complain(fmt::format("note: {} spans overlap others of their warp; they have rows of their own",
                         summary.spilled));
  }
  if (summary.left_out > 0) {
    complain(fmt::format("note: {} records found no row and are not shown", summary.left_out));
  }
}

Exit run(const Options& options) {
  if (options.perfetto.empty() && options.chrome.empty()) {
    complain("export has nothing to write; give --perfetto FILE or --chrome FILE");
    return Exit::kUsage;
  }
  bool complete = true;
  bool notes_shown = false;
  const auto write = [&](trace::Format format, const std::string& file, const char* viewer) {
    if (file.empty()) return Exit::kDone;
    const auto summary = trace::export_run(options.directory, format, file);
    if (!summary) return complain(summary.error());
    if (!notes_shown) {
      for (const std::string& note : summary->recording.notes) complain("note: " + note);
    }
    notes_shown = true;
    describe(*summary, file, viewer);
    complete = complete && is_complete(*summary);
    return Exit::kDone;
  };
  const Exit first = write(trace::Format::kPerfetto, options.perfetto, "https://ui.perfetto.dev");
  if (first != Exit::kDone) return first;
  const Exit second =
      write(trace::Format::kChrome, options.chrome, "chrome://tracing or https://ui.perfetto.dev");
  if (second != Exit::kDone) return second;
  return options.strict && !complete ? Exit::kIncomplete : Exit::kDone;
}

}  // namespace

void add_export(Program& program) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = program.add_verb(
      "export",
      "Turn a run directory into a timeline for a trace viewer.",
      {"shunt export run/ --perfetto run.pftrace", "shunt export run/ --chrome run.json"},
      [options] { return run(*options); });
  verb.add_option("DIR", options->directory, "Run directory (shunt bench --out DIR)")->required();
  verb.add_option("--perfetto", options->perfetto, "Write a Perfetto trace: exact, with arrows")
      ->type_name("FILE");
  verb.add_option("--chrome", options->chrome, "Write Chrome JSON: for other tools")
      ->type_name("FILE");
  verb.add_flag("--strict",
                options->strict,
                "Exit with 6 if ranks, blocks or records of the run are missing");
}

}  // namespace shunt::cli
