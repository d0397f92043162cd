// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// InfiniBand and PCIe speeds as tools print them. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace shunt::logs {

/// Data rate in Gb/s of `lanes` lanes that signal at `lane_gbps`, line coding removed:
/// 4 × 25.78125 (64b/66b) → 100; 4 × 10 (8b/10b QDR) → 32; 4 × 106.25 → 400.
[[nodiscard]] double infiniband_gbit(int lanes, double lane_gbps);

/// "EDR" and the like for a lane rate; empty if unknown.
[[nodiscard]] std::string_view infiniband_name(double lane_gbps);

/// Data rate in Gb/s of `lanes` lanes of a generation by its name ("HDR"); nullopt if unknown.
[[nodiscard]] std::optional<double> named_gbit(int lanes, std::string_view generation);

/// "400 Gb/sec (4X NDR)", "400", "100000Mb/s", "200 Gbps" → Gb/s.
[[nodiscard]] std::optional<double> printed_gbit(std::string_view text);

/// Usable GB/s per direction of a PCIe link of `gigatransfers` per lane; 0 if unknown.
[[nodiscard]] double pcie_gb_per_s(double gigatransfers, int lanes);

}  // namespace shunt::logs
