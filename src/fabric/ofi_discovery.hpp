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

/// Providers of this machine that could carry puts, addresses and devices aside.
[[nodiscard]] std::vector<std::string> usable_providers();

/// The provider names to try for a name that a user gives, in order.
[[nodiscard]] std::vector<std::string> candidates(std::string_view name);

}  // namespace shunt::fabric::ofi
