// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which NIC serves which GPU. in: Topology → out: Pairing. Pure.
#pragma once

#include <cstddef>
#include <map>
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
};

/// Assigns each GPU one of its nearest NICs so that as few as possible share one (a maximum
/// matching; what is left goes to the least used), lower indices first. NICs that are known to be
/// down are left out.
[[nodiscard]] Pairing pair_nics(const Topology& topology);

/// GPUs on NICs by a pairing. Far GPUs count only where all are far: else they can send through a
/// near one's NIC.
struct NicUse {
  std::map<std::size_t, std::vector<std::size_t>> users;  ///< NIC → GPUs, at least one each.
  bool all_far = false;  ///< No GPU has a near NIC (and some have one at all).
  std::size_t gpus = 0;  ///< With a NIC, near or far.

  /// Most GPUs on one NIC.
  [[nodiscard]] std::size_t most() const;
};
[[nodiscard]] NicUse nic_use(const Pairing& pairing);

/// A GPU for which "NIC i for GPU i" would pick a far NIC while a near one is there.
struct IndexTrap {
  const GpuNics* gpu = nullptr;  ///< Into the pairing.
  std::size_t nic = 0;           ///< What the index picks.
  PathKind kind = PathKind::kUnknown;
};
[[nodiscard]] std::vector<IndexTrap> index_traps(const Topology& topology, const Pairing& pairing);

}  // namespace shunt::cluster
