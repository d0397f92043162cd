// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A heap in device memory. in: World, shape, size → out: Heap whose windows are CUDA IPC mappings
// between processes, plain (peer) pointers between the threads of one.
#pragma once

#include <memory>

#include "memory/heap.hpp"

namespace shunt::memory::cuda {

/// Collective; succeeds on all ranks or on none. The calling thread's current device holds the
/// heap; devices of one node must reach each other (peer access is switched on here).
///
/// Destruction is local. REQUIRES: no kernel of any node peer touches this heap any more, so a
/// barrier stands before it.
[[nodiscard]] Result<std::unique_ptr<Heap>> create_heap(bootstrap::World& world,
                                                        const cluster::Shape& shape,
                                                        std::size_t bytes);

}  // namespace shunt::memory::cuda
