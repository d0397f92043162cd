// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "exec/descriptor.hpp"

namespace shunt::exec::cpu {

/// Bounded ring from many blocks to one progress thread. An entry is complete once both halves show
/// the lap of its index. Capacity covers the sum of credits, so push() never waits for long.
class DescriptorRing {
 public:
  /// `capacity` entries, rounded up to a power of two.
  explicit DescriptorRing(std::uint64_t capacity)
      : size_(round_up(capacity)), entries_(new PackedDescriptor[size_]) {}

  /// Any thread. False while the ring is full; nothing is pushed then.
  [[nodiscard]] bool try_push(const Descriptor& descriptor) {
    std::uint64_t index = tail_.load(std::memory_order_relaxed);
    do {
      // Pairs with the release in pop: the slot has been read.
      if (index - head_.load(std::memory_order_acquire) >= size_) return false;
    } while (!tail_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    const PackedDescriptor packed = pack(descriptor, ring_lap(index, size_));
    PackedDescriptor& entry = entries_[index & (size_ - 1)];
    // Pairs with the acquire loads in try_pop. The second half is seq_cst so that it is ordered
    // before the pusher's look at whether the progress thread sleeps.
    std::atomic_ref<std::uint64_t>(entry.low).store(packed.low, std::memory_order_release);
    std::atomic_ref<std::uint64_t>(entry.high).store(packed.high, std::memory_order_seq_cst);
    return true;
  }

  /// The progress thread only.
  [[nodiscard]] bool try_pop(Descriptor& descriptor) {
    const std::uint64_t index = head_.load(std::memory_order_relaxed);
    const std::uint8_t lap = ring_lap(index, size_);
    PackedDescriptor& entry = entries_[index & (size_ - 1)];
    PackedDescriptor packed;
    packed.high = std::atomic_ref<std::uint64_t>(entry.high).load(std::memory_order_seq_cst);
    if (lap_of(packed.high) != lap) return false;
    packed.low = std::atomic_ref<std::uint64_t>(entry.low).load(std::memory_order_acquire);
    if (lap_of(packed.low) != lap) return false;
    descriptor = unpack(packed);
    head_.store(index + 1, std::memory_order_release);
    return true;
  }

  /// Whether try_pop would find an entry; ordered against pushes by seq_cst, so that the progress
  /// thread may announce its sleep, look here, and sleep. The progress thread only.
  [[nodiscard]] bool empty() const {
    const std::uint64_t index = head_.load(std::memory_order_relaxed);
    std::uint64_t& high = entries_[index & (size_ - 1)].high;
    return lap_of(std::atomic_ref<std::uint64_t>(high).load(std::memory_order_seq_cst)) !=
           ring_lap(index, size_);
  }

  /// Entries waiting, as the progress thread sees it (health counter).
  [[nodiscard]] std::uint64_t occupancy() const {
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
  }

 private:
  static std::uint64_t round_up(std::uint64_t capacity) {
    std::uint64_t size = 64;
    while (size < capacity) size *= 2;
    return size;
  }

  const std::uint64_t size_;
  const std::unique_ptr<PackedDescriptor[]> entries_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
};

}  // namespace shunt::exec::cpu
