// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What to point at in a matrix. in: Topology → out: Assessment, drawn by report/. Pure. It decides
// as the rules of verdict/ do: a finding and its mark appear together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cluster/pairing.hpp"
#include "cluster/topology.hpp"

namespace shunt::cluster {

struct CellMark {
  bool own = false;      ///< The NIC that the pairing gives this GPU.
  bool problem = false;  ///< Named in Assessment::problems.
  bool trap = false;     ///< What "NIC i for GPU i" would pick: far, while a near one is there.
};

struct Assessment {
  Pairing pairing;
  std::vector<CellMark> cells;        ///< devices.size()², row-major.
  std::vector<std::string> problems;  ///< One line each: "GPU2: no NVLink, the others have NV18".
};

[[nodiscard]] Assessment assess(const Topology& topology);

/// GPU memory that the CPU addresses as a NUMA node: Grace. Its NICs hang off the CPU by design.
[[nodiscard]] bool is_coherent(const Topology& topology);
/// A single affinity that spans NUMA nodes, as hypervisors show it.
[[nodiscard]] bool looks_virtual(const Topology& topology);

}  // namespace shunt::cluster
