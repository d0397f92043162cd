// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/stats.hpp"

#include <algorithm>
#include <numeric>

namespace shunt::analysis {

Stats summarise(std::vector<double> samples) {
  Stats stats;
  if (samples.empty()) return stats;
  std::ranges::sort(samples);
  stats.count = samples.size();
  stats.min = samples.front();
  stats.max = samples.back();
  stats.p50 = samples[(samples.size() - 1) / 2];
  stats.mean =
      std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  return stats;
}

double median(std::vector<double> samples) {
  return summarise(std::move(samples)).p50;
}

}  // namespace shunt::analysis
