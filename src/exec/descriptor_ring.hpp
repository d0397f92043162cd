// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A ring of descriptors as its reader sees it, one a progress thread. Many lanes push, on a CPU or
// on a GPU; the thread alone pops. An entry is complete once both halves show the lap of its index.
#pragma once

#include <atomic>
#include <cstdint>

#include "exec/descriptor.hpp"

namespace shunt::exec {

/// What both sides share, zeroed at first; where the pushers stand is their own affair.
struct RingView {
  PackedDescriptor* entries = nullptr;  ///< [size]
  std::uint64_t size = 0;               ///< A power of two.
  std::uint64_t* head = nullptr;        ///< Next index to pop; stored by the reader, release.
};

/// Entries of a ring that must hold `least` descriptors.
[[nodiscard]] constexpr std::uint64_t ring_size(std::uint64_t least) {
  std::uint64_t size = 64;
  while (size < least) size *= 2;
  return size;
}

/// The progress thread's side.
class DescriptorReader {
 public:
  explicit DescriptorReader(const RingView& ring) : ring_(ring) {}

  [[nodiscard]] bool try_pop(Descriptor& descriptor) {
    const std::uint64_t index = head();
    const std::uint8_t lap = ring_lap(index, ring_.size);
    PackedDescriptor& entry = ring_.entries[index & (ring_.size - 1)];
    PackedDescriptor packed;
    // Acquire: pairs with the pushers' release of either half.
    packed.high = std::atomic_ref<std::uint64_t>(entry.high).load(std::memory_order_seq_cst);
    if (lap_of(packed.high) != lap) return false;
    packed.low = std::atomic_ref<std::uint64_t>(entry.low).load(std::memory_order_acquire);
    if (lap_of(packed.low) != lap) return false;
    descriptor = unpack(packed);
    // Pairs with the pushers' acquire of head: the entry may be written again.
    std::atomic_ref<std::uint64_t>(*ring_.head).store(index + 1, std::memory_order_release);
    return true;
  }

  /// Whether try_pop would find nothing; ordered against pushes of the CPU by seq_cst, so that the
  /// progress thread may announce its sleep, look here, and sleep.
  [[nodiscard]] bool empty() const { return ready(1) == 0; }

  /// Descriptors that wait, as far as they follow one another; `most` ends the count.
  [[nodiscard]] std::uint64_t ready(std::uint64_t most) const {
    std::uint64_t count = 0;
    for (std::uint64_t index = head(); count < most && count < ring_.size; ++index, ++count) {
      std::uint64_t& high = ring_.entries[index & (ring_.size - 1)].high;
      const std::uint64_t seen =
          std::atomic_ref<std::uint64_t>(high).load(std::memory_order_seq_cst);
      if (lap_of(seen) != ring_lap(index, ring_.size)) break;
    }
    return count;
  }

 private:
  [[nodiscard]] std::uint64_t head() const {
    return std::atomic_ref<std::uint64_t>(*ring_.head).load(std::memory_order_relaxed);
  }

  RingView ring_;
};

}  // namespace shunt::exec
