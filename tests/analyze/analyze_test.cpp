// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// From files of a run to the verdict, through the program.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "support/command.hpp"
#include "support/run_files.hpp"
#include "support/temporary_directory.hpp"

namespace shunt {
namespace {

using ::testing::HasSubstr;
using testing::run_command;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

std::string analyze(const std::string& arguments) {
  return std::string(SHUNT_ANALYZE_PROGRAM) + " analyze " + arguments;
}

TEST(Analyze, ReadsTheVerdictFromFiles) {
  const TemporaryDirectory temporary;
  const std::string run = temporary.path() + "/run";
  ASSERT_TRUE(test::write_run({}, run));
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
  ASSERT_TRUE(test::write_run(slow, run));
  EXPECT_EQ(run_command(analyze(run)).status, 0);
  EXPECT_EQ(run_command(analyze(run + " --fail-on warning")).status, 1);
  EXPECT_EQ(run_command(analyze(run + " --strict")).status, 0);
  std::filesystem::remove(run + "/" + profile::rank_file_name(2));
  const auto partial = run_command(analyze(run + " --strict"));
  EXPECT_EQ(partial.status, 6);
  EXPECT_THAT(partial.out, HasSubstr("rank 2 left no records"));
}

/// The report of `input` as JSON text, without what names the input.
std::string report_of(const std::string& input) {
  const auto result = run_command(analyze(input + " --json"));
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

TEST(Analyze, AnExportedTraceTellsWhatItsRunTells) {
  const TemporaryDirectory temporary;
  const std::string run = temporary.path() + "/run";
  test::SyntheticRun slow;
  slow.wire_bytes_per_ns = 0.06;
  ASSERT_TRUE(test::write_run(slow, run));
  const std::string trace = temporary.path() + "/run.pftrace";
  const auto exported =
      run_command(std::string(SHUNT_ANALYZE_PROGRAM) + " export " + run + " --perfetto " + trace);
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_EQ(report_of(trace), report_of(run));
  EXPECT_EQ(run_command(analyze(trace + " --fail-on warning")).status, 1);
  const auto drawn = run_command(analyze(trace + " --out " + temporary.path() + "/t.svg"));
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_TRUE(std::filesystem::exists(temporary.path() + "/t.svg"));

  // Cut in the middle: what is left is judged, what is missing is said.
  std::string bytes = testing::slurp(trace);
  bytes.resize(bytes.size() / 2);
  const std::string cut = temporary.path() + "/cut.pftrace";
  ASSERT_TRUE(write_file(cut, bytes));
  const auto half = run_command(analyze(cut + " --strict"));
  EXPECT_EQ(half.status, 6) << half.err;
  EXPECT_THAT(half.out, HasSubstr("the trace ends early at byte"));
  // Its first packet alone is missing: no longer a run, and said so.
  ASSERT_TRUE(write_file(cut, bytes.substr(bytes.size() / 2)));
  EXPECT_EQ(run_command(analyze(cut)).status, 3);
}

}  // namespace
}  // namespace shunt
