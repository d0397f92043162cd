// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to analysis/: what MeasureBuilder keeps while records pass, and the keys it keeps it
// under. Memory grows with operations · ranks · phases, never with spans.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "record/record.hpp"

namespace shunt::analysis {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::size_t kSpanKinds = 6;
inline constexpr std::size_t kWaitReasons = 7;

/// One (operation, rank, phase).
struct PhaseTotals {
  std::uint64_t begin = kNever;
  std::uint64_t end = 0;
  std::uint64_t block_ns = 0;  ///< Σ of kPhase spans.
  std::uint64_t phase_bytes = 0;
  std::uint64_t work_bytes = 0;               ///< Of copy, reduce and post spans.
  std::array<std::uint64_t, 4> block_mask{};  ///< Bit block mod 256: who took part.
  std::array<std::uint64_t, kSpanKinds> kind_ns{};
  std::array<std::uint64_t, kWaitReasons> wait_ns{};

  [[nodiscard]] double dur() const {
    return begin == kNever || end <= begin ? 0.0 : static_cast<double>(end - begin);
  }
  void add_block(std::uint32_t block) {
    block_mask[block / 64 % block_mask.size()] |= std::uint64_t{1} << (block % 64);
  }
  [[nodiscard]] int blocks() const {
    int count = 0;
    for (const std::uint64_t word : block_mask) count += std::popcount(word);
    return count;
  }
  /// Time that a block spent in the phase, mean over its blocks. Less than dur() where blocks went
  /// to other phases between; dur() at most, also where warps of a block recorded side by side.
  [[nodiscard]] double inside_ns() const {
    const int count = blocks();
    if (count == 0) return 0.0;
    return std::min(dur(), static_cast<double>(std::max(block_ns, parts_ns())) / count);
  }
  /// The part of inside_ns() that went into `kind`.
  [[nodiscard]] double spent_ns(record::SpanKind kind) const {
    const std::uint64_t whole = std::max(block_ns, parts_ns());
    if (whole == 0) return 0.0;
    return inside_ns() * static_cast<double>(kind_ns[static_cast<std::size_t>(kind)]) /
           static_cast<double>(whole);
  }
  /// What the blocks did themselves: inside, less waiting.
  [[nodiscard]] double own_ns() const {
    return std::max(0.0, inside_ns() - spent_ns(record::SpanKind::kWait));
  }
  [[nodiscard]] std::uint64_t parts_ns() const {
    std::uint64_t parts = 0;
    for (std::size_t k = 1; k < kSpanKinds; ++k) parts += kind_ns[k];
    return parts;
  }
  [[nodiscard]] std::uint64_t bytes() const { return phase_bytes != 0 ? phase_bytes : work_bytes; }
};

/// One (operation, source rank, target rank, NIC of the rank).
struct PairTotals {
  std::uint64_t puts = 0;
  std::uint64_t put_bytes = 0;
  std::uint64_t first_post = kNever;
  std::uint64_t last_post = 0;
  std::uint64_t arrivals = 0;
  std::uint64_t arrival_bytes = 0;
  std::uint64_t last_arrival = 0;
  std::uint64_t control_bytes = 0;
  std::uint64_t qp_mask = 0;  ///< Bit qp mod 64.

  [[nodiscard]] bool complete() const { return puts == arrivals; }
};

/// A put posted or a chunk landed, to be paired with its other half.
struct PutEvent {
  std::uint64_t time = 0;
  std::int32_t source = 0;
  std::int32_t target = 0;
  std::int32_t chunk = 0;
  bool arrival = false;
};

/// 32 bits of operation, 24 of rank, 8 of phase.
[[nodiscard]] constexpr std::uint64_t phase_key(std::uint32_t op, int rank, record::Phase phase) {
  return (static_cast<std::uint64_t>(op) << 32) |
         (static_cast<std::uint64_t>(rank & 0xffffff) << 8) |
         (static_cast<std::uint64_t>(phase) & 0xff);
}

/// A source rank, a target rank, and which of the source's NICs: 24, 24 and 16 bits.
struct PairKey {
  int source = 0;
  int target = 0;
  int nic = 0;

  [[nodiscard]] constexpr std::uint64_t packed() const {
    return (static_cast<std::uint64_t>(source & 0xffffff) << 40) |
           (static_cast<std::uint64_t>(target & 0xffffff) << 16) |
           static_cast<std::uint64_t>(nic & 0xffff);
  }
  [[nodiscard]] static constexpr PairKey unpack(std::uint64_t key) {
    return {static_cast<int>(key >> 40),
            static_cast<int>(key >> 16 & 0xffffff),
            static_cast<int>(key & 0xffff)};
  }
};

/// Everything that the visitor saw.
struct Accumulated {
  std::unordered_map<std::uint64_t, PhaseTotals> phases;  ///< By phase_key().
  /// By operation, then PairKey.
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint64_t, PairTotals>> pairs;
  std::unordered_map<std::uint32_t, std::vector<PutEvent>> events;
  std::uint64_t records = 0;

  [[nodiscard]] const PhaseTotals* find(std::uint32_t op, int rank, record::Phase phase) const {
    const auto it = phases.find(phase_key(op, rank, phase));
    return it == phases.end() ? nullptr : &it->second;
  }
};

}  // namespace shunt::analysis
