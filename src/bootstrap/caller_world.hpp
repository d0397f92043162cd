// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A world whose ranks the caller has started and connected: all that is needed of it is one
// all-gather, such as torch.distributed's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// Collective: every rank passes `mine`, of one size on all ranks and at least 1 byte, and gets all
/// ranks' bytes in rank order in `all` (World::size() · mine.size() bytes). Called on the thread
/// that calls the World; bounding its duration is the caller's matter.
using AllGatherFunction =
    std::function<Status(std::span<const std::byte> mine, std::span<std::byte> all)>;

/// The same for C: returns 0 on success. `context` is passed through.
using AllGatherCallback = int (*)(void* context, const void* mine, std::size_t bytes, void* all);

/// World::kind() is "caller". A failed call is final: later ones return its error at once.
[[nodiscard]] Result<std::unique_ptr<World>> caller_world(int rank,
                                                          int size,
                                                          AllGatherFunction all_gather);
[[nodiscard]] Result<std::unique_ptr<World>> caller_world(int rank,
                                                          int size,
                                                          AllGatherCallback all_gather,
                                                          void* context);

}  // namespace shunt::bootstrap
