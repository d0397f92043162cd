// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/report.hpp"
#include "shunt/result.hpp"

namespace shunt::cli {

/// One input of `analyze` (run directory, file, directory of files, "-") as a Report, with the
/// facts of --set.
[[nodiscard]] Result<report::Report> analyze_input(const std::string& input,
                                                   const std::vector<std::string>& set);

}  // namespace shunt::cli
