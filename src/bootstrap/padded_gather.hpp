// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Blobs of different sizes over an all-gather that wants equal ones: sizes first, then the bytes,
// padded to the largest.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "bootstrap/names.hpp"
#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// An all-gather of equal parts; see AllGatherFunction.
using EqualGather =
    std::function<Status(std::span<const std::byte> mine, std::span<std::byte> all)>;

/// One call of a World. Calls `gather` once where nobody has bytes, else twice. kProtocol where the
/// ranks make different calls, or where this rank's part does not come back at its own place.
[[nodiscard]] Result<Blobs> padded_gather(
    int rank, int size, Call call, std::span<const std::byte> mine, const EqualGather& gather);

}  // namespace shunt::bootstrap
