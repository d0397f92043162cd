// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_entry.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "analysis/measure_builder.hpp"
#include "logs/read_trace.hpp"
#include "logs/reader.hpp"
#include "trace/perfetto_reader.hpp"
#include "verdict/foreign.hpp"
#include "verdict/judge.hpp"

namespace shunt::fuzz {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "invariant broken: %s\n", what);
  std::abort();
}

void check_source(const logs::Source& source, std::size_t lines) {
  require(source.file == 0, "fact of another file");
  require(source.line <= lines, "fact beyond the last line");
}

/// Settings and prose stay in: without them many rules would never be reached.
std::vector<logs::Reader> readers_named(std::string_view only) {
  std::vector<logs::Reader> chosen;
  bool found = false;
  for (const logs::Reader& reader : logs::readers()) {
    found = found || reader.name == only;
    if (only.empty() || reader.name == only || reader.name == "config" || reader.name == "prose") {
      chosen.push_back(reader);
    }
  }
  require(only.empty() || found, "no reader of that name");
  return chosen;
}

}  // namespace

void clean(std::string_view bytes) {
  const logs::Document document = logs::make_document("fuzz", bytes);
  std::size_t last = 0;
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const logs::Line& line = document.lines[i];
    require(line.number >= last && line.number >= 1, "line numbers go back");
    require(line.text.find('\n') == std::string::npos, "line end inside a line");
    require(line.text.find('\x1b') == std::string::npos, "escape left in a line");
    require(line.heading < static_cast<int>(document.lines.size()), "heading out of range");
    (void)logs::heading_of(document, i);
    last = line.number;
  }
}

void read_and_judge(std::string_view bytes, std::string_view only) {
  logs::Evidence evidence;
  logs::gather(logs::make_document("fuzz", bytes), evidence, readers_named(only));
  const std::size_t lines = evidence.files.front().lines;
  for (const auto& sample : evidence.samples) {
    check_source(sample.source, lines);
    require(!sample.rate_gbs || std::isfinite(*sample.rate_gbs), "rate not finite");
    require(!sample.time_us || std::isfinite(*sample.time_us), "time not finite");
  }
  for (const auto& sweep : evidence.sweeps) {
    require(!sweep.rows.empty(), "empty sweep");
    for (const auto& row : sweep.rows) check_source(row.source, lines);
  }
  for (const auto& failure : evidence.failures) check_source(failure.source, lines);
  for (const auto& finding : verdict::judge_foreign(evidence)) {
    require(!finding.id.empty() && !finding.sentence.empty(), "finding without words");
    // What fmt prints for no number; the input's own words may be quoted.
    for (const char* word : {"nan ", "inf "}) {
      require(finding.sentence.find(word) == std::string::npos ||
                  bytes.find(std::string_view(word, 3)) != std::string_view::npos,
              finding.sentence.c_str());
    }
  }
}

void read_file(std::string_view bytes) {
  logs::Evidence evidence;
  trace::HeadSource source(trace::memory_bytes(bytes));
  const auto read = logs::gather_input(source, "fuzz", trace::PhaseTable(), evidence);
  if (!read) {
    require(!read.error().message.empty(), "refusal without words");
    return;
  }
  for (const logs::TraceFact& fact : evidence.traces) {
    require(fact.trace.summary.events > 0, "trace without events");
    for (const trace::PhaseStats& phase : fact.trace.phases) {
      require(phase.min_ns >= 0 && phase.min_ns <= phase.max_ns && phase.max_ns <= phase.total_ns,
              "durations that cannot be");
    }
  }
  for (const auto& finding : verdict::judge_foreign(evidence)) {
    require(!finding.id.empty() && !finding.sentence.empty(), "finding without words");
  }
}

void read_export(std::string_view bytes) {
  analysis::MeasureBuilder builder;
  const auto source = trace::memory_bytes(bytes);
  const auto recording = trace::read_exported_run(*source, "fuzz", builder);
  if (!recording) {
    require(!recording.error().message.empty(), "refusal without words");
    return;
  }
  require(recording->ranks.size() == static_cast<std::size_t>(recording->run.shape.world),
          "ranks beyond the world");
  const auto judgement = verdict::judge(*recording, builder.finish(*recording));
  require(!judgement.headline.empty(), "verdict without words");
}

}  // namespace shunt::fuzz
