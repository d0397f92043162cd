// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What printed counters say. Filled by the counter readers, used through Evidence::counters.
#pragma once

#include <string>
#include <vector>

#include "logs/source.hpp"

namespace shunt::logs {

/// One snapshot of one device's counters.
struct CounterFact {
  Source source;
  std::string tool;  ///< "perfquery", "ethtool -S", "rdma statistic"
};

}  // namespace shunt::logs
