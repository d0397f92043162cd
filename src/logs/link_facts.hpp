// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What printed link states say: ports, their fabric and rate. Filled by the link-state readers,
// used through Evidence::links.
#pragma once

#include <string>
#include <vector>

#include "logs/source.hpp"

namespace shunt::logs {

/// One port or link.
struct LinkFact {
  Source source;
  std::string tool;  ///< "ibstat", "iblinkinfo", "nvidia-smi nvlink -s"
};

}  // namespace shunt::logs
