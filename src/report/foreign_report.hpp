// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Foreign logs as a Report: what was read, what follows from it, what was concluded.
#pragma once

#include "logs/evidence.hpp"
#include "report/report.hpp"

namespace shunt::report {

/// Judges the evidence (verdict::judge_foreign) and lays out all that was read.
[[nodiscard]] Report build_foreign_report(const logs::Evidence& evidence);

}  // namespace shunt::report
