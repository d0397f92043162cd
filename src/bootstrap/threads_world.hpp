// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A world whose ranks are threads of this process: for tests, sanitizers and examples.
#pragma once

#include <cstdint>
#include <functional>

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// What one rank does. The World is valid during the call and on its thread only.
using RankFunction = std::function<Status(World&)>;

/// Runs `rank_main` as `ranks` ranks, each on a thread of its own, and returns when all have
/// returned. `deadline_ns` bounds every single World call, not the run.
///
/// A rank that returns leaves the world: calls of the others that need it then fail with kPeerLost,
/// which names it and, if it failed, why. Returns the first failure, a cause before its
/// consequences, as "rank 2: <message>". An exception that leaves `rank_main` counts as a failure.
[[nodiscard]] Status run_threads(int ranks,
                                 std::uint64_t deadline_ns,
                                 const RankFunction& rank_main);

}  // namespace shunt::bootstrap
