// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Own launch on this machine: the ranks are processes forked from here, and meet through here.
// in: number of ranks and what each does → out: how each of them ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

struct LaunchOptions {
  int ranks = 1;
  /// Bounds every single World call.
  std::uint64_t deadline_ns = 30'000'000'000;
  /// After the first failure: time for the others to end by themselves before SIGTERM, and as much
  /// again before SIGKILL.
  std::uint64_t grace_ns = 3'000'000'000;
  /// Called in the rank's own process before anything else, such as EmulatedNodes::enter.
  std::function<Status(int rank)> on_start;
};

/// How one rank ended.
struct RankOutcome {
  std::optional<Error> error;  ///< None: it returned a result.
  int signal = 0;              ///< That killed it, 0 if none did.
  bool stopped = false;        ///< Ended by the launch, because another had failed.
  std::vector<std::byte> result;
};

struct LaunchOutcome {
  std::vector<RankOutcome> ranks;
  /// The first failure, a cause before its consequences: "rank 3: killed by signal 9 (Killed)
  /// before it had finished".
  Status status;
  /// SIGINT, SIGTERM or SIGHUP if that ended the launch, else 0.
  int interrupted_by = 0;
};

/// What one rank does in its process; the bytes it returns reach LaunchOutcome::ranks.
using ProcessFunction = std::function<Result<std::vector<std::byte>>(World&)>;

/// Forks the ranks, serves their World calls and returns when all are gone. Fails only where the
/// ranks could not be started; what became of them is in the outcome.
///
/// REQUIRES that no other thread of this process holds locks that a rank needs: call it before
/// starting threads. Blocks SIGINT, SIGTERM and SIGHUP meanwhile; one of them ends all ranks.
///
/// A rank: World::kind() is "local"; stdin is empty and stdout goes to stderr, so that nothing
/// mixes with the parent's output; it dies with the parent, whatever kills that. A rank that dies
/// or fails ends the others' World calls with kPeerLost naming it.
[[nodiscard]] Result<LaunchOutcome> launch_local(const LaunchOptions& options,
                                                 const ProcessFunction& rank_main);

}  // namespace shunt::bootstrap
