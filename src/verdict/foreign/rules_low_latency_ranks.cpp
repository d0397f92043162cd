// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Single ranks and single iterations of a low-latency log that stand out.
#include <algorithm>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/low_latency.hpp"

namespace shunt::verdict::foreign {
namespace {

double time_of(const logs::Sample* sample) {
  return *sample->time_us;
}

void stalls(const Situation& s, const LowLatency& ll, std::vector<Finding>& findings) {
  int hit = 0;
  int seen = 0;
  double worst = 0;
  double above_low = 1e300;
  double above_high = 0;
  const logs::Sample* example = nullptr;
  for (const auto& [rank, sample] : ll.pair) {
    if (!sample->max_us || !sample->min_us || *sample->min_us <= 0) continue;
    ++seen;
    const double ratio = *sample->max_us / *sample->time_us;
    const double above = *sample->time_us / *sample->min_us - 1;
    above_low = std::min(above_low, above);
    above_high = std::max(above_high, above);
    if (ratio < 1.8) continue;
    ++hit;
    if (ratio > worst) {
      worst = ratio;
      example = sample;
    }
  }
  if (hit == 0 || hit * 2 < seen) return;
  findings.push_back(
      Build(
          "stalls", Severity::kNotice, Confidence::kHigh, fmt::format("{} of {} ranks", hit, seen))
          .say(fmt::format(
              "Single iterations stop: max is up to {:.1f} × the mean on {} of {} ranks; "
              "the mean lies {:.0f}-{:.0f} % above the minimum. One common hiccup, not a "
              "steady limit.",
              worst,
              hit,
              seen,
              above_low * 100,
              above_high * 100))
          .fact("example", example->source.text, place(s, example->source))
          .confirm("retransmission and pause counters, CPU scheduling, clocks during the run"));
}

void slow_rank(const Situation& s, const LowLatency& ll, std::vector<Finding>& findings) {
  if (ll.pair.size() < 4) return;
  std::vector<double> times;
  for (const auto& [rank, sample] : ll.pair) times.push_back(time_of(sample));
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  const auto worst = std::ranges::max_element(
      ll.pair, [](const auto& a, const auto& b) { return time_of(a.second) < time_of(b.second); });
  if (time_of(worst->second) < 1.12 * median) return;
  findings.push_back(
      Build(
          "slow-rank", Severity::kWarning, Confidence::kHigh, fmt::format("rank {}", worst->first))
          .say(fmt::format("Rank {} takes {:.1f} µs for the pair, {} above the median {:.1f} µs.",
                           worst->first,
                           time_of(worst->second),
                           percent(time_of(worst->second) / median - 1),
                           median))
          .fact("line", worst->second->source.text, place(s, worst->second->source)));
}

}  // namespace

void judge_low_latency_ranks(const Situation& s,
                             const LowLatency& ll,
                             std::vector<Finding>& findings) {
  slow_rank(s, ll, findings);
  stalls(s, ll, findings);
}

}  // namespace shunt::verdict::foreign
