// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A world of ranks as threads, with the mock fabric between its nodes.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "bootstrap/threads_world.hpp"
#include "fabric/faulty_fabric.hpp"
#include "fabric/mock_fabric.hpp"
#include "support/world_run.hpp"

namespace shunt::testing {

inline constexpr std::uint64_t kDeadline_ns = 120'000'000'000;

inline std::vector<std::vector<std::int32_t>> random_ids(const WorldCase& c,
                                                         const std::vector<std::int64_t>& tokens,
                                                         double dropped,
                                                         std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<std::int32_t>> ids(static_cast<std::size_t>(c.world));
  for (int r = 0; r < c.world; ++r) {
    const std::int64_t n = tokens[static_cast<std::size_t>(r) % tokens.size()];
    for (std::int64_t i = 0; i < n * c.topk; ++i) {
      ids[static_cast<std::size_t>(r)].push_back(
          random.uniform() < dropped ? -1 : static_cast<std::int32_t>(random.below(c.experts)));
    }
  }
  return ids;
}

/// Blocks begin an operation some yields late, each time and everywhere other ones: a hook of
/// Rules.
inline void yield_at_random(int rank, engine::BufferHooks& hooks) {
  hooks.before_operation = [rank](int role, int block, std::uint64_t op) {
    Random random(op * 31 + static_cast<std::uint64_t>(rank * 7 + role * 3 + block));
    for (std::uint64_t i = random.below(64); i > 0; --i) std::this_thread::yield();
  };
}

struct Rules {
  fabric::FaultOptions faults;
  fabric::MockOptions::Landing landing = fabric::MockOptions::Landing::kAtPost;
  bool faulty = false;
  bool in_window = true;
  int rounds = 1;
  std::function<void(BufferOptions&)> tune = [](BufferOptions&) {};
  std::function<void(int rank, engine::BufferHooks&)> hook = [](int, engine::BufferHooks&) {};
};

/// Runs `body` on every rank with a Buffer over the mock fabric.
template <typename Body>
Status run_world(const WorldCase& c, const Rules& setup, Body&& body) {
  const int nodes = c.world / c.ranks_per_node;
  BufferOptions options = options_of(c);
  options.deadline_ns = kDeadline_ns;
  options.heartbeat_ns = 20'000'000'000;
  setup.tune(options);
  fabric::MockOptions mock;
  mock.qps = options.qps + 1;
  const int threads = std::max(1, options.proxy_threads);
  mock.landing = setup.landing;
  std::vector<std::unique_ptr<fabric::MockNetwork>> rails;
  for (int l = 0; l < c.ranks_per_node; ++l) {
    rails.push_back(std::make_unique<fabric::MockNetwork>(nodes * threads, mock));
  }
  return bootstrap::run_threads(c.world, kDeadline_ns, [&](bootstrap::World& world) -> Status {
    engine::BufferHooks hooks;
    const int rank = world.rank();
    hooks.make_fabric = [&](int, int thread) -> Result<std::unique_ptr<fabric::Fabric>> {
      // Every progress thread is a rank of its rail's network.
      auto made =
          rails[rank % c.ranks_per_node]->create(rank / c.ranks_per_node * threads + thread);
      if (!made || !setup.faulty) return made;
      fabric::FaultOptions faults = setup.faults;
      faults.seed += static_cast<std::uint64_t>(rank * threads + thread);
      auto faulty = fabric::FaultyFabric::create(std::move(*made), faults);
      if (!faulty) return Unexpected(faulty.error());
      return std::unique_ptr<fabric::Fabric>(std::move(*faulty));
    };
    setup.hook(rank, hooks);
    auto state = engine::BufferState::create(world, options, hooks);
    if (!state) return Unexpected(state.error());
    const Status status = body(**state, world);
    (*state)->close();
    return status;
  });
}

inline Status run_rounds(const WorldCase& c, const Rules& setup) {
  return run_world(c, setup, [&](engine::BufferState& state, bootstrap::World&) -> Status {
    for (int i = 0; i < setup.rounds; ++i) {
      RankRun run(state, c, setup.in_window);
      SHUNT_TRY(run.round(i));
    }
    return {};
  });
}

/// A round, then `replays` more on its handle.
inline Status run_replays(const WorldCase& c, const Rules& setup, int replays) {
  return run_world(c, setup, [&](engine::BufferState& state, bootstrap::World&) -> Status {
    RankRun run(state, c, false);
    SHUNT_TRY(run.round(0));
    for (int i = 1; i <= replays; ++i) SHUNT_TRY(run.replay_round(i));
    return {};
  });
}

inline WorldCase two_by_two(std::int64_t tokens, std::uint64_t seed) {
  WorldCase c;
  c.world = 4;
  c.ranks_per_node = 2;
  c.experts = 16;
  c.topk = 4;
  c.hidden = 64;
  c.ids = random_ids(c, {tokens, tokens / 2 + 1}, 0.1, seed);
  return c;
}

}  // namespace shunt::testing
