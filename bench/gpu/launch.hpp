// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

/// Runs `rank_main` in `ranks` processes, on the first `gpus` devices in turn; what each returns,
/// by rank.
[[nodiscard]] Result<std::vector<nlohmann::json>> launch_ranks(
    int ranks, int gpus, const std::function<Result<nlohmann::json>(bootstrap::World&)>& rank_main);

}  // namespace shunt::bench::gpu
