// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rates between every two devices or ranks, as p2pBandwidthLatencyTest, nvbandwidth,
// rocm-bandwidth-test and scripts of their kind print them. Filled by read_rate_matrix.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "logs/source.hpp"

namespace shunt::logs {

struct RateMatrix {
  Source source;
  std::string title;           ///< The line that names it.
  bool host_rows = false;      ///< One row: the host's memory against each GPU.
  bool to_host = false;        ///< Of host_rows: GPU → host.
  bool bidirectional = false;  ///< Both directions at once, summed.
  bool peer_off = false;       ///< Peer access was disabled for it.
  bool ranks = false;          ///< Rows and columns are ranks, not devices of one machine.
  std::vector<int> columns;    ///< Device of each column.
  std::vector<int> rows;       ///< Device of each row.
  std::vector<int> hosts;      ///< Devices that are CPUs.
  /// Row-major, GB/s; absent where "N/A" stands.
  std::vector<std::optional<double>> cells;

  [[nodiscard]] std::optional<double> at(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }
};

}  // namespace shunt::logs
