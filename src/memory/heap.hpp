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

/// This rank's heap and the windows onto its node peers' heaps. All heaps have the same size; the
/// memory is zeroed. Collective creation; after that read-only and thread-safe.
class Heap {
 public:
  virtual ~Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Memory of `bytes` per rank, space reserved up front (a full tmpfs is kOutOfMemory here, never
  /// a SIGBUS later). memfd shared memory between processes, plain memory where
  /// World::one_process().
  [[nodiscard]] static Result<std::unique_ptr<Heap>> create(bootstrap::World& world,
                                                            const cluster::Shape& shape,
                                                            std::size_t bytes);

  [[nodiscard]] std::size_t size() const { return windows_[local_].bytes; }
  [[nodiscard]] std::byte* base() const { return windows_[local_].base; }
  /// Node peer by local index; own index included.
  [[nodiscard]] const Window& window(int local) const { return windows_[local]; }
  [[nodiscard]] std::span<const Window> windows() const {
    return {windows_.get(), static_cast<std::size_t>(count_)};
  }

 protected:
  Heap() = default;
  int local_ = 0;
  int count_ = 0;
  std::unique_ptr<Window[]> windows_;
};

}  // namespace shunt::memory
