// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// `mpirun -n 8 shunt bench --ranks-per-node 4` under every MPI of this machine.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/command.hpp"
#include "support/report_json.hpp"
#include "support/temporary_directory.hpp"

namespace shunt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::rows;
using testing::run_command;
using testing::TemporaryDirectory;

struct Mpi {
  std::string name;
  std::string launcher;
  std::string program;  ///< shunt, linked with it.
};

/// "name|launcher|program;…", as CMake gives it.
std::vector<Mpi> mpis() {
  std::vector<Mpi> found;
  std::istringstream list(SHUNT_MPI_PROGRAMS);
  for (std::string entry; std::getline(list, entry, ';');) {
    std::istringstream parts(entry);
    Mpi mpi;
    std::getline(parts, mpi.name, '|');
    std::getline(parts, mpi.launcher, '|');
    std::getline(parts, mpi.program, '|');
    found.push_back(mpi);
  }
  if (found.empty()) found.push_back({"none", "", ""});
  return found;
}

class Mpirun : public ::testing::TestWithParam<Mpi> {
 protected:
  void SetUp() override {
    if (GetParam().launcher.empty()) {
      GTEST_SKIP() << "built without MPI (Debian: libopenmpi-dev or libmpich-dev)";
    }
    if (::access(GetParam().launcher.c_str(), X_OK) != 0) {
      GTEST_SKIP() << GetParam().launcher << " is not there any more";
    }
  }

  /// With a TMPDIR of its own, where shunt must leave nothing.
  [[nodiscard]] Outcome bench(int ranks, const std::string& arguments) const {
    // Open MPI refuses root and more ranks than cores unless told otherwise.
    std::string extra;
    if (GetParam().name == "openmpi") {
      extra = "--oversubscribe --bind-to none";
      if (::geteuid() == 0) extra += " --allow-run-as-root";
    }
    Outcome outcome = run_command(fmt::format("env TMPDIR={} {} {} -n {} {} bench {}",
                                              scratch_.path(),
                                              GetParam().launcher,
                                              extra,
                                              ranks,
                                              GetParam().program,
                                              arguments));
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      EXPECT_EQ(entry.path().filename().string().rfind("shunt", 0), std::string::npos)
          << entry.path() << " was left behind";
    }
    return outcome;
  }

  TemporaryDirectory scratch_;
};

TEST_P(Mpirun, EightRanksOfTwoNodesDeliverWhatTheReferenceSays) {
  const Outcome outcome = bench(8, "--ranks-per-node 4 --tokens 65 --iters 2 --check --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << outcome.out;
  EXPECT_EQ(report["context"]["launcher"], "mpi");
  EXPECT_EQ(report["context"]["ranks"], 8);
  EXPECT_EQ(report["context"]["nodes"], 2);
  EXPECT_EQ(report["dropped_records"], 0);
  const json& checks = rows(report, "correctness");
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0]["outcome"], "ok");
  EXPECT_GT(checks[0]["rows"], 8 * 65);
  EXPECT_EQ(checks[0]["mismatches"], 0);
  EXPECT_EQ(checks[1]["outcome"], "ok");
  ASSERT_EQ(report["operations"].size(), 2U);
  for (const json& operation : report["operations"]) {
    EXPECT_EQ(operation["iterations"], 2);
    EXPECT_GT(operation["min_ns"], 0);
  }
}

TEST_P(Mpirun, OneNodeNeedsNoRanksPerNode) {
  const Outcome outcome = bench(3, "--experts 6 --topk 4 --tokens 5 --iters 1 --check --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << outcome.out;
  EXPECT_EQ(report["context"]["nodes"], 1);
  EXPECT_EQ(rows(report, "correctness")[0]["outcome"], "ok");
}

TEST_P(Mpirun, WhatAllRanksRefuseIsSaidOnce) {
  const struct {
    const char* arguments;
    int status;
    const char* about;
  } cases[] = {{"--ranks-per-node 3", 2, "4 ranks do not divide into nodes of 3"},
               {"--tokens -1", 2, "--tokens -1"},
               {"--emulate-link 1Gbit", 2, "run without mpirun"},
               {"--out /dev/null/run", 3, "/dev/null/run"}};
  for (const auto& one : cases) {
    const Outcome outcome = bench(4, one.arguments);
    EXPECT_EQ(outcome.status, one.status) << one.arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(one.about));
    int lines = 0;
    std::istringstream err(outcome.err);
    for (std::string line; std::getline(err, line);) lines += line.rfind("shunt: ", 0) == 0;
    EXPECT_EQ(lines, 1) << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Under, Mpirun, ::testing::ValuesIn(mpis()), [](const auto& test) {
  return test.param.name;
});

}  // namespace
}  // namespace shunt
