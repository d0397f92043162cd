// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Two Reports → one that says what changed. Rows are matched by table id and by their text cells.
#pragma once

#include "report/report.hpp"

namespace shunt::report {

/// Rates and times that changed by `threshold` or more (0.05: five per cent), settings, bytes and
/// findings that differ. Where both sides have samples of whole operations, these decide, and a
/// change within their spread is none. What became worse is a warning; a notice if the workload
/// differs.
[[nodiscard]] Report compare(const Report& before, const Report& after, double threshold);

}  // namespace shunt::report
