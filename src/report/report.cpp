// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <algorithm>

namespace shunt::report {

bool has_finding(const Report& report, verdict::Severity least) {
  return std::ranges::any_of(report.findings, [least](const verdict::Finding& finding) {
    return finding.severity >= least;
  });
}

}  // namespace shunt::report
