// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Several NICs as one fabric. in: one Fabric a NIC → out: a Fabric whose queue pair q runs on NIC
// q mod n, as that NIC's queue pair q / n. NIC k of a rank reaches NIC k of its peers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/fabric.hpp"

namespace shunt::fabric {

/// Of `qps` queue pairs striped over `nics` NICs, those of NIC `nic`.
[[nodiscard]] constexpr std::int32_t qps_of_nic(std::int32_t qps, int nics, int nic) {
  return (qps - nic + nics - 1) / nics;
}

/// `nics[k]` was made with qps_of_nic(qps, n, k) queue pairs, at least one. One NIC is returned as
/// it is. With several, wait() naps for 50 µs at most: one thread cannot sleep in two queues.
[[nodiscard]] Result<std::unique_ptr<Fabric>> stripe(std::vector<std::unique_ptr<Fabric>> nics,
                                                     std::int32_t qps);

}  // namespace shunt::fabric
