// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What printed link states say: ports, their fabric and rate. Filled by the link-state readers,
// used through Evidence::links.
#pragma once

#include <optional>
#include <string>

#include "logs/source.hpp"

namespace shunt::logs {

enum class LinkKind {
  kPort,     ///< A port of an RDMA device or its network interface.
  kCable,    ///< A link between two ports, as the fabric sees it.
  kNvlink,   ///< One NVLink of a GPU.
  kPcie,     ///< A device's PCIe link.
  kGpuTest,  ///< A health check's measured rate between two GPUs.
};

/// One port or link. Absent fields were not printed.
struct LinkFact {
  Source source;
  std::string tool;  ///< "ibstat", "iblinkinfo", "nvidia-smi nvlink -s" …
  LinkKind kind = LinkKind::kPort;
  std::string owner;     ///< "mlx5_0", "GPU 3", "hostC HCA-1".
  int number = 1;        ///< Port or NVLink number.
  std::string model;     ///< "MT4129", "NVIDIA H100 PCIe".
  std::string state;     ///< Lower case: "active", "down", "init", "inactive" …
  std::string physical;  ///< Lower case: "linkup", "polling", "disabled"; empty if not printed.
  std::string fabric;    ///< "InfiniBand" or "Ethernet".
  std::string netdev;
  std::string peer;
  std::optional<double> gbit_per_s;           ///< One direction, data rate (line coding removed).
  std::string speed;                          ///< "4X NDR", "4X 25.78125 Gbps", "16GT/s x8".
  std::optional<double> possible_gbit_per_s;  ///< What the tool says the link could run at.
  std::optional<double> gb_per_s;             ///< NVLink: per direction as printed; test: measured.
  std::optional<double> expected_gb_per_s;    ///< Of a health check.

  [[nodiscard]] bool is_up() const { return state == "active" || state == "up"; }
};

}  // namespace shunt::logs
