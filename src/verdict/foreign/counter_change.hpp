// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What counters did between two snapshots. in: Evidence::counters → out: one DeviceChange a device.
// Pure. Missing is not zero; a counter that fell is a wrap, a reset, or unusable, never negative.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logs/counters/signals.hpp"
#include "logs/evidence.hpp"

namespace shunt::verdict::foreign {

struct CounterDelta {
  std::string name;
  const logs::SignalRow* row = nullptr;  ///< nullptr: a name that the table does not have.
  std::uint64_t value = 0;               ///< Last printed value.
  std::optional<std::uint64_t> grown;    ///< Since the first snapshot; absent if it cannot be told.
  bool wrapped = false;
  std::size_t line = 0;

  [[nodiscard]] logs::Signal signal() const { return row ? row->signal : logs::Signal::kInfo; }
  /// In bytes, packets, events or µs.
  [[nodiscard]] double amount(bool paired) const;
};

struct DeviceChange {
  std::string tool;
  std::string device;
  const logs::CounterFact* first = nullptr;
  const logs::CounterFact* last = nullptr;  ///< Same as first if there is one snapshot only.
  std::optional<double> seconds;            ///< Between them, where stated.
  bool reset = false;                       ///< Most counters fell: they were cleared in between.
  std::vector<CounterDelta> counters;

  [[nodiscard]] bool paired() const { return first != last && !reset; }
  /// Sum over the counters with that signal; nullopt if none was printed.
  [[nodiscard]] std::optional<double> sum(logs::Signal signal) const;
  [[nodiscard]] std::string name() const { return device.empty() ? tool : tool + " " + device; }
};

/// after − before at that width; nullopt if it fell and a wrap cannot explain it.
[[nodiscard]] std::optional<std::uint64_t> grown_by(std::uint64_t before,
                                                    std::uint64_t after,
                                                    int width);

[[nodiscard]] std::vector<DeviceChange> counter_changes(const logs::Evidence& evidence);

}  // namespace shunt::verdict::foreign
