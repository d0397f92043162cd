// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a device records of its operations, checked against itself. in: World → out: Status.
#pragma once

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

/// Spans lie inside those that they belong to, phases of a block follow one another, and sums and
/// copies inside the node have the bytes of the plan.
[[nodiscard]] Status run_spans(bootstrap::World& world, int ranks_per_node, int proxy_threads);

}  // namespace shunt::bench::gpu
