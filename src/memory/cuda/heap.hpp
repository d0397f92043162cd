// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A heap in device memory. in: World, shape, size, kind → out: Heap whose windows map the node
// peers' memory.
#pragma once

#include <memory>

#include "memory/heap.hpp"
#include "shunt/device.hpp"

namespace shunt::memory::cuda {

/// Collective; succeeds on all ranks or on none. The calling thread's current device holds the
/// heap; devices of one node must reach each other (peer access is switched on here).
///
/// Destruction is local. REQUIRES: no kernel of any node peer touches this heap any more, so a
/// barrier stands before it. `kind`, on all ranks alike: kVirtual hands a descriptor to the node
/// peers over a Unix socket.
[[nodiscard]] Result<std::unique_ptr<Heap>> create_heap(bootstrap::World& world,
                                                        const cluster::Shape& shape,
                                                        std::size_t bytes,
                                                        HeapKind kind = HeapKind::kAllocated);

}  // namespace shunt::memory::cuda
