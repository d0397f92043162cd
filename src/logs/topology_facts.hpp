// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What printed topologies say: matrices between GPUs and NICs, NIC legends. Filled by the topology
// readers, used by verdict/ through Evidence::topologies.
#pragma once

#include <string>

#include "cluster/topology.hpp"
#include "logs/source.hpp"

namespace shunt::logs {

/// One printed matrix.
struct TopologyFact {
  Source source;
  std::string tool;  ///< "nvidia-smi topo -m", "rocm-smi --showtopo", "amd-smi topology" …
  cluster::Topology topology;  ///< Its lines are those of the file.
};

/// One cell of "nvidia-smi topo -p2p".
struct PeerAccess {
  Source source;
  std::string from;    ///< "GPU0".
  std::string to;      ///< "GPU1".
  std::string status;  ///< As printed: "OK", "CNS", "GNS", "TNS", "NS", "DR", "U".
};

}  // namespace shunt::logs
