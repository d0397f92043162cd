// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// analyze and compare on inputs of every kind, good and bad, from outside.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/command.hpp"
#include "support/markup.hpp"
#include "support/temporary_directory.hpp"

namespace shunt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::run_command;
using ::testing::StartsWith;

constexpr const char* kFast =
    "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 20, RDMA chunk 24: 60.00 GB/s (RDMA), 196.20 "
    "GB/s (NVL)\nNIC 400 Gb/s\n";
constexpr const char* kSlow =
    "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 20, RDMA chunk 24: 30.00 GB/s (RDMA), 98.10 "
    "GB/s (NVL)\nNIC 400 Gb/s\n";
constexpr const char* kMatrix =
    "        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NV18    PIX     0-7     0\n"
    "GPU1    NV18     X      PIX     0-7     0\n";

class Inputs : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::spill(fast_, kFast);
    testing::spill(slow_, kSlow);
    testing::spill(prose_, "Dear all,\nthe cluster is slow today.\n");
  }

  /// One line that names `about`, the status, nothing on stdout, nothing new in the folder.
  void expect_refused(const std::string& arguments, int status, const std::string& about) const {
    const auto before = std::distance(fs::directory_iterator(folder_.path()), {});
    for (const char* program : {SHUNT_PROGRAM, SHUNT_ANALYZE_PROGRAM}) {
      const Outcome outcome = run_command(fmt::format("{} {}", program, arguments));
      EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.err;
      EXPECT_EQ(outcome.out, "") << arguments;
      EXPECT_THAT(outcome.err, StartsWith(fs::path(program).filename().string() + ": "));
      EXPECT_THAT(outcome.err, HasSubstr(about)) << arguments;
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), before) << arguments;
  }
  [[nodiscard]] Outcome ok(const std::string& arguments, const std::string& before = "") const {
    Outcome outcome = run_command(fmt::format("{}{} {}", before, SHUNT_ANALYZE_PROGRAM, arguments));
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << arguments;
    return outcome;
  }
  [[nodiscard]] json report(const std::string& arguments, const std::string& before = "") const {
    json parsed = json::parse(ok(arguments + " --json", before).out, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << arguments;
    return parsed;
  }

  const testing::TemporaryDirectory folder_;
  const std::string fast_ = folder_.file("fast.log");
  const std::string slow_ = folder_.file("slow.log");
  const std::string prose_ = folder_.file("prose.txt");
  const std::string none_ = folder_.file("none.log");
};

TEST_F(Inputs, WhatCannotBeReadIsNamed) {
  expect_refused("analyze " + none_, 3, "none.log");
  expect_refused("analyze " + fast_ + " " + none_, 3, "none.log");
  expect_refused(fmt::format("analyze '{}/*.none'", folder_.path()), 3, "*.none");
  expect_refused("compare " + none_ + " " + fast_, 3, "none.log");
  expect_refused("compare " + fast_ + " " + none_, 3, "none.log");
  const std::string unreadable = fmt::format("analyze {}", "/proc/self/mem");
  if (fs::exists("/proc/self/mem")) expect_refused(unreadable, 3, "/proc/self/mem");
}

TEST_F(Inputs, AFileWithoutPermissionIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  fs::permissions(fast_, fs::perms::none);
  expect_refused("analyze " + fast_, 3, "fast.log");
}

TEST_F(Inputs, WhereNothingIsKnownTheFirstLineIsShown) {
  expect_refused("analyze " + prose_, 3, "line 1: Dear all,");
  expect_refused("compare " + prose_ + " " + fast_, 3, "prose.txt");
  const std::string empty = folder_.file("empty.log");
  testing::spill(empty, "");
  expect_refused("analyze " + empty, 3, "no text in it");
  fs::create_directory(folder_.file("empty"));
  expect_refused("analyze " + folder_.file("empty"), 3, "holds no files");
  fs::create_directory(folder_.file("letters"));
  testing::spill(folder_.file("letters") + "/a.txt", "Dear all,\n");
  testing::spill(folder_.file("letters") + "/b.txt", "Yours,\n");
  expect_refused("analyze " + folder_.file("letters"), 3, "nothing in 2 files");
}

TEST_F(Inputs, DamagedRunsAreNamed) {
  const std::string run = folder_.file("run");
  fs::create_directory(run);
  testing::spill(run + "/run.json", "{ \"schema\":");
  expect_refused("analyze " + run, 3, "run.json");
  expect_refused("compare " + run + " " + run, 3, "run.json");
  expect_refused("export " + run + " --perfetto " + folder_.file("t"), 3, "run.json");
}

TEST_F(Inputs, WrongOptionsAreNamedBeforeAnythingIsWritten) {
  expect_refused("analyze", 2, "INPUT");
  expect_refused("compare " + fast_, 2, "AFTER");
  expect_refused("compare - -", 2, "standard input");
  expect_refused("compare --json --md " + fast_ + " " + slow_, 2, "exclude");
  expect_refused("analyze " + fast_ + " --set speed=fast", 2, "speed");
  expect_refused("analyze " + fast_ + " --csv --table nothing", 2, "nothing");
  expect_refused("analyze " + fast_ + " --out " + folder_.file("t.svg"), 2, "run directory");
  expect_refused("analyze " + fast_ + " --html " + folder_.file("no/page.html"), 3, "page.html");
  expect_refused("analyze " + fast_ + " -o " + folder_.file("no/text"), 3, "no/text");
  expect_refused("compare " + fast_ + " " + slow_ + " --html " + folder_.path(), 2, "directory");
}

TEST_F(Inputs, StandardInputGlobsDirectoriesAndMixturesAreOneReport) {
  EXPECT_EQ(report("analyze -", fmt::format("cat {} | ", fast_)).at("title"),
            "DeepEP V1 internode");
  const std::string topo = folder_.file("topo.log");
  testing::spill(topo, kMatrix);
  for (const std::string& inputs :
       {fast_ + " " + topo, fmt::format("'{}/[ft]*.log'", folder_.path()), folder_.path()}) {
    const json mixed = report("analyze " + inputs);
    EXPECT_THAT(mixed.at("title").get<std::string>(), HasSubstr("nvidia-smi topo -m")) << inputs;
    EXPECT_EQ(mixed.at("topologies").size(), 1U) << inputs;
  }
}

TEST_F(Inputs, TheVerbMayBeLeftOutInFrontOfWhatIsThere) {
  const json want = report("analyze " + fast_);
  EXPECT_EQ(report(fast_), want);
  EXPECT_EQ(report("--set rate=400G " + fast_), report("analyze --set rate=400G " + fast_));
  EXPECT_EQ(report("--set=rate=400G " + fast_), report("analyze --set rate=400G " + fast_));
  EXPECT_EQ(report(fmt::format("'{}/fa*.log'", folder_.path())), want);
  EXPECT_EQ(report("-", fmt::format("cat {} | ", fast_)).at("tables"), want.at("tables"));
  EXPECT_THAT(ok(folder_.path()).out, HasSubstr("verdict: "));
  expect_refused(none_, 2, "no verb and no file, directory or pattern that matches one; verbs: ");
  expect_refused("'" + folder_.path() + "/x*.log'", 2, "verbs: ");
  expect_refused("analyse " + fast_, 2, "'analyse' is no verb");
  expect_refused("--fast " + fast_, 2, "unknown option '--fast'; verbs: ");
  expect_refused(prose_, 3, "prose.txt");
}

TEST_F(Inputs, AFileThatIsNamedTwiceCountsOnce) {
  const json once = report("analyze " + fast_);
  const json twice = report(fmt::format("analyze {0} {0} {1}/../{2}/fast.log",
                                        fast_,
                                        folder_.path(),
                                        fs::path(folder_.path()).filename().string()));
  EXPECT_EQ(twice.at("tables"), once.at("tables"));
}

TEST_F(Inputs, APageAndAFileAreWrittenWhole) {
  const std::string page = folder_.file("page.html");
  const std::string text = folder_.file("report.md");
  const Outcome outcome = ok("analyze " + fast_ + " --md --html " + page + " -o " + text);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(testing::slurp(text), StartsWith("### shunt analyze"));
  const testing::Markup markup = testing::read_markup(testing::slurp(page));
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(markup.text, HasSubstr("30.00 of 50.00 GB/s"));
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("part"))) << "left behind";
  }
}

TEST_F(Inputs, CompareTellsAHalvedRateInEveryForm) {
  const std::string both = "compare " + fast_ + " " + slow_;
  EXPECT_THAT(ok(both).out, HasSubstr("verdict: Worse"));
  EXPECT_THAT(ok(both + " --md").out, HasSubstr("### shunt compare"));
  const json told = report(both);
  EXPECT_EQ(told.at("kind"), "comparison");
  EXPECT_EQ(told.at("findings").at(0).at("id"), "runs-differ");
  EXPECT_NEAR(
      told.at("tables").at(0).at("rows").at(0).at("change_share").get<double>(), -0.5, 0.01);
  EXPECT_EQ(run_command(std::string(SHUNT_PROGRAM) + " " + both + " --fail-on-worse").status, 1);
  EXPECT_EQ(
      run_command(fmt::format("{} compare {} {} --fail-on-worse", SHUNT_PROGRAM, slow_, fast_))
          .status,
      0);
  EXPECT_EQ(report("compare --set rate=400G " + fast_ + " " + slow_),
            report("compare " + fast_ + " " + slow_ + " --set rate=400G"));
  expect_refused("compare " + fast_ + " " + slow_ + " --set rate=400G " + slow_, 2, "third");
  const Outcome piped = ok("compare - " + slow_, "cat " + fast_ + " | ");
  EXPECT_THAT(piped.out, HasSubstr("verdict: Worse"));
}

}  // namespace
}  // namespace shunt
