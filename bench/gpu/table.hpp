// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the timings say. in: the samples of all ranks, as JSON → out: a line of the table and its
// JSON, for dispatch and for combine.
#pragma once

#include <cstddef>
#include <vector>

#include <nlohmann/json.hpp>

namespace shunt::bench::gpu {

void print_heading();

/// Prints the line of one timing; `what` is "dispatch" or "combine", `ranks` what each rank
/// returned.
[[nodiscard]] nlohmann::json report_line(const std::vector<nlohmann::json>& ranks,
                                         std::size_t timing,
                                         const char* what,
                                         int gpus);

}  // namespace shunt::bench::gpu
