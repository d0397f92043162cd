// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Slots of chunks where the host must not look, as in memory of a device: blocks and fabric reach
// them, the progress thread does not, and hears of arrivals what blocks tell it.
#include "support/device_slots.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/lane.hpp"
#include "support/mock_world.hpp"
#include "support/world_sweep.hpp"

namespace shunt {
namespace {

using testing::DeviceSlots;
using testing::expect_every_element_right;
using testing::LateFabric;
using testing::Rules;
using testing::run_rounds;
using testing::Sweep;
using testing::two_by_two;
using testing::WorldCase;

/// What every rank keeps beside its Buffer.
struct Rigs {
  std::vector<std::unique_ptr<DeviceSlots>> slots;
  std::vector<std::unique_ptr<record::Recorder>> recorders;
  std::vector<LateFabric*> late;

  explicit Rigs(int world) : late(static_cast<std::size_t>(world)) {
    for (int r = 0; r < world; ++r) {
      slots.push_back(std::make_unique<DeviceSlots>());
      recorders.push_back(std::make_unique<record::Recorder>(1U << 14));
    }
  }
};

/// The slots of every rank on its pretended device, recording on.
std::shared_ptr<Rigs> put_on_devices(int world, Rules& rules) {
  auto rigs = std::make_shared<Rigs>(world);
  rules.hook = [rigs](int rank, engine::BufferHooks& hooks) {
    const auto r = static_cast<std::size_t>(rank);
    hooks.recorder = rigs->recorders[r].get();
    hooks.place_slots = [rigs, r](std::size_t bytes) {
      return testing::place_on_device(*rigs->slots[r], bytes);
    };
  };
  return rigs;
}

enum class Flush { kDone, kForgotten, kFails };

/// The same, on NICs whose writes wait to be flushed.
std::shared_ptr<Rigs> put_behind_late_nics(int world, Rules& rules, Flush flush) {
  auto rigs = put_on_devices(world, rules);
  rules.landing = fabric::MockOptions::Landing::kAtPoll;
  rules.hook = [rigs, flush, place = rules.hook](int rank, engine::BufferHooks& hooks) {
    place(rank, hooks);
    const auto r = static_cast<std::size_t>(rank);
    hooks.make_fabric = [rigs, r, make = hooks.make_fabric](
                            auto... shape) -> Result<std::unique_ptr<fabric::Fabric>> {
      auto made = make(shape...);
      if (!made) return made;
      auto late = std::make_unique<LateFabric>(std::move(*made));
      rigs->late[r] = late.get();
      return std::unique_ptr<fabric::Fabric>(std::move(late));
    };
    hooks.place_slots = [rigs, r, flush, on_device = hooks.place_slots](std::size_t bytes) {
      auto placed = on_device(bytes);
      if (!placed || flush == Flush::kForgotten) return placed;
      placed->flush = [rigs, r, flush]() -> Status {
        if (flush == Flush::kFails) {
          return fail(ErrorCode::kSystem, ErrorScope::kDevice, "the flush of device 0 failed");
        }
        return rigs->late[r]->flush();
      };
      return placed;
    };
  };
  return rigs;
}

TEST(DeviceSlots, ATouchByTheHostIsAFault) {
  DeviceSlots slots;
  ASSERT_TRUE(slots.create(4096));
  slots.device()[7] = std::byte{1};
  const auto touch = [&] {
    // Libraries that a fabric loads have handlers of their own.
    (void)std::signal(SIGSEGV, SIG_DFL);
    (void)*const_cast<volatile std::byte*>(slots.host() + 7);
  };
  EXPECT_EXIT(touch(), ::testing::KilledBySignal(SIGSEGV), "");
}

class DeviceSlotWorlds : public ::testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Shapes,
                         DeviceSlotWorlds,
                         ::testing::Values(std::pair(2, 1), std::pair(2, 2), std::pair(4, 2)));

TEST_P(DeviceSlotWorlds, EveryElementIsRightWithoutAHostThatLooks) {
  Sweep sweep{GetParam().first, GetParam().second};
  sweep.experts_per_rank = 3;
  sweep.hidden = 24;
  sweep.topk = {1, 3};
  sweep.tokens = {{0}, {63, 64, 65}, {100, 0, 1, 64}};
  expect_every_element_right(sweep, [&](std::uint64_t seed) {
    Rules rules;
    rules.rounds = 2;
    (void)put_on_devices(sweep.nodes * sweep.ranks_per_node, rules);
    rules.tune = [seed](BufferOptions& o) {
      o.chunk_tokens = static_cast<int>(1 + seed % 9);
      o.credits = static_cast<int>(1 + seed % 4);
      o.rdma_blocks = static_cast<int>(1 + seed % 2);
    };
    return rules;
  });
}

TEST(DeviceSlots, FaultsOfTheFabricTouchThemNeither) {
  const WorldCase c = two_by_two(90, 3);
  Rules rules;
  rules.faulty = true;
  rules.faults.hold_puts = 5;
  rules.faults.hold_arrivals = 7;
  rules.faults.duplicate_arrival = 0.3;
  rules.faults.duplicate_completion = 0.3;
  rules.faults.refuse_post = 0.3;
  rules.rounds = 3;
  (void)put_on_devices(c.world, rules);
  rules.tune = [](BufferOptions& o) { o.chunk_tokens = 8; };
  const Status status = run_rounds(c, rules);
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(DeviceSlots, RanksMayDiffer) {
  const WorldCase c = two_by_two(90, 6);
  Rules rules;
  rules.rounds = 2;
  (void)put_on_devices(c.world, rules);
  // Rank 0 and its peer on the other node: one of them on its device.
  rules.hook = [place = rules.hook](int rank, engine::BufferHooks& hooks) {
    place(rank, hooks);
    if (rank == 0 || rank == 3) hooks.place_slots = nullptr;
  };
  const Status status = run_rounds(c, rules);
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(DeviceSlots, WritesAreFlushedBeforeBlocksHearOfThem) {
  const WorldCase c = two_by_two(90, 4);
  Rules rules;
  rules.rounds = 12;
  const auto rigs = put_behind_late_nics(c.world, rules, Flush::kDone);
  rules.tune = [](BufferOptions& o) { o.chunk_tokens = 8; };
  const Status status = run_rounds(c, rules);
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(DeviceSlots, AForgottenFlushIsFound) {
  // Says that the test above can fail.
  const WorldCase c = two_by_two(90, 4);
  Rules rules;
  const auto rigs = put_behind_late_nics(c.world, rules, Flush::kForgotten);
  EXPECT_FALSE(run_rounds(c, rules));
}

TEST(DeviceSlots, AFlushThatFailsEndsTheOperation) {
  const WorldCase c = two_by_two(90, 4);
  Rules rules;
  const auto rigs = put_behind_late_nics(c.world, rules, Flush::kFails);
  const Status status = run_rounds(c, rules);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message,
              ::testing::AnyOf(::testing::HasSubstr("the flush of device 0 failed"),
                               ::testing::HasSubstr("its own message says why")));
}

using Seen = std::tuple<int, int, std::uint32_t, std::int32_t, std::uint64_t, int>;

/// (phase, peer, op, chunk, bytes, queue pair) of every arrival, sorted.
std::vector<std::vector<Seen>> arrivals_of(Rigs& rigs, bool* timed) {
  std::vector<std::vector<Seen>> all;
  for (const auto& recorder : rigs.recorders) {
    std::vector<Seen>& seen = all.emplace_back();
    recorder->drain([&](record::RecordType type, const auto& body) {
      if (type != record::RecordType::kArrival) return;
      record::Arrival a;
      std::memcpy(&a, body, sizeof(a));
      seen.emplace_back(static_cast<int>(a.phase), a.peer, a.op, a.chunk, a.bytes, a.qp);
      *timed &= a.time_ns > 0;
    });
    std::ranges::sort(seen);
  }
  return all;
}

TEST(DeviceSlots, ArrivalsAreRecordedAsFromTheHost) {
  const WorldCase c = two_by_two(90, 5);
  bool timed = true;
  std::vector<std::vector<std::vector<Seen>>> seen;
  for (const bool device : {false, true}) {
    Rules rules;
    rules.rounds = 2;
    const auto rigs = put_on_devices(c.world, rules);
    rules.hook = [place = rules.hook, device](int rank, engine::BufferHooks& hooks) {
      place(rank, hooks);
      if (!device) hooks.place_slots = nullptr;
    };
    rules.tune = [](BufferOptions& o) {
      o.chunk_tokens = 8;
      o.qps = 3;
    };
    const Status status = run_rounds(c, rules);
    ASSERT_TRUE(status) << status.error().to_string();
    seen.push_back(arrivals_of(*rigs, &timed));
  }
  EXPECT_TRUE(timed);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_GT(seen[0][r].size(), 20U) << r;
  EXPECT_EQ(seen[0], seen[1]);
}

}  // namespace
}  // namespace shunt
