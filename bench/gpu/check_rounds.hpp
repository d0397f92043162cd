// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/check_case.hpp"

namespace shunt::bench::gpu {

/// Two handles with routings of their own, their operations interleaved, every element compared.
[[nodiscard]] Status run_rounds(engine::cuda::Buffer& buffer,
                                const Case& c,
                                const WorldCase& first,
                                const WorldCase& second);

}  // namespace shunt::bench::gpu
