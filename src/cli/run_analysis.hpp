// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A run, from its directory or the trace exported from it, read, judged and drawn: what bench shows
// at its end and analyze shows again.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/measures.hpp"
#include "analysis/timeline.hpp"
#include "base/nameless_file.hpp"
#include "profile/recording.hpp"
#include "report/html.hpp"
#include "report/report.hpp"
#include "shunt/result.hpp"
#include "trace/chrome/byte_source.hpp"

namespace shunt::cli {

struct RunAnalysis {
  std::string path;                  ///< Directory or trace.
  std::string name;                  ///< As the user gave it.
  std::optional<NamelessFile> copy;  ///< What path opens, where the trace came once.
  profile::RecordingSummary recording;
  analysis::Measures measures;
  report::Report report;

  /// Ranks or records are missing.
  [[nodiscard]] bool incomplete() const;
};

[[nodiscard]] bool is_run_directory(const std::string& path);

/// `path`: a run directory or a trace that shunt exported from one.
[[nodiscard]] Result<RunAnalysis> analyze_run(const std::string& path);
/// A trace that can be read only once: kept on disk, without a name, as long as the analysis.
[[nodiscard]] Result<RunAnalysis> analyze_run(trace::ByteSource& trace, const std::string& name);

/// The run's typical iteration; a second pass over its records.
[[nodiscard]] Result<analysis::Timeline> timeline_of(const RunAnalysis& run);

/// The run's part of a page, with its timeline where an iteration was measured.
[[nodiscard]] Result<report::PagePart> page_part(const RunAnalysis& run);

/// Writes the page, whole or not at all.
[[nodiscard]] Status write_page(const std::string& path,
                                std::span<const report::PagePart> parts,
                                const std::string& verb);

}  // namespace shunt::cli
