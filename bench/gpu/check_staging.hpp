// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

/// Collective; nothing in a world of one node. What is chosen by itself over tcp, and what is said
/// where the device is asked for and cannot be; then every element of operations whose slots lie on
/// the device, carried by copies (bounce_fabric.hpp), and the records of their arrivals.
[[nodiscard]] Status run_staging(bootstrap::World& world,
                                 int ranks_per_node,
                                 std::vector<std::string>* passed);

}  // namespace shunt::bench::gpu
