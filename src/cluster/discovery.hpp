// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// GPUs and NICs of this machine. in: sysfs (any root, so that a tree of files can stand for a
// machine) and NVML if it can be loaded → out: Topology. Reads only; needs no privilege.
#pragma once

#include <string>

#include "cluster/topology.hpp"
#include "shunt/result.hpp"

namespace shunt::cluster {

struct DiscoveryOptions {
  std::string root = "/";  ///< Directory that holds sys/.
  bool nvml = true;        ///< Ask NVML for names and NVLinks; only with root "/".
};

/// Devices in PCI address order (GPUs) and name order (NICs), paths from the PCI tree, xGMI from
/// the kfd driver, NVLinks from NVML. What could not be asked is in Topology::gaps. Fails if there
/// is no sysfs under the root.
[[nodiscard]] Result<Topology> discover(const DiscoveryOptions& options = {});

/// Path between two devices whose resolved sysfs paths are given ("/sys/devices/pci0000:16/…").
[[nodiscard]] PathKind pci_path(const std::string& a, const std::string& b, bool same_numa);

/// Fills in models, UUIDs and NVLinks from NVML, matching by PCI address; a gap if NVML is absent
/// or too old. Called by discover().
void add_nvlinks(Topology& topology);

}  // namespace shunt::cluster
