// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where progress threads run, as the kernel tells.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpus.hpp"
#include "engine/buffer_state.hpp"
#include "support/mock_world.hpp"

namespace shunt {
namespace {

std::string after(const std::filesystem::path& path, const std::string& begin) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(begin, 0) == 0) return line.substr(line.find_first_not_of(" \t", begin.size()));
  }
  return "";
}

/// The CPUs of this process's progress threads of that number, one entry a thread.
std::vector<std::string> cpus_of_progress_threads(int number = 0) {
  std::vector<std::string> cpus;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (after(task.path() / "comm", "shunt-prog-") != std::to_string(number)) continue;
    cpus.push_back(after(task.path() / "status", "Cpus_allowed_list:"));
  }
  return cpus;
}

/// Those of a Buffer of one rank, once its thread is in its place.
std::vector<std::string> run(const Cpus& cpus) {
  std::vector<std::string> found;
  const Status status = World::run_threads(1, [&](World& world) -> Status {
    engine::BufferHooks hooks;
    hooks.progress_cpus = cpus;
    auto buffer = engine::BufferState::create(
        world.impl(), {.experts = 1, .topk = 1, .hidden = 8, .max_tokens = 1}, hooks);
    if (!buffer) return Unexpected(buffer.error());
    while (found.empty()) found = cpus_of_progress_threads();
    return {};
  });
  EXPECT_TRUE(status) << status.error().to_string();
  return found;
}

TEST(ProgressThread, StaysOnTheCpusThatItIsGiven) {
  const Cpus allowed = *allowed_cpus();
  const Cpus last = {allowed.back()};
  EXPECT_THAT(run(last), ::testing::ElementsAre(format_cpus(last)));
}

TEST(ProgressThread, RunsWhereItsCreatorMayOtherwise) {
  EXPECT_THAT(run({}), ::testing::ElementsAre(format_cpus(*allowed_cpus())));
}

TEST(ProgressThread, AllOfARankStayThere) {
  const Cpus last = {allowed_cpus()->back()};
  const testing::WorldCase c{.world = 3, .experts = 3, .ids = {{}, {}, {}}};
  testing::Rules rules;
  rules.tune = [](BufferOptions& o) { o.proxy_threads = 2; };
  rules.hook = [&](int, engine::BufferHooks& hooks) { hooks.progress_cpus = last; };
  const Status status = testing::run_world(
      c, rules, [&](engine::BufferState& state, bootstrap::World& world) -> Status {
        for (int number = 0; state.rank() == 0 && number < 2; ++number) {
          std::vector<std::string> found;
          while (found.size() < 3) found = cpus_of_progress_threads(number);
          EXPECT_THAT(found, ::testing::Each(format_cpus(last)));
        }
        return world.barrier();
      });
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(ProgressThread, RunsOnWhereTheCpusAreNotThere) {
  EXPECT_THAT(run({60000}), ::testing::ElementsAre(format_cpus(*allowed_cpus())));
}

}  // namespace
}  // namespace shunt
