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

/// A run's exported trace, beside it a log of another library.
class Piped : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string run = temporary_.file("run");
    ASSERT_TRUE(test::write_run({}, run));
    const auto exported = run_command(std::string(SHUNT_ANALYZE_PROGRAM) + " export " + run +
                                      " --perfetto " + trace_);
    ASSERT_EQ(exported.status, 0) << exported.err;
    testing::spill(log_,
                   "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 20, RDMA chunk 24: 60.00 GB/s "
                   "(RDMA), 196.20 GB/s (NVL)\nNIC 400 Gb/s\n");
  }

  const TemporaryDirectory temporary_;
  const std::string trace_ = temporary_.file("run.pftrace");
  const std::string log_ = temporary_.file("bench.log");
};

TEST_F(Piped, AnExportedTraceFromStandardInputTellsWhatItsFileTells) {
  const std::string want = report_of(trace_);
  EXPECT_EQ(run_command("cat " + trace_ + " | " + analyze("- --json")).out, want);
  EXPECT_EQ(run_command("gzip -c " + trace_ + " | " + analyze("- --json")).out, want);
  EXPECT_EQ(run_command(analyze("- --json") + " < " + trace_).out, want);
  // Its records are read twice for the picture.
  const std::string page = temporary_.file("page.html");
  const auto drawn =
      run_command("gzip -c " + trace_ + " | " + analyze("- " + log_ + " --html " + page));
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_THAT(drawn.out, HasSubstr("verdict: node 0 → node 1 (dispatch) is full: 95.2 %"));
  EXPECT_THAT(drawn.out, HasSubstr("DeepEP V1 internode"));
  EXPECT_THAT(testing::slurp(page), HasSubstr("the typical one"));
}

TEST_F(Piped, ADiskThatIsFullOrAbsentIsNamed) {
  const auto absent =
      run_command("cat " + trace_ + " | TMPDIR=" + temporary_.file("none") + " " + analyze("-"));
  EXPECT_EQ(absent.status, 3);
  EXPECT_THAT(absent.err, HasSubstr(temporary_.file("none")));
  const auto full = run_command("trap '' XFSZ; ulimit -f 1; cat " + trace_ +
                                " | TMPDIR=" + temporary_.path() + " " + analyze("-") + " | cat");
  EXPECT_EQ(full.out, "");
  EXPECT_THAT(full.err, HasSubstr("cannot write a temporary file in " + temporary_.path()));
  EXPECT_THAT(full.err, HasSubstr("set TMPDIR to a folder with more room"));
}

TEST_F(Piped, TracesAndLogsOfOthersComeCompressedOrThroughPipes) {
  const std::string inputs = SHUNT_GOLDEN_INPUTS;
  const std::string rank0 = inputs + "/perfetto-sdk-a2a-skew/rank0.pftrace";
  const std::string rank1 = inputs + "/perfetto-sdk-a2a-skew/rank1.pftrace";
  const auto skew = HasSubstr("rank 1 enters later in all, by up to 980 µs");
  EXPECT_THAT(run_command(analyze(rank0 + " " + rank1)).out, skew);
  EXPECT_THAT(run_command("gzip -c " + rank0 + " | " + analyze("- " + rank1)).out, skew);
  const std::string json = temporary_.file("trace.json");
  testing::spill(json,
                 R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"dispatch_kernel","ts":1,)"
                 R"("dur":25,"pid":0,"tid":7}]})");
  const auto span = HasSubstr("dispatch: 1 spans, mean 25.0");
  EXPECT_THAT(run_command(analyze(json)).out, span);
  EXPECT_THAT(run_command("gzip -c " + json + " | " + analyze("-")).out, span);
  EXPECT_THAT(run_command("bash -c '" + analyze("<(cat " + json + ")") + "'").out, span);
  const auto log = run_command("gzip -c " + log_ + " > " + temporary_.file("l.gz") + "; " +
                               analyze(temporary_.file("l.gz")));
  EXPECT_THAT(log.out, HasSubstr("DeepEP V1 internode"));
}

TEST_F(Piped, AFolderMayHoldRuns) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(test::write_run({}, folder.file("a")));
  ASSERT_TRUE(test::write_run({}, folder.file("b")));
  testing::spill(folder.file("bench.log"), testing::slurp(log_));
  const auto text = run_command(analyze(folder.path()));
  EXPECT_EQ(text.status, 0) << text.err;
  const std::string verdict = "is full: 95.2 %";
  const std::size_t first = text.out.find(verdict);
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(text.out.find(verdict, first + 1), std::string::npos);
  EXPECT_THAT(text.out, HasSubstr("DeepEP V1 internode"));
}

}  // namespace
}  // namespace shunt
