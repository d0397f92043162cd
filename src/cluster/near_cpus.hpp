// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the progress threads of a device run. in: PCI address, sysfs → out: CPUs near it.
#pragma once

#include <string>
#include <string_view>

#include "base/cpus.hpp"
#include "shunt/result.hpp"

namespace shunt::cluster {

/// The CPUs of `allowed` that are near the device at a PCI address ("0000:3B:00.0", in either
/// case), by sysfs below `root`. At least two, so that the thread is not tied to one that something
/// else keeps busy: with fewer, or where sysfs does not say, an error that tells why.
[[nodiscard]] Result<Cpus> near_cpus(std::string_view pci,
                                     const Cpus& allowed,
                                     const std::string& root = "/");

}  // namespace shunt::cluster
