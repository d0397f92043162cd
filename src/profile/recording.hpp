// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A run directory, read: the contract between profile/ (which reads files) and analysis/ (which
// measures). Records arrive one at a time, on the reference clock, so that memory stays bounded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/run.hpp"
#include "record/record.hpp"

namespace shunt::profile {

/// Takes the records of a run, rank after rank, within a rank in file order (roughly by end time).
/// All times are already on the reference clock (ClockFit applied).
class RecordVisitor {
 public:
  virtual ~RecordVisitor() = default;
  virtual void on_span(int rank, const record::Span& span) = 0;
  virtual void on_put(int rank, const record::Put& put) = 0;
  virtual void on_arrival(int rank, const record::Arrival& arrival) = 0;
};

/// What is known about one rank's file besides its records.
struct RankFile {
  int rank = 0;
  bool present = false;   ///< The file exists.
  bool complete = false;  ///< It ends with its end block: the rank was not killed.
  std::uint64_t records = 0;
  std::uint64_t dropped = 0;
  std::uint64_t bad_blocks = 0;  ///< Checksum or length wrong; skipped, counted.
};

/// What a reader returns beside the visited records.
struct RecordingSummary {
  RunInfo run;
  std::vector<RankFile> ranks;     ///< One per rank of the world.
  std::vector<std::string> notes;  ///< "rank 3: file cut short after 1204 records".
};

}  // namespace shunt::profile
