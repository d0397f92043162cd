// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What executors tell the progress thread: 16 bytes, self-contained, with the lap in both halves so
// that a reader of either half alone knows whether it belongs to this round of the ring.
#pragma once

#include <cstdint>

#include "fabric/signal.hpp"

namespace shunt::exec {

/// kPut: send staging slot of `sequence` to `peer`. kConsumed: landing slot may be reused.
enum class DescriptorKind : std::uint8_t { kPut = 1, kConsumed = 2 };

struct Descriptor {
  DescriptorKind kind = DescriptorKind::kPut;
  fabric::SignalKind channel = fabric::SignalKind::kDispatchChunk;  ///< One of the data kinds.
  std::uint32_t peer = 0;      ///< Rail peer index, below kMaxPeers.
  std::uint32_t bytes = 0;     ///< Of the put.
  std::uint64_t sequence = 0;  ///< In its channel, 48 bits.
  friend constexpr bool operator==(const Descriptor&, const Descriptor&) = default;
};

struct alignas(16) PackedDescriptor {
  std::uint64_t low = 0;   ///< lap 8 | kind 4 | channel 4 | peer 16 | bytes 32
  std::uint64_t high = 0;  ///< lap 8 | unused 8 | sequence 48
};

inline constexpr std::uint32_t kMaxPeers = 1U << 16;

[[nodiscard]] constexpr PackedDescriptor pack(const Descriptor& d, std::uint8_t lap) {
  return {(static_cast<std::uint64_t>(lap) << 56) | (static_cast<std::uint64_t>(d.kind) << 52) |
              (static_cast<std::uint64_t>(d.channel) << 48) |
              (static_cast<std::uint64_t>(d.peer & 0xffffU) << 32) | d.bytes,
          (static_cast<std::uint64_t>(lap) << 56) | (d.sequence & 0xffff'ffff'ffffU)};
}

[[nodiscard]] constexpr std::uint8_t lap_of(std::uint64_t half) {
  return static_cast<std::uint8_t>(half >> 56);
}

[[nodiscard]] constexpr Descriptor unpack(const PackedDescriptor& p) {
  return {static_cast<DescriptorKind>((p.low >> 52) & 0xfU),
          static_cast<fabric::SignalKind>((p.low >> 48) & 0xfU),
          static_cast<std::uint32_t>((p.low >> 32) & 0xffffU),
          static_cast<std::uint32_t>(p.low),
          p.high & 0xffff'ffff'ffffU};
}

/// The lap of ring index `index` in a ring of `size` (a power of two): never 0, so that zeroed
/// memory is an empty ring.
[[nodiscard]] constexpr std::uint8_t ring_lap(std::uint64_t index, std::uint64_t size) {
  // Not by std::countr_zero: nvcc 13.0 compiles that to 64 for a device.
  return static_cast<std::uint8_t>(1 + (index / size) % 255);
}

}  // namespace shunt::exec
