// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Foreign traces as evidence. Filled by read_trace.cpp, used through Evidence::traces.
#pragma once

#include "logs/source.hpp"
#include "trace/chrome/collector.hpp"

namespace shunt::logs {

struct TraceFact {
  Source source;  ///< Line 0: a trace has bytes, not lines.
  trace::ForeignTrace trace;
};

}  // namespace shunt::logs
