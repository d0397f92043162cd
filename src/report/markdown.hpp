// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/report.hpp"

namespace shunt::report {

/// To paste into an issue: verdict, findings as a list, tables as pipe tables, the rest folded
/// away.
[[nodiscard]] std::string render_markdown(const Report& report);

}  // namespace shunt::report
