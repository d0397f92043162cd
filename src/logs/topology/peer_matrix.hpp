// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// "nvidia-smi topo -p2p r|w|n|a|p": which GPU may access which peer's memory.
#pragma once

#include <string_view>
#include <vector>

#include "logs/topology_facts.hpp"

namespace shunt::logs {

struct PeerMatrix {
  std::vector<PeerAccess> cells;  ///< Off the diagonal, row by row; sources are left empty.
  std::size_t first_line = 0;     ///< Index of its head.
  std::size_t last_line = 0;
};

/// Every peer matrix in `lines`; marks what it took in `used`.
[[nodiscard]] std::vector<PeerMatrix> read_peer_matrices(const std::vector<std::string_view>& lines,
                                                         std::vector<bool>& used);

}  // namespace shunt::logs
