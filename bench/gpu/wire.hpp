// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The path between nodes, from the GPU: how fast records leave and arrive, beside plain puts of the
// same size over the same kind of endpoints, in turns. in: World → out: one sample a round.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/world.hpp"
#include "shunt/device.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

struct WireOptions {
  std::int64_t tokens = 4096;
  std::int64_t hidden = 7168;
  int topk = 8;
  int experts = 256;
  int blocks = 16;
  int rdma_blocks = 2;
  int chunk_tokens = 64;
  int credits = 8;
  int qps = 1;
  int proxy_threads = 1;
  int rounds = 12;
  std::string provider;
  Staging staging = Staging::kAuto;
};

/// What one rank saw of one operation: times of the host's one clock.
struct WireSample {
  std::uint64_t first_post_ns = 0;
  std::uint64_t last_arrival_ns = 0;
  std::uint64_t arrived_bytes = 0;
  std::uint64_t operation_ns = 0;
  std::uint64_t progress_cpu_ns = 0;  ///< Of the progress threads meanwhile.
};

struct WireSamples {
  std::string provider;
  std::string staging;
  int proxy_threads = 1;  ///< As many as run.
  std::vector<WireSample> dispatch;
  std::vector<WireSample> combine;
  std::vector<WireSample> plain;
  std::uint64_t put_bytes = 0;  ///< Of one plain put: that of a full chunk.
  // Health of the progress threads over the run: the worst of them.
  std::uint64_t largest_backlog = 0;
  std::uint64_t mean_age_ns = 0;
  std::uint64_t largest_age_ns = 0;
  std::uint64_t largest_poll_gap_ns = 0;
  // The device's clock.
  std::uint64_t timer_step_ns = 0;
  std::uint64_t timer_error_ns = 0;
};

/// Collective.
[[nodiscard]] Result<WireSamples> run_wire(bootstrap::World& world,
                                           int ranks_per_node,
                                           const WireOptions& options);

}  // namespace shunt::bench::gpu
