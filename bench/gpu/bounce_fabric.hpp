// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A fabric that carries device memory without a NIC that reaches it: what leaves or has arrived is
// copied through pinned memory of the host. For checks of staging on the device; it says nothing
// of speed. in: a fabric for host memory, the layout → out: Fabric for two regions, the second on
// the device. Its copies run on a stream of their own, beside kernels that wait for them.
#pragma once

#include <memory>

#include "fabric/fabric.hpp"
#include "memory/layout.hpp"

namespace shunt::bench::gpu {

/// On the calling thread's current device.
[[nodiscard]] Result<std::unique_ptr<fabric::Fabric>> bounce(std::unique_ptr<fabric::Fabric> inner,
                                                             const memory::Layout& layout);

}  // namespace shunt::bench::gpu
