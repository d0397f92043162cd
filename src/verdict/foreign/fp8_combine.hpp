// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "logs/evidence.hpp"

namespace shunt::verdict::foreign {

/// HybridEP since 2026-03-31 divides combine's RDMA by dispatch's FP8-scaled bytes although combine
/// moves bf16. The dispatch whose bytes `combine` uses, proved by the printed bytes or, on kernel
/// lines, by the rates' ratio; nullptr if it uses its own.
[[nodiscard]] const logs::Sample* fp8_dispatch_of(const logs::Evidence& evidence,
                                                  const logs::Sample& combine);

}  // namespace shunt::verdict::foreign
