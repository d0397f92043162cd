// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The verb bench from outside: what it refuses, what it leaves behind, what it finds.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
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
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::rows;
using testing::run_command;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

/// Runs bench with a TMPDIR of its own, which must be empty again afterwards.
class Bench : public ::testing::Test {
 protected:
  Outcome bench(const std::string& arguments, const std::string& before = "") const {
    const Outcome outcome = run_command(fmt::format(
        "{} env TMPDIR={} {} bench {}", before, scratch_.path(), SHUNT_PROGRAM, arguments));
    EXPECT_TRUE(fs::is_empty(scratch_.path())) << "bench " << arguments << " left files behind";
    return outcome;
  }

  void expect_refused(const std::string& arguments, int status, const std::string& about) const {
    const Outcome outcome = bench(arguments);
    EXPECT_EQ(outcome.status, status) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_THAT(outcome.err, StartsWith("shunt: ")) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(about)) << arguments;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  [[nodiscard]] json measured(const std::string& arguments) const {
    const Outcome outcome = bench(arguments + " --json");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    json report = json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(report.is_object()) << outcome.out;
    return report;
  }

  TemporaryDirectory scratch_;
  TemporaryDirectory elsewhere_;
};

std::vector<std::string> finding_ids(const json& report) {
  std::vector<std::string> ids;
  for (const json& finding : report.at("findings")) ids.push_back(finding.at("id"));
  return ids;
}

TEST_F(Bench, RefusesWhatIsNotAllowedInOneLine) {
  expect_refused("--speed 3", 2, "--speed");
  expect_refused("--hidden 7", 2, "--hidden 7 of bf16 makes rows of 14 bytes");
  expect_refused("--ranks 3 --nodes 2", 2, "--ranks 3 does not divide into --nodes 2");
  expect_refused("--nodes 0", 2, "--nodes 0");
  expect_refused("--experts 3", 2, "--experts 3 do not divide over 4 ranks");
  expect_refused("--topk 300", 2, "there are 256");
  expect_refused("--tokens -1", 2, "--tokens -1");
  expect_refused("--iters 0", 2, "--iters 0");
  expect_refused("--dtype int8", 2, "'int8'");
  expect_refused("--check --warmup 0", 2, "--warmup 1");
  expect_refused("--faults bogus", 2, "'bogus'");
  expect_refused("--fail-on sometimes", 2, "--fail-on");
  expect_refused("--chunk 0", 2, "at least 1");
  expect_refused("--credits 0 --tokens 8", 2, "at least 1");
  expect_refused("--qps 257 --tokens 8", 2, "qps 257");
  expect_refused("--proxy-threads 0 --tokens 8", 2, "proxy_threads 0");
  expect_refused("--proxy-threads 65 --tokens 8", 2, "1 to 64");
  expect_refused("--rdma-blocks 1025 --tokens 8", 2, "rdma_blocks 1025");
  expect_refused("--staging device --tokens 8", 2, "--staging device is of --device cuda");
  expect_refused("--staging nowhere --tokens 8", 2, "nowhere");
  expect_refused("--iters 2000000000", 2, "1 to 1000000000");
  expect_refused("--tokens 4 --tokens 5", 2, "--tokens is given more than once");
  expect_refused("--emulate-link", 2, "--emulate-link needs a value (RATE)");
  for (const char* deadline : {"0", "-1", "nan", "1e30"}) {
    expect_refused(fmt::format("--deadline={}", deadline), 2, "more than 0, at most 1000000000");
  }
}

TEST_F(Bench, RefusesRatesThatAreNone) {
  for (const char* rate : {"fast", "0Gbit", "-3Gbit", "12", "nan", "1Gbit/"}) {
    expect_refused(fmt::format("--emulate-link={}", rate), 2, fmt::format("'{}'", rate));
    expect_refused(fmt::format("--link-rate={}", rate), 2, fmt::format("'{}'", rate));
  }
  expect_refused("--emulate-link 1Gbit --nodes 1", 2, "one node has no link");
}

TEST_F(Bench, RefusesRoutingsAndSlowRanksThatAreNone) {
  expect_refused("--routing sideways", 2, "'sideways'");
  expect_refused("--routing file:" + elsewhere_.file("none.npy"), 3, "none.npy");
  testing::spill(elsewhere_.file("bad.npy"), "no numbers");
  expect_refused("--routing file:" + elsewhere_.file("bad.npy"), 2, "bad.npy");
  expect_refused("--slow-rank 1", 2, "RANK:MILLISECONDS");
  expect_refused("--slow-rank 4:30", 2, "ranks 0 to 3");
}

TEST_F(Bench, AMissingProviderIsNamedWithThoseThatAreThere) {
  expect_refused("--nodes 2 --ranks 2 --tokens 8 --provider nosuch", 4, "nosuch");
}

TEST_F(Bench, LeavesAForeignDirectoryAlone) {
  const std::string out = elsewhere_.path();
  testing::spill(out + "/thesis.txt", "years of work");
  expect_refused("--ranks 2 --nodes 1 --force --out " + out, 2, "thesis.txt");
  EXPECT_EQ(testing::slurp(out + "/thesis.txt"), "years of work");
  EXPECT_EQ(std::distance(fs::directory_iterator(out), fs::directory_iterator()), 1);
}

TEST_F(Bench, WithoutRootAnEmulatedLinkSaysWhatItNeeds) {
  std::string drop;
  if (::geteuid() == 0) {
    drop = "setpriv --reuid 65534 --regid 65534 --clear-groups --";
    // Through env, as below: setpriv itself still reaches what only root may.
    const std::string trial = fmt::format("{} env {} --version", drop, SHUNT_PROGRAM);
    if (run_command(trial).status != 0) {
      GTEST_SKIP() << "root cannot be dropped, or nobody cannot reach the program";
    }
  }
  const Outcome outcome = bench("--nodes 2 --ranks 2 --emulate-link 1Gbit", drop);
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("run as root"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(Bench, ACheckedRunPassesAndSaysSo) {
  const std::string out = elsewhere_.file("run");
  const json report = measured(
      "--nodes 2 --ranks 4 --tokens 32 --hidden 64 --iters 2 --warmup 1 --check --out " + out);
  EXPECT_EQ(report.at("schema"), "shunt.report/1");
  EXPECT_TRUE(report.at("findings").is_array());
  EXPECT_THAT(finding_ids(report), Not(Contains("wrong-data")));
  EXPECT_EQ(report.at("ledger").at("tokens"), 128);
  EXPECT_EQ(report.at("dropped_records"), 0);
  EXPECT_EQ(rows(report, "links").size(), 4U) << "two directions, dispatch and combine";
  const json run = json::parse(testing::slurp(out + "/run.json"));
  EXPECT_EQ(run.at("finished"), true);
  const json& correctness = run.at("correctness");
  EXPECT_EQ(correctness.at("checked"), true);
  EXPECT_EQ(correctness.at("dispatch_rows"), report.at("ledger").at("rank_copies"));
  EXPECT_EQ(correctness.at("dispatch_mismatches"), 0);
  EXPECT_EQ(correctness.at("combine_mismatches"), 0);
  // The run stays, and a second one does not overwrite it unasked.
  expect_refused("--ranks 2 --nodes 1 --out " + out, 2, "--force");
}

TEST_F(Bench, StripesOverTheNicsThatAreNamed) {
  const std::string out = elsewhere_.file("run");
  const json report = measured(
      "--nodes 2 --ranks 4 --tokens 40 --hidden 64 --iters 2 --chunk 4 --qps 4 --check --link-rate "
      "1Gbit --nic 127.0.0.1,127.0.0.2/127.0.0.3,127.0.0.1 --out " +
      out);
  const json config = json::parse(testing::slurp(out + "/run.json")).at("config");
  EXPECT_EQ(config.at("nics_per_node"), 3);
  for (const json& link : rows(report, "links")) EXPECT_EQ(link.at("qps_used"), 4) << link.dump();
  expect_refused("--nic eth0,,eth1 --qps 4", 2, "--nic 'eth0,,eth1'");
  expect_refused("--nic eth0/eth1,eth2 --qps 4", 2, "the same number for each");
  expect_refused("--nic eth0,eth1", 2, "--qps 1 has to be as many");
  expect_refused("--nic nosuch0 --tokens 8", 4, "NIC 'nosuch0'");
  expect_refused("--nic lo --emulate-link 1Gbit", 2, "--emulate-link makes its own");
  expect_refused("--emulate-nics 2", 2, "needs --emulate-link");
  expect_refused("--emulate-nics 0 --emulate-link 1Gbit", 2, "--emulate-nics 0");
  expect_refused("--emulate-nics 2 --emulate-link 1Gbit", 2, "--qps 1 has to be as many");
}

TEST_F(Bench, ProxyThreadsShareTheOtherNodesOnEveryNic) {
  const std::string out = elsewhere_.file("run");
  const json report = measured(
      "--nodes 4 --ranks 4 --tokens 40 --hidden 64 --iters 2 --chunk 4 --qps 2 --check "
      "--proxy-threads 2 --faults hold_puts=3,duplicate_arrival=0.2 --nic 127.0.0.1,127.0.0.2 "
      "--out " +
      out);
  EXPECT_EQ(report.at("context").at("proxy_threads"), 2);
  const std::vector<json> threads = rows(report, "progress");
  ASSERT_EQ(threads.size(), 8U);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    EXPECT_EQ(threads[i].at("rank"), i / 2);
    EXPECT_EQ(threads[i].at("thread"), i % 2);
    EXPECT_GT(threads[i].at("descriptors"), 0);
  }
  const json correctness = json::parse(testing::slurp(out + "/run.json")).at("correctness");
  EXPECT_EQ(correctness.at("checked"), true);
  EXPECT_EQ(correctness.at("dispatch_mismatches"), 0);
  EXPECT_EQ(correctness.at("combine_mismatches"), 0);
  // One other node is served by one thread.
  const json two =
      measured("--nodes 2 --ranks 2 --tokens 8 --hidden 64 --iters 1 --proxy-threads 5");
  EXPECT_EQ(two.at("context").at("proxy_threads"), 1);
  EXPECT_EQ(rows(two, "progress").size(), 2U);
}

TEST_F(Bench, ASlowRankIsNamed) {
  const json report =
      measured("--nodes 2 --ranks 4 --tokens 64 --hidden 64 --iters 4 --slow-rank 1:60");
  bool named = false;
  for (const json& finding : report.at("findings")) {
    const std::string id = finding.at("id");
    const std::string sentence = finding.at("sentence");
    named |= (id == "skew" || id == "slow-rank") && sentence.find("rank 1 ") != std::string::npos;
  }
  EXPECT_TRUE(named) << report.at("findings").dump(1);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", parent));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

TEST_F(Bench, ARankThatIsKilledIsNamedAndEndsTheRun) {
  if (!fs::exists("/proc/self/task/" + std::to_string(::getpid()) + "/children")) {
    GTEST_SKIP() << "this kernel does not list children";
  }
  const std::string out = elsewhere_.file("run");
  const std::string err = elsewhere_.file("err");
  const pid_t launcher = ::fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    if (std::freopen(err.c_str(), "w", stderr) == nullptr) ::_exit(99);
    ::execl(SHUNT_PROGRAM,
            SHUNT_PROGRAM,
            "bench",
            "--nodes",
            "2",
            "--ranks",
            "4",
            "--tokens",
            "16",
            "--hidden",
            "64",
            "--iters",
            "20000",
            "--out",
            out.c_str(),
            nullptr);
    ::_exit(99);
  }
  // In mid-run: all ranks have drained records of operations.
  const auto running = [&] {
    std::error_code none;
    for (int rank = 0; rank < 4; ++rank) {
      const auto size = fs::file_size(fmt::format("{}/rank-{:05}.rec", out, rank), none);
      if (none || size < 4096) return false;
    }
    return true;
  };
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!running() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  const std::vector<pid_t> ranks = children_of(launcher);
  EXPECT_EQ(ranks.size(), 4U);
  ::kill(ranks.size() == 4 ? ranks[2] : launcher, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(launcher, &status, 0), launcher);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_THAT(testing::slurp(err), HasSubstr("rank 2: killed by signal 9"));
  for (const pid_t rank : ranks) EXPECT_NE(::kill(rank, 0), 0) << "rank " << rank << " lives on";
}

/// With links of a known rate, in network namespaces.
class EmulatedBench : public Bench {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to create network namespaces";
    const Outcome trial =
        bench("--nodes 2 --ranks 2 --emulate-link 1Gbit --tokens 1 --hidden 64 --iters 1");
    if (trial.status == 4) GTEST_SKIP() << trial.err;
  }
};

TEST_F(EmulatedBench, ALargeBatchFillsTheLinkAndTheCounterAgrees) {
  const json report = measured(
      "--nodes 2 --ranks 4 --emulate-link 100Mbit --tokens 256 --hidden 1024 --iters 4 --warmup 1 "
      "--check");
  EXPECT_THAT(finding_ids(report), Contains("saturated"));
  EXPECT_THAT(finding_ids(report), Not(Contains("small-messages")));
  for (const json& link : rows(report, "links")) {
    EXPECT_GE(link.at("utilisation_share").get<double>(), 0.9) << link.dump();
    EXPECT_LE(link.at("utilisation_share").get<double>(), 1.0) << link.dump();
  }
  EXPECT_EQ(rows(report, "counters").size(), 2U);
  for (const json& counter : rows(report, "counters")) {
    EXPECT_LE(std::abs(counter.at("difference_share").get<double>()), 0.02) << counter.dump();
  }
}

TEST_F(EmulatedBench, SendersThatMeetAtOneReceiverFillItsLinkAndTheCountersAgree) {
  const json report = measured(
      "--nodes 3 --ranks 3 --routing all-to-one --experts 3 --topk 1 --tokens 256 --hidden 1024 "
      "--emulate-link 100Mbit --iters 3 --warmup 1");
  EXPECT_THAT(finding_ids(report), Contains("saturated"));
  EXPECT_THAT(finding_ids(report), Not(Contains("underused")));
  EXPECT_THAT(finding_ids(report), Not(Contains("counters-disagree")));
  bool full = false;
  for (const json& link : rows(report, "links")) {
    full |= link.at("link") == "others → node 0" && link.at("utilisation_share") >= 0.85;
  }
  EXPECT_TRUE(full) << rows(report, "links").dump(1);
}

TEST_F(EmulatedBench, SeveralNicsShareTheLoadAndEachIsSeen) {
  const std::string out = elsewhere_.file("run");
  const json report = measured(
      "--nodes 2 --ranks 4 --emulate-link 50Mbit --emulate-nics 2 --qps 4 --tokens 256 --hidden "
      "1024 --chunk 8 --iters 3 --warmup 1 --check --out " +
      out);
  const json config = json::parse(testing::slurp(out + "/run.json")).at("config");
  EXPECT_EQ(config.at("nics_per_node"), 2);
  const json& nics = rows(report, "nics");
  ASSERT_EQ(nics.size(), 2U * 2U * 2U) << "operations, links, NICs";
  for (std::size_t i = 0; i < nics.size(); i += 2) {
    const double first = nics[i].at("bytes_p50_bytes");
    const double second = nics[i + 1].at("bytes_p50_bytes");
    EXPECT_NEAR(first / (first + second), 0.5, 0.1) << nics[i].dump();
    for (const json& nic : {nics[i], nics[i + 1]}) {
      EXPECT_GE(nic.at("utilisation_share").get<double>(), 0.75) << nic.dump();
      EXPECT_LE(nic.at("utilisation_share").get<double>(), 1.0) << nic.dump();
    }
  }
  for (const json& link : rows(report, "links")) {
    EXPECT_GE(link.at("utilisation_share").get<double>(), 0.75) << link.dump();
    EXPECT_EQ(link.at("qps_used"), 4);
  }
  for (const json& counter : rows(report, "counters")) {
    EXPECT_LE(std::abs(counter.at("difference_share").get<double>()), 0.02) << counter.dump();
  }
}

TEST_F(EmulatedBench, ALongRunKeepsFewRecordsAndStillAccountsForEveryByte) {
  const std::string out = elsewhere_.file("run");
  const json report = measured(
      "--nodes 2 --ranks 2 --emulate-link 1Gbit --tokens 1 --hidden 8 --topk 1 --experts 2 "
      "--iters 2001 --out " +
      out);
  EXPECT_EQ(rows(report, "dispatch_phases").at(0).at("samples"), 2 * 1001);
  for (const json& counter : rows(report, "counters")) {
    EXPECT_LE(std::abs(counter.at("difference_share").get<double>()), 0.02) << counter.dump();
  }
  EXPECT_THAT(finding_ids(report), Not(Contains("counters-disagree")));
  const json run = json::parse(testing::slurp(out + "/run.json"));
  EXPECT_EQ(run.at("config").at("recorded_every"), 2);
  EXPECT_EQ(run.at("operations").size(), 2U * (2 + 1001));
  EXPECT_EQ(run.at("operations").at(8).at("op"), 12) << "iteration 2 is the second one kept";
}

TEST_F(EmulatedBench, ATinyBatchIsToldApartFromAFullLink) {
  const json report = measured(
      "--nodes 2 --ranks 4 --emulate-link 100Mbit --tokens 2 --hidden 1024 --iters 4 --warmup 1");
  EXPECT_THAT(finding_ids(report), Contains("small-messages"));
  EXPECT_THAT(finding_ids(report), Not(Contains("saturated")));
}

}  // namespace
}  // namespace shunt
