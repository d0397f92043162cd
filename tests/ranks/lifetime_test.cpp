// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What belongs to an operation stays as long as the operation, and no longer.
#include <atomic>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "bootstrap/threads_world.hpp"
#include "support/world_run.hpp"

namespace shunt {
namespace {

using bootstrap::World;
using engine::BufferState;
using testing::RankRun;
using testing::WorldCase;

constexpr std::uint64_t kDeadline_ns = 120'000'000'000;

/// Two ranks of one node: no fabric is needed.
WorldCase pair_of_ranks(std::int64_t tokens) {
  WorldCase c;
  c.world = 2;
  c.ranks_per_node = 2;
  c.experts = 4;
  c.topk = 2;
  c.hidden = 64;
  Random random(11);
  c.ids.resize(2);
  for (auto& ids : c.ids) {
    for (std::int64_t i = 0; i < tokens * c.topk; ++i) {
      ids.push_back(static_cast<std::int32_t>(random.below(4)));
    }
  }
  return c;
}

BufferOptions patient_options(const WorldCase& c) {
  BufferOptions options = testing::options_of(c);
  options.deadline_ns = kDeadline_ns;
  options.heartbeat_ns = 60'000'000'000;
  return options;
}

TEST(Lifetime, AClosedBufferIsFreedWithItsLastHandle) {
  const WorldCase c = pair_of_ranks(20);
  const Status status = bootstrap::run_threads(2, kDeadline_ns, [&](World& world) -> Status {
    auto state = BufferState::create(world, patient_options(c));
    if (!state) return Unexpected(state.error());
    const std::weak_ptr<BufferState> watch = *state;
    {
      RankRun run(**state, c, false);
      SHUNT_TRY(run.round(0));
      (*state)->close();
      state->reset();
      if (watch.expired()) return usage_error("freed before its last handle");
    }
    if (!watch.expired()) return usage_error("rank {} never frees its Buffer", world.rank());
    return {};
  });
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(Lifetime, AReplayDoesNotReachIntoACombineInFlight) {
  const WorldCase c = pair_of_ranks(30);
  const Status status = bootstrap::run_threads(2, kDeadline_ns, [&](World& world) -> Status {
    std::atomic<bool> replayed{false};
    engine::BufferHooks hooks;
    hooks.before_operation = [&](int, int, std::uint64_t op) {
      while (op == 1 && !replayed) std::this_thread::yield();
    };
    auto state = BufferState::create(world, patient_options(c), hooks);
    if (!state) return Unexpected(state.error());
    const auto body = [&]() -> Status {
      RankRun run(**state, c, false);
      SHUNT_TRY(run.start_dispatch(0));
      SHUNT_TRY(run.check_dispatch(0));
      run.run_experts();
      SHUNT_TRY(run.start_combine());
      // Nothing of this one's rows is kept.
      const Status issued = (*state)->replay(run.handle, run.x.data(), {});
      replayed = true;
      SHUNT_TRY(issued);
      return run.check_combine(0, [](int, int, std::int64_t) { return true; });
    };
    const Status done = body();
    replayed = true;
    (*state)->close();
    return done;
  });
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(Lifetime, TheHeapHoldsWhatIsInFlightOnly) {
  const WorldCase c = pair_of_ranks(100);
  BufferOptions options = patient_options(c);
  // Room for the bounced rows, ids, weights and origins of three operations, not of seventy.
  options.heap_bytes = 3 * 200 * (64 * 2 + 2 * 4 + 2 * 4 + 8 + 64);
  const Status status = bootstrap::run_threads(2, kDeadline_ns, [&](World& world) -> Status {
    auto state = BufferState::create(world, options);
    if (!state) return Unexpected(state.error());
    Status done;
    for (int i = 0; done && i < 70; ++i) done = RankRun(**state, c, false).round(i);
    (*state)->close();
    return done;
  });
  EXPECT_TRUE(status) << status.error().to_string();
}

}  // namespace
}  // namespace shunt
