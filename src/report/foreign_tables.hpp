// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: the facts of other tools that are no rates, as they were read.
#pragma once

#include <string>
#include <vector>

#include "logs/evidence.hpp"
#include "report/report.hpp"

namespace shunt::report {

/// Failures, ports and links, counters, trace phases; a table each, where there is anything.
[[nodiscard]] std::vector<Table> foreign_tables(const logs::Evidence& evidence);

/// "12", or "topo.txt:12" where there are several files; "--set" for an option.
[[nodiscard]] std::string where(const logs::Evidence& evidence, const logs::Source& source);

}  // namespace shunt::report
