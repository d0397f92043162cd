// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Two Reports → one that says what changed. Rows are matched by table id and by their text cells.
#pragma once

#include "report/report.hpp"

namespace shunt::report {

/// Rates and times that changed by more than `threshold` (0.05: five per cent), settings and
/// findings that differ. Worse rates and times are warnings.
[[nodiscard]] Report compare(const Report& before, const Report& after, double threshold);

}  // namespace shunt::report
