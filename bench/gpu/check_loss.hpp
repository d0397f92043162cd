// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shunt/result.hpp"

namespace shunt::bench::gpu {

/// Launches `ranks` processes, the last of which is killed between two operations: every other must
/// end its next operation with an error within its deadline. Returns what the others said.
[[nodiscard]] Result<std::string> run_loss(int ranks,
                                           int ranks_per_node,
                                           int gpus,
                                           int proxy_threads);

}  // namespace shunt::bench::gpu
