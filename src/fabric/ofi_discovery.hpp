// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which provider and device. in: LibfabricOptions → out: one fi_info, or an error that says which
// requirement nothing on this machine meets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/libfabric_fabric.hpp"
#include "fabric/ofi.hpp"

namespace shunt::fabric::ofi {

[[nodiscard]] Result<UniqueInfo> discover(const LibfabricOptions& options);

/// Of a layered provider: the one below it, on the same device, for endpoints of messages that
/// write from and to memory of devices. Null if it offers no such thing.
[[nodiscard]] UniqueInfo discover_below(const fi_info& layered);

/// The options for one NIC: the name of a device or the address of an interface.
[[nodiscard]] LibfabricOptions on_nic(const std::string& nic, LibfabricOptions options);

/// Providers of this machine that could carry puts, addresses and devices aside.
[[nodiscard]] std::vector<std::string> usable_providers();

/// The provider names to try for a name that a user gives, in order.
[[nodiscard]] std::vector<std::string> candidates(std::string_view name);

}  // namespace shunt::fabric::ofi
