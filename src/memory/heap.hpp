// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Symmetric heaps: memory of every rank that its node peers map and its rail peers put into.
// in: World, shape, size → out: Heap with one Window per node peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bootstrap/world.hpp"
#include "cluster/shape.hpp"
#include "shunt/result.hpp"

namespace shunt::memory {

/// Memory of a node peer (or one's own), mapped here. Plain bytes: who may write where and when is
/// the protocol's matter.
struct Window {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

/// How a heap's pages are had. Sizes in bytes.
struct HeapOptions {
  /// Touch every page of one's own heap during creation, so that no first operation pays for it.
  bool populate = true;
  /// Ask for transparent huge pages. A hint: the kernel may be set up never to give any.
  bool huge_pages = true;
};

/// This rank's heap and the windows onto its node peers' heaps. All heaps have the same size; the
/// memory is zeroed. Collective creation; after that read-only and thread-safe.
class Heap {
 public:
  virtual ~Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Memory of `bytes` per rank, space reserved up front (too little memory is kOutOfMemory here,
  /// never a SIGBUS later). memfd shared memory between processes, which leaves nothing behind even
  /// after SIGKILL; plain memory where World::one_process(). Succeeds on all ranks or on none, and
  /// may be called again for further heaps.
  ///
  /// Destruction is local: a peer's window stays valid until this Heap is gone, even if the peer's
  /// own Heap, or its process, went first.
  [[nodiscard]] static Result<std::unique_ptr<Heap>> create(bootstrap::World& world,
                                                            const cluster::Shape& shape,
                                                            std::size_t bytes,
                                                            const HeapOptions& options = {});

  [[nodiscard]] std::size_t size() const { return windows_[local_].bytes; }
  [[nodiscard]] std::byte* base() const { return windows_[local_].base; }
  /// Node peer by local index; own index included.
  [[nodiscard]] const Window& window(int local) const { return windows_[local]; }
  [[nodiscard]] std::span<const Window> windows() const {
    return {windows_.get(), static_cast<std::size_t>(count_)};
  }

 protected:
  Heap() = default;
  void set_windows(const cluster::Shape& shape, int rank);

  int local_ = 0;
  int count_ = 0;
  std::unique_ptr<Window[]> windows_;
};

}  // namespace shunt::memory
