// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "gpu/wire.hpp"

namespace shunt::bench::gpu {

/// Launches nodes · ranks_per_node ranks, measures, prints a table and returns what was measured.
[[nodiscard]] Result<nlohmann::json> report_wire(int nodes,
                                                 int ranks_per_node,
                                                 int gpus,
                                                 const WireOptions& options);

}  // namespace shunt::bench::gpu
