// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What printed counters say. Filled by the counter readers, used through Evidence::counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logs/source.hpp"

namespace shunt::logs {

/// One printed counter. Units and meaning: counters/signals.hpp.
struct CounterValue {
  std::string name;
  std::uint64_t value = 0;
  std::size_t line = 0;  ///< Of the file.
};

/// One snapshot of one device's counters.
struct CounterFact {
  Source source;            ///< Its first line.
  std::string tool;         ///< "perfquery", "ethtool -S", "rdma statistic", "sysfs" …
  std::string device;       ///< "mlx5_0/1", "eth2", "lid 10 port 1", "GPU 0 link 3"; may be empty.
  std::string label;        ///< "before" or "after" where the text says so.
  bool rates = false;       ///< The values are per second (mlnx_perf), not counts.
  bool aggregated = false;  ///< Sum over the ports of a switch or node.
  std::optional<double> seconds;  ///< Time of the snapshot on an unknown epoch, where stated.
  std::vector<CounterValue> values;

  [[nodiscard]] const CounterValue* find(std::string_view name) const;
};

}  // namespace shunt::logs
