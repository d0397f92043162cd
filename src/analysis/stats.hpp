// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A handful of samples, summarised. in: values of one kind and unit → out: Stats in that unit.
#pragma once

#include <cstdint>
#include <vector>

namespace shunt::analysis {

/// Summary of samples in the unit that the member's name says. count 0: nothing was measured, and
/// the other members mean nothing.
struct Stats {
  std::uint64_t count = 0;
  double min = 0;
  double p50 = 0;  ///< The lower middle for an even count, so that it is a value that occurred.
  double mean = 0;
  double max = 0;

  [[nodiscard]] bool empty() const { return count == 0; }
};

/// REQUIRES: every sample finite. Reorders `samples`.
[[nodiscard]] Stats summarise(std::vector<double> samples);

/// The lower middle value; 0 for no samples.
[[nodiscard]] double median(std::vector<double> samples);

}  // namespace shunt::analysis
