// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The reading side of a run directory. in: a directory in whatever state a run left it → out: its
// RunInfo, its records on the reference clock, and what was missing or damaged. Memory is bounded
// by one block (1 MiB) whatever the files hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/recording.hpp"
#include "shunt/result.hpp"

namespace shunt::profile {

/// t on the rank's clock → the reference clock; never below zero.
[[nodiscard]] std::uint64_t to_reference(const ClockFit& fit, std::uint64_t t);

/// Reads run.json, then all ranks. Fails only if run.json does: absent, cut and damaged record
/// files are part of the answer (RankFile, notes). Records that contradict themselves or the
/// world's size are left out and counted in a note.
[[nodiscard]] Result<RecordingSummary> read_run(const std::string& directory,
                                                RecordVisitor& visitor);

/// One rank of a run whose RunInfo is at hand; notes are appended.
[[nodiscard]] RankFile read_rank(const std::string& directory,
                                 const RunInfo& run,
                                 int rank,
                                 RecordVisitor& visitor,
                                 std::vector<std::string>& notes);

}  // namespace shunt::profile
