// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A run directory as a timeline for a viewer. in: directory → out: Perfetto or Chrome trace. Reads
// the directory twice; memory is bounded by a batch of one rank's records, not by the run.
#pragma once

#include <cstdint>
#include <string>

#include "profile/recording.hpp"
#include "shunt/result.hpp"

namespace shunt::trace {

enum class Format { kPerfetto, kChrome };

struct ExportSummary {
  profile::RecordingSummary recording;
  std::uint64_t spans = 0;
  std::uint64_t puts = 0;
  std::uint64_t arrivals = 0;
  /// Spans that overlap another of their block and warp without lying inside it, and so have a row
  /// of their own: a viewer would mistake or drop them.
  std::uint64_t spilled = 0;
  /// Records for which even that did not suffice.
  std::uint64_t left_out = 0;
};

/// Writes `output` as a whole or not at all. Tracks: docs/export.md.
[[nodiscard]] Result<ExportSummary> export_run(const std::string& directory,
                                               Format format,
                                               const std::string& output);

/// Of the arrow put → arrival: the same from either end's record. Never 0.
[[nodiscard]] std::uint64_t flow_id(int source, int target, std::uint32_t op, std::int32_t chunk);

}  // namespace shunt::trace
