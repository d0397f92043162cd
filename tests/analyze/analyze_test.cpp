// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// From files of a run to the verdict, through the program.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/rank_log.hpp"
#include "support/command.hpp"
#include "support/synthetic_run.hpp"
#include "support/temporary_directory.hpp"

namespace shunt {
namespace {

using ::testing::HasSubstr;
using testing::run_command;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

/// Writes what it visits as the record files of a run.
class FileWriter final : public profile::RecordVisitor {
 public:
  FileWriter(std::string path, int world) {
    for (int rank = 0; rank < world; ++rank) {
      logs_.push_back(profile::RankLog::create(path, rank, world, 0).value());
      recorders_.push_back(std::make_unique<record::Recorder>(4096));
      lanes_.push_back(recorders_.back()->add_lane());
    }
  }
  void on_span(int rank, const record::Span& span) override { push(rank, span); }
  void on_put(int rank, const record::Put& put) override { push(rank, put); }
  void on_arrival(int rank, const record::Arrival& arrival) override { push(rank, arrival); }
  void finish() {
    for (std::size_t r = 0; r < logs_.size(); ++r) {
      ASSERT_TRUE(logs_[r].finish(*recorders_[r]));
    }
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

void write_run(const test::SyntheticRun& run, const std::string& path) {
  profile::RunInfo info = run.summary().run;
  info.finished = true;
  const auto writer = profile::RunWriter::create(path, profile::Existing::kRefuse);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_info(info));
  FileWriter files(path, info.shape.world);
  run.play(files);
  files.finish();
}

std::string analyze(const std::string& arguments) {
  return std::string(SHUNT_ANALYZE_PROGRAM) + " analyze " + arguments;
}

TEST(Analyze, ReadsTheVerdictFromFiles) {
  const TemporaryDirectory temporary;
  const std::string run = temporary.path() + "/run";
  write_run({}, run);
  const auto text = run_command(analyze(run + " --out " + temporary.path() + "/t.svg"));
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("verdict: node 0 → node 1 (dispatch) is full: 95.2 %"));
  EXPECT_TRUE(std::filesystem::exists(temporary.path() + "/t.svg"));
  EXPECT_THAT(run_command(analyze(run + " --json")).out,
              StartsWith("{\n  \"schema\": \"shunt.rep"));
  EXPECT_THAT(run_command(analyze(run + " --csv --table links")).out,
              StartsWith("operation,link,"));
  EXPECT_EQ(run_command(analyze(run + " --json --csv")).status, 2);
  EXPECT_EQ(run_command(analyze(run + " --csv --table nothing")).status, 2);
  EXPECT_EQ(run_command(analyze(run + " --fail-on notice")).status, 0);
}

TEST(Analyze, FindingsAndMissingRanksDecideTheStatusOnRequest) {
  const TemporaryDirectory temporary;
  const std::string run = temporary.path() + "/run";
  test::SyntheticRun slow;
  slow.wire_bytes_per_ns = 0.06;
  write_run(slow, run);
  EXPECT_EQ(run_command(analyze(run)).status, 0);
  EXPECT_EQ(run_command(analyze(run + " --fail-on warning")).status, 1);
  EXPECT_EQ(run_command(analyze(run + " --strict")).status, 0);
  std::filesystem::remove(run + "/" + profile::rank_file_name(2));
  const auto partial = run_command(analyze(run + " --strict"));
  EXPECT_EQ(partial.status, 6);
  EXPECT_THAT(partial.out, HasSubstr("rank 2 left no records"));
}

}  // namespace
}  // namespace shunt
