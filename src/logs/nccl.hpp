// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the text and the JSON reader of nccl-tests.
#pragma once

#include <string_view>

#include "logs/evidence.hpp"

namespace shunt::logs {

[[nodiscard]] double nccl_type_bytes(std::string_view name);
/// "…/alltoall_perf -b 8" → kAllToAll.
[[nodiscard]] Operation operation_of_program(std::string_view text);
/// Which collective a sweep is of: busbw/algbw, the count column, then the program's name. REQUIRES
/// at least one row.
[[nodiscard]] Operation infer_collective(const Sweep& sweep, Operation named);

}  // namespace shunt::logs
