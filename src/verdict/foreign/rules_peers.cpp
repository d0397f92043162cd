// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs may read and write each other's memory (nvidia-smi topo -p2p).
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

std::string meaning(const std::string& status) {
  if (status == "CNS") return "chipset not supported";
  if (status == "GNS") return "GPU not supported";
  if (status == "TNS") return "topology not supported";
  if (status == "NS") return "not supported";
  if (status == "DR") return "disabled by a driver setting";
  return "unknown";
}

std::string action(const std::string& status) {
  if (status == "DR") return "Remove the driver option that disables it and reload the driver.";
  if (status == "GNS")
    return "By design on consumer cards; kernels over NVLink or PCIe peers need "
           "other GPUs, or the library's path through host memory.";
  return "Check ACS and the IOMMU (they force peer traffic through the root complex), and that "
         "both "
         "GPUs are below one root complex.";
}

}  // namespace

void judge_peers(const Situation& s, Findings& findings) {
  std::map<std::string, std::vector<const logs::PeerAccess*>> refused;
  std::size_t allowed = 0;
  for (const logs::PeerAccess& cell : s.evidence.peer_access) {
    if (cell.status == "OK") {
      ++allowed;
    } else {
      refused[cell.status].push_back(&cell);
    }
  }
  for (const auto& [status, cells] : refused) {
    std::string list;
    for (std::size_t i = 0; i < cells.size() && i < 6; ++i) {
      list += fmt::format("{}{} → {}", i == 0 ? "" : ", ", cells[i]->from, cells[i]->to);
    }
    if (cells.size() > 6) list += fmt::format(" and {} more", cells.size() - 6);
    findings.push_back(
        Build(allowed == 0 ? "nvlink-missing" : "gpu-links-uneven",
              allowed == 0 ? Severity::kNotice : Severity::kWarning,
              Confidence::kHigh,
              "peer access")
            .say(
                allowed == 0
                    ? fmt::format("No GPU may access a peer's memory ({}: {}): what libraries call "
                                  "NVLink or P2P is off, and data inside the node goes through "
                                  "host memory.",
                                  status,
                                  meaning(status))
                    : fmt::format("Some pairs may not access each other's memory ({}: {}): {}. "
                                  "All-to-all inside the node runs at the pace of these pairs.",
                                  status,
                                  meaning(status),
                                  list))
            .fact("first",
                  fmt::format("{} → {}: {}", cells[0]->from, cells[0]->to, status),
                  place(s, cells[0]->source))
            .act(action(status))
            .confirm("p2pBandwidthLatencyTest, or NCCL_DEBUG=INFO: P2P or SHM per pair"));
  }
}

}  // namespace shunt::verdict::foreign
