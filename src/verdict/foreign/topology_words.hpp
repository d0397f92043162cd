// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Words that the rules on topologies share.
#pragma once

#include <string>
#include <vector>

#include "logs/topology_facts.hpp"
#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

/// One fact a matrix: the same one pasted for several nodes, or twice, counts once.
[[nodiscard]] std::vector<const logs::TopologyFact*> distinct_topologies(const Situation& s);

/// "server 2: " or nothing.
[[nodiscard]] std::string where_prefix(const cluster::Topology& topology);

/// "topo.txt lines 2-10".
[[nodiscard]] std::string lines_of(const Situation& s, const logs::TopologyFact& fact);

/// "GPU2, GPU5" for indices into Topology::devices.
[[nodiscard]] std::string list_labels(const cluster::Topology& topology,
                                      const std::vector<std::size_t>& devices);

}  // namespace shunt::verdict::foreign
