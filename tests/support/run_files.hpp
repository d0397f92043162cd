// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A synthetic run as the files that a real one leaves behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profile/rank_log.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::test {

/// Writes what it visits as the record files of a run.
class FileWriter final : public profile::RecordVisitor {
 public:
  FileWriter(const std::string& path, int world) {
    for (int rank = 0; rank < world; ++rank) {
      logs_.push_back(profile::RankLog::create(path, rank, world, 0).value());
      recorders_.push_back(std::make_unique<record::Recorder>(4096));
      lanes_.push_back(recorders_.back()->add_lane());
    }
  }
  void on_span(int rank, const record::Span& span) override { push(rank, span); }
  void on_put(int rank, const record::Put& put) override { push(rank, put); }
  void on_arrival(int rank, const record::Arrival& arrival) override { push(rank, arrival); }
  [[nodiscard]] bool finish() {
    bool written = true;
    for (std::size_t r = 0; r < logs_.size(); ++r) {
      written = logs_[r].finish(*recorders_[r]).has_value() && written;
    }
    return written;
  }

 private:
  template <typename Record>
  void push(int rank, const Record& record) {
    lanes_[static_cast<std::size_t>(rank)]->push(record);
  }
  std::vector<profile::RankLog> logs_;
  std::vector<std::unique_ptr<record::Recorder>> recorders_;
  std::vector<record::Lane*> lanes_;
};

/// False if a file could not be written.
[[nodiscard]] inline bool write_run(const SyntheticRun& run, const std::string& path) {
  profile::RunInfo info = run.summary().run;
  info.finished = true;
  const auto writer = profile::RunWriter::create(path, profile::Existing::kRefuse);
  if (!writer || !writer->write_info(info)) return false;
  FileWriter files(path, info.shape.world);
  run.play(files);
  return files.finish();
}

}  // namespace shunt::test
