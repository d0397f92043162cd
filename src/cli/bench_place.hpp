// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What both launches of `shunt bench` do around the ranks: where the run is kept, and its end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/bench_job.hpp"
#include "cli/program.hpp"
#include "profile/rank_log.hpp"
#include "profile/run.hpp"

namespace shunt::cli {

/// The run directory: the one asked for, or a temporary one that goes away with this object.
class RunPlace {
 public:
  static Result<RunPlace> create(const BenchOptions& options);
  RunPlace(RunPlace&& other) noexcept;
  RunPlace& operator=(RunPlace&&) = delete;
  ~RunPlace();
  [[nodiscard]] const profile::RunWriter& writer() const { return *writer_; }

 private:
  RunPlace() = default;
  std::unique_ptr<profile::RunWriter> writer_;
  std::string temporary_;
};

/// The wall clock, as run.json writes it.
[[nodiscard]] std::string utc_now();

/// Completes run.json with what the ranks sent, reads the run back, as analyze would, and prints
/// it.
[[nodiscard]] Exit finish(const BenchJob& job,
                          const RunPlace& place,
                          profile::RunInfo& info,
                          const std::vector<RankResult>& ranks);

/// Starts the ranks on this machine.
[[nodiscard]] Exit run_launched(BenchJob job);

}  // namespace shunt::cli
