// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run_analysis.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "analysis/measure_builder.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "cli/program.hpp"
#include "profile/run_reader.hpp"
#include "report/picture.hpp"
#include "report/run_report.hpp"
#include "trace/perfetto_reader.hpp"

namespace shunt::cli {

bool RunAnalysis::incomplete() const {
  return report.dropped_records != 0 || !measures.missing_ranks.empty() ||
         !measures.incomplete_ranks.empty();
}

namespace {

/// The records of a run directory, or of a trace that was exported from one.
Result<profile::RecordingSummary> visit(const RunAnalysis& run, profile::RecordVisitor& visitor) {
  if (is_run_directory(run.path)) return profile::read_run(run.path, visitor);
  const auto source = trace::open_bytes(run.path);
  if (!source) return Unexpected(source.error());
  return trace::read_exported_run(**source, run.name, visitor);
}

Status judge(RunAnalysis& run) {
  analysis::MeasureBuilder builder;
  auto recording = visit(run, builder);
  if (!recording) return Unexpected(std::move(recording).error());
  run.recording = std::move(*recording);
  run.measures = builder.finish(run.recording);
  run.report = report::build_report(run.recording, run.measures);
  return {};
}

}  // namespace

bool is_run_directory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) &&
         std::filesystem::exists(std::filesystem::path(path) / "run.json", error);
}

Result<RunAnalysis> analyze_run(const std::string& path) {
  RunAnalysis run;
  run.path = path;
  run.name = path;
  SHUNT_TRY(judge(run));
  return run;
}

Result<RunAnalysis> analyze_run(trace::ByteSource& trace, const std::string& name) {
  auto copy = NamelessFile::create();
  if (!copy) return Unexpected(std::move(copy).error());
  std::string buffer(std::size_t{256} << 10, '\0');
  while (const std::size_t got = trace.read(buffer.data(), buffer.size())) {
    SHUNT_TRY(copy->append({buffer.data(), got}));
  }
  RunAnalysis run;
  run.path = copy->path();
  run.name = name;
  run.copy = std::move(*copy);
  SHUNT_TRY(judge(run));
  return run;
}

Result<analysis::Timeline> timeline_of(const RunAnalysis& run) {
  analysis::TimelineBuilder builder(run.recording.run, run.measures.timeline_ops);
  const auto read = visit(run, builder);
  if (!read) return Unexpected(read.error());
  return builder.finish();
}

Result<report::PagePart> page_part(const RunAnalysis& run) {
  report::PagePart part{&run.report, "", ""};
  if (!run.measures.timeline_iteration) return part;
  const auto timeline = timeline_of(run);
  if (!timeline) return Unexpected(timeline.error());
  if (timeline->lanes.empty()) return part;
  auto markup = report::inline_timeline(*timeline);
  if (!markup) return Unexpected(std::move(markup).error());
  part.timeline = std::move(*markup);
  part.timeline_title =
      fmt::format("iteration {}, the typical one", *run.measures.timeline_iteration);
  return part;
}

Status write_page(const std::string& path,
                  std::span<const report::PagePart> parts,
                  const std::string& verb) {
  return write_file(path, report::render_html(parts, fmt::format("shunt {} {}", verb, version())));
}

}  // namespace shunt::cli
