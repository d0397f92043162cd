// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Correctness on the device: every element of small dispatches and combines against the reference
// that the CPU tests use. in: World → out: names of the cases that passed, or the first failure.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

/// Collective, with at least so many progress threads a rank. Ragged token counts, empty slots,
/// skew, every row and wire type, overflow, several handles, rounds with random delays; at the end
/// a rank that stays away, which must end the others' waits.
[[nodiscard]] Result<std::vector<std::string>> run_checks(bootstrap::World& world,
                                                          int ranks_per_node,
                                                          int proxy_threads);

}  // namespace shunt::bench::gpu
