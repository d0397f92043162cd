// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// An own run as a Report: what `shunt bench` shows at its end and `shunt analyze DIR` shows again.
#pragma once

#include "analysis/measures.hpp"
#include "profile/recording.hpp"
#include "report/report.hpp"

namespace shunt::report {

/// Judges the run (verdict::judge) and lays out all that was measured.
[[nodiscard]] Report build_report(const profile::RecordingSummary& recording,
                                  const analysis::Measures& measures);

}  // namespace shunt::report
