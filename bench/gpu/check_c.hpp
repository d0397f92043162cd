// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

/// Collective. The interface for C on devices: wrong arguments refused; planned on the host,
/// planned on the device and replayed from a graph, every row and sum against the reference.
[[nodiscard]] Status run_c(bootstrap::World& world, int ranks_per_node, int proxy_threads);

}  // namespace shunt::bench::gpu
