// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Made-up timelines for tests of pictures.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/timeline.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::test {

/// The typical iteration of a made-up run.
inline analysis::Timeline timeline_of(const SyntheticRun& run) {
  analysis::TimelineBuilder builder(run.summary().run, run.measure().timeline_ops);
  run.play(builder);
  return builder.finish();
}

/// Round numbers, so that a test can say where everything belongs: 1 ms, two lanes a rank, one link
/// rated at 10 B/ns that carries 2 000 000 B in 0.4 ms.
inline analysis::Timeline round_timeline(int ranks) {
  using record::Phase;
  analysis::Timeline timeline;
  timeline.length_ns = 1'000'000;
  timeline.rating_bytes_per_ns = 10;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto late = static_cast<std::uint64_t>(rank) * 10'000;
    timeline.lanes.push_back({rank,
                              "send",
                              {{Phase::kCopyToStaging, late, 100'000 + late},
                               {Phase::kDispatchInterNodeSend, 100'000 + late, 350'000}},
                              {{Phase::kCopyToStaging, late, 50'000 + late},
                               {Phase::kCopyToStaging, 70'000 + late, 80'000 + late},
                               {Phase::kDispatchInterNodeSend, 300'000, 350'000}}});
    timeline.lanes.push_back({rank,
                              "receive",
                              {{Phase::kDispatchInterNodeRecv, 400'000, 1'000'000}},
                              {{Phase::kDispatchInterNodeRecv, 900'000, 1'000'000}}});
  }
  analysis::TimelineLink link{"node 0 → node 1", {}, {}};
  link.in_flight = {{150'000, 1}, {200'000, 3}, {400'000, 2}, {600'000, 0}};
  link.flows = {{200'000, 400'000, 1'500'000}, {400'000, 600'000, 500'000}};
  timeline.links.push_back(link);
  return timeline;
}

}  // namespace shunt::test
