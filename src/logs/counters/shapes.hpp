// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The line shapes in which tools print counters. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::logs {

struct NamedValue {
  std::string name;
  std::uint64_t value = 0;
  std::optional<std::uint64_t> second;  ///< A later value on the same line.
  bool rate = false;                    ///< "Bps", "pps" followed: per second.
  std::string device;                   ///< From a path in front of the name, else empty.
};

/// "PortXmitData:....12", "rx_bytes: 1,234", "np_cnp_sent = 3", "RcAcks   17",
/// ".../mlx5_0/ports/1/counters/port_xmit_data:12", "name 5 9" (before, after).
[[nodiscard]] std::optional<NamedValue> named_value(std::string_view line);

/// "link mlx5_0/1 rx_write_requests 0 …" → device and pairs; empty if it is not that.
[[nodiscard]] std::vector<NamedValue> rdma_statistic_line(std::string_view line);

/// "GUID 0x… port ALL: [LinkDownedCounter == 25 (25.000)] …" → pairs; `device` names the port.
[[nodiscard]] std::vector<NamedValue> bracketed_values(std::string_view line);

/// "Link 0: Data Tx: 12 KiB" → name "Data Tx", device "link 0", value in KiB.
[[nodiscard]] std::optional<NamedValue> nvlink_value(std::string_view line);

/// "mlx5_0/1" out of a path, "eth2" out of "ethtool -S eth2", "lid 10 port 1" out of perfquery's
/// title. Empty if the line names no device.
[[nodiscard]] std::string device_hint(std::string_view line);

/// The tool whose command or title the line is; empty if none.
[[nodiscard]] std::string_view tool_hint(std::string_view line);

}  // namespace shunt::logs
