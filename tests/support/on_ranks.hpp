// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks that run in ranks, which are processes, and come back as their errors.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "bootstrap/launch.hpp"

namespace shunt::testing {

[[nodiscard]] inline bootstrap::LaunchOptions launch_options(int ranks) {
  bootstrap::LaunchOptions made;
  made.ranks = ranks;
  made.deadline_ns = 60'000'000'000;
  return made;
}

/// Launches ranks and returns the first failure.
[[nodiscard]] inline Status on_ranks(int ranks,
                                     const std::function<Status(bootstrap::World&)>& rank_main) {
  using Bytes = std::vector<std::byte>;
  const auto outcome = bootstrap::launch_local(
      launch_options(ranks), [&rank_main](bootstrap::World& world) -> Result<Bytes> {
        if (Status done = rank_main(world); !done) return Unexpected(std::move(done).error());
        return Bytes{};
      });
  if (!outcome) return Unexpected(outcome.error());
  return outcome->status;
}

}  // namespace shunt::testing
