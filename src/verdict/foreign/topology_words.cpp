// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/topology_words.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shunt::verdict::foreign {

std::vector<const logs::TopologyFact*> distinct_topologies(const Situation& s) {
  std::vector<const logs::TopologyFact*> distinct;
  for (const logs::TopologyFact& fact : s.evidence.topologies) {
    const bool seen = std::any_of(distinct.begin(), distinct.end(), [&fact](const auto* other) {
      return other->topology.same_matrix(fact.topology);
    });
    if (!seen) distinct.push_back(&fact);
  }
  return distinct;
}

std::string where_prefix(const cluster::Topology& topology) {
  return topology.node.empty() ? std::string() : topology.node + ": ";
}

std::string lines_of(const Situation& s, const logs::TopologyFact& fact) {
  const auto file = static_cast<std::size_t>(fact.source.file);
  const std::string name = file < s.evidence.files.size() ? s.evidence.files[file].name : "";
  return fmt::format("{}lines {}-{}",
                     s.evidence.files.size() > 1 ? name + " " : std::string(),
                     fact.topology.first_line,
                     fact.topology.last_line);
}

std::string list_labels(const cluster::Topology& topology,
                        const std::vector<std::size_t>& devices) {
  std::string text;
  for (const std::size_t device : devices) {
    text += (text.empty() ? "" : ", ") + topology.devices[device].label;
  }
  return text;
}

}  // namespace shunt::verdict::foreign
