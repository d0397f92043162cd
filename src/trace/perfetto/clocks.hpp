// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The clocks of a Perfetto trace: time stamps of any of them, absolute or counted from the one
// before, on one axis of nanoseconds. Private to trace/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <protozero/pbf_reader.hpp>

namespace shunt::trace {

class Clocks {
 public:
  /// A ClockSnapshot on `sequence`: readings of several clocks at one moment. The axis is the wall
  /// clock's where the first snapshot has it, so that files of several hosts share it; else the
  /// trace clock's. May throw protozero::exception.
  void snapshot(std::uint32_t sequence, protozero::pbf_reader in);

  /// Advances the clock if it counts from stamp to stamp: call once for every stamp, in the
  /// sequence's order. nullopt if the time is out of range.
  [[nodiscard]] std::optional<std::int64_t> to_ns(std::uint32_t sequence,
                                                  std::uint32_t clock,
                                                  std::uint64_t stamp);

  /// Clocks whose stamps were used although nothing relates them to the first one.
  [[nodiscard]] std::size_t unrelated() const { return loose_ > 0 ? loose_ - 1 : 0; }

 private:
  struct Clock {
    bool placed = false;  ///< offset is known.
    bool incremental = false;
    std::uint64_t unit = 1;   ///< ns a tick.
    std::uint64_t last = 0;   ///< Ticks, where incremental.
    std::int64_t offset = 0;  ///< Axis − clock.
  };

  [[nodiscard]] Clock* find(std::uint32_t sequence, std::uint32_t clock);

  std::unordered_map<std::uint64_t, Clock> clocks_;  ///< By sequence (0: global) and id.
  std::size_t loose_ = 0;
};

}  // namespace shunt::trace
