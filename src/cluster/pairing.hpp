// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which NIC serves which GPU. in: Topology → out: Pairing. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cluster/topology.hpp"

namespace shunt::cluster {

struct GpuNics {
  std::size_t gpu = 0;                  ///< Index into Topology::devices, like all below.
  PathKind kind = PathKind::kUnknown;   ///< Of its nearest NICs; unknown if its row is cut.
  std::vector<std::size_t> nearest;     ///< All NICs at that distance.
  std::optional<std::size_t> assigned;  ///< One of nearest; shared only where it must be.
};

struct Pairing {
  std::vector<GpuNics> gpus;
  std::vector<std::size_t> spare;  ///< NICs that serve no GPU.

  /// GPUs assigned to `nic`.
  [[nodiscard]] std::vector<std::size_t> users_of(std::size_t nic) const;
  /// Most GPUs on one NIC; 0 without an assignment.
  [[nodiscard]] std::size_t most_users() const;
};

/// Assigns each GPU one of its nearest NICs so that as few as possible share one (a maximum
/// matching; what is left goes to the least used), lower indices first. NICs that are known to be
/// down are left out.
[[nodiscard]] Pairing pair_nics(const Topology& topology);

}  // namespace shunt::cluster
