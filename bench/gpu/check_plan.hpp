// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

/// Collective. Plan, dispatch and combine, captured once and replayed with other ids and rows each
/// time.
[[nodiscard]] Status run_graph(bootstrap::World& world, int ranks_per_node, int proxy_threads);
/// Collective. One rank plans with an id that is not allowed: its error names it, and the others'
/// operations end.
[[nodiscard]] Status run_bad_id(bootstrap::World& world, int ranks_per_node, int proxy_threads);

}  // namespace shunt::bench::gpu
