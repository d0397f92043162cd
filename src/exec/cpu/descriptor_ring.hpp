// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "exec/descriptor_ring.hpp"

namespace shunt::exec::cpu {

/// A ring in ordinary memory, and the side of the pushers on the CPU. Capacity covers the sum of
/// credits, so that a push never waits for long.
class DescriptorRing {
 public:
  /// `capacity` entries, rounded up to a power of two.
  explicit DescriptorRing(std::uint64_t capacity)
      : size_(ring_size(capacity)), entries_(new PackedDescriptor[size_]) {}

  [[nodiscard]] RingView view() { return {entries_.get(), size_, &head_}; }

  /// Any thread. False while the ring is full; nothing is pushed then.
  [[nodiscard]] bool try_push(const Descriptor& descriptor) {
    const std::atomic_ref<std::uint64_t> tail(tail_);
    std::uint64_t index = tail.load(std::memory_order_relaxed);
    do {
      // Pairs with the release in try_pop: the entry has been read.
      const std::uint64_t head = std::atomic_ref(head_).load(std::memory_order_acquire);
      if (index - head >= size_) return false;
    } while (!tail.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    const PackedDescriptor packed = pack(descriptor, ring_lap(index, size_));
    PackedDescriptor& entry = entries_[index & (size_ - 1)];
    // Pairs with the acquire loads in try_pop. The second half is seq_cst so that it is ordered
    // before the pusher's look at whether the progress thread sleeps.
    std::atomic_ref<std::uint64_t>(entry.low).store(packed.low, std::memory_order_release);
    std::atomic_ref<std::uint64_t>(entry.high).store(packed.high, std::memory_order_seq_cst);
    return true;
  }

 private:
  const std::uint64_t size_;
  const std::unique_ptr<PackedDescriptor[]> entries_;
  alignas(64) std::uint64_t tail_ = 0;
  alignas(64) std::uint64_t head_ = 0;
};

}  // namespace shunt::exec::cpu
