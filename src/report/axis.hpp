// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: where the ticks of an axis stand.
#pragma once

#include <cmath>

namespace shunt::report {

/// 1, 2 or 5 times a power of ten, for at most about `ticks` of them. REQUIRES: length > 0.
[[nodiscard]] inline double tick_step(double length, double ticks = 8) {
  const double raw = length / ticks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

}  // namespace shunt::report
