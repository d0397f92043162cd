// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes one rank's routing. in: RoutingSpec, sizes, seed, rank → out: Routing. called from: bench,
// engine tests, tuner.
#pragma once

#include <cstdint>

#include "routing/routing.hpp"
#include "routing/spec.hpp"
#include "shunt/result.hpp"

namespace shunt::routing {

/// The routing of `rank`: `tokens` ≥ 0 rows of `topk` distinct experts out of `experts`, −1 where a
/// slot is empty. Weights are positive and sum to 1 over a token's valid slots, 0 in empty ones;
/// those of a recorded file are taken as they are.
///
/// A function of its arguments (and the file) alone: bit for bit the same on every platform, in any
/// order of ranks. Refuses sizes that the pattern cannot fill.
[[nodiscard]] Result<Routing> generate(const RoutingSpec& spec,
                                       std::int64_t tokens,
                                       int topk,
                                       int experts,
                                       std::uint64_t seed,
                                       int rank);

}  // namespace shunt::routing
