// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Descriptors handed to the node peers over Unix sockets: for memory that cannot be opened by a
// path, such as a device's.
#pragma once

#include <vector>

#include "base/fd.hpp"
#include "bootstrap/world.hpp"
#include "cluster/shape.hpp"
#include "shunt/result.hpp"

namespace shunt::memory {

/// Collective. Gives `own` to every node peer; returns the peers' by local index, all of them open
/// descriptors of this process (the own one is left out: invalid). Succeeds on all ranks or on
/// none. Errors: kTimeout naming a peer that sent nothing in 30 s; kSystem.
[[nodiscard]] Result<std::vector<UniqueFd>> share_fd(bootstrap::World& world,
                                                     const cluster::Shape& shape,
                                                     int own);

}  // namespace shunt::memory
