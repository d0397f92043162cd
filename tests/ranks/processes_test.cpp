// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Dispatch and combine between processes: shared-memory heaps, libfabric over loopback, and peers
// that die or stop in the middle of operations.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "bootstrap/launch.hpp"
#include "fabric/faulty_fabric.hpp"
#include "fabric/libfabric_fabric.hpp"
#include "support/device_slots.hpp"
#include "support/world_run.hpp"

namespace shunt {
namespace {

using bootstrap::World;
using engine::BufferState;
using ::testing::HasSubstr;
using testing::RankRun;
using testing::WorldCase;
using Bytes = std::vector<std::byte>;

// Machines that run tests are shared: a rank may not run for seconds without being lost.
constexpr std::uint64_t kPatience_ns = 120'000'000'000;
constexpr std::uint64_t kCalm_ns = 30'000'000'000;

struct Shape {
  const char* name;
  int nodes, ranks_per_node;
  int proxy_threads = 1;
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.name;
  }
};

WorldCase make_case(const Shape& shape, std::int64_t tokens, std::uint64_t seed) {
  WorldCase c;
  c.world = shape.nodes * shape.ranks_per_node;
  c.ranks_per_node = shape.ranks_per_node;
  c.experts = c.world * 2;
  c.topk = 3;
  c.hidden = 64;
  Random random(seed);
  c.ids.resize(static_cast<std::size_t>(c.world));
  for (int r = 0; r < c.world; ++r) {
    for (std::int64_t i = 0; i < (tokens + r) * c.topk; ++i) {
      const bool none = random.below(8) == 0;
      c.ids[static_cast<std::size_t>(r)].push_back(
          none ? -1
               : static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(c.experts))));
    }
  }
  return c;
}

BufferOptions make_options(const Shape& shape, const WorldCase& c) {
  BufferOptions o = testing::options_of(c);
  o.proxy_threads = shape.proxy_threads;
  o.heap_bytes = std::size_t{2} << 20;
  o.chunk_tokens = 5;
  o.credits = 3;
  o.qps = 2;
  o.deadline_ns = kPatience_ns;
  o.heartbeat_ns = kCalm_ns;
  return o;
}

/// Runs `rank_main` as the ranks of a world of processes; what a rank returns is its result.
Result<bootstrap::LaunchOutcome> launch(int ranks,
                                        const std::function<Result<std::string>(World&)>& body) {
  bootstrap::LaunchOptions options;
  options.ranks = ranks;
  options.deadline_ns = kPatience_ns;
  options.grace_ns = kPatience_ns;  // The others must end by themselves.
  return bootstrap::launch_local(options, [&body](World& world) -> Result<Bytes> {
    auto text = body(world);
    if (!text) return Unexpected(std::move(text).error());
    const auto bytes = std::as_bytes(std::span(text->data(), text->size()));
    return Bytes(bytes.begin(), bytes.end());
  });
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Processes : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes,
                         Processes,
                         ::testing::Values(Shape{"1x4", 1, 4},
                                           Shape{"2x2", 2, 2},
                                           Shape{"2x1", 2, 1},
                                           Shape{"4x2", 4, 2},
                                           Shape{"3x3by2threads", 3, 3, 2},
                                           Shape{"4x2by3threads", 4, 2, 3}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(Processes, EveryElementIsRightForManyRounds) {
  const WorldCase c = make_case(GetParam(), 23, 5);
  const auto outcome = launch(c.world, [&](World& world) -> Result<std::string> {
    auto state = BufferState::create(world, make_options(GetParam(), c));
    if (!state) return Unexpected(state.error());
    for (int i = 0; i < 60; ++i) {
      RankRun run(**state, c, i % 2 == 0);
      SHUNT_TRY(run.round(i));
    }
    const std::string provider = (*state)->provider();
    (*state)->close();
    return provider;
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  ASSERT_TRUE(outcome->status) << outcome->status.error().to_string();
  for (const auto& rank : outcome->ranks) {
    EXPECT_EQ(text_of(rank.result).empty(), GetParam().nodes == 1);
  }
}

TEST_P(Processes, BuffersComeAndGo) {
  const WorldCase c = make_case(GetParam(), 4, 6);
  const auto outcome = launch(c.world, [&](World& world) -> Result<std::string> {
    for (int i = 0; i < 4; ++i) {
      auto state = BufferState::create(world, make_options(GetParam(), c));
      if (!state) return Unexpected(state.error());
      RankRun run(**state, c, false);
      SHUNT_TRY(run.round(i));
      (*state)->close();
    }
    return std::string();
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(outcome->status) << outcome->status.error().to_string();
}

TEST_P(Processes, SlotsThatTheHostMustNotTouchAreCarried) {
  const WorldCase c = make_case(GetParam(), 23, 8);
  const auto outcome = launch(c.world, [&c](World& world) -> Result<std::string> {
    testing::DeviceSlots slots;
    record::Recorder recorder(1U << 14);
    engine::BufferHooks hooks;
    hooks.recorder = &recorder;
    hooks.place_slots = [&slots](std::size_t bytes) {
      auto placed = testing::place_on_device(slots, bytes);
      // To tcp it is memory like any other.
      if (placed) placed->region.kind = fabric::Region::Kind::kHost;
      return placed;
    };
    BufferOptions options = make_options(GetParam(), c);
    options.chunk_tokens = 3;
    auto state = BufferState::create(world, options, hooks);
    if (!state) return Unexpected(state.error());
    for (int i = 0; i < 5; ++i) SHUNT_TRY(RankRun(**state, c, i % 2 == 0).round(i));
    (*state)->close();
    return std::string();
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(outcome->status) << outcome->status.error().to_string();
}

TEST_P(Processes, TwoBuffersSideBySideWithSeveralBlocks) {
  const WorldCase c = make_case(GetParam(), 17, 9);
  const auto outcome = launch(c.world, [&](World& world) -> Result<std::string> {
    BufferOptions options = make_options(GetParam(), c);
    auto one = BufferState::create(world, options);
    if (!one) return Unexpected(one.error());
    options.rdma_blocks = 2;
    options.blocks = 3;
    options.credits = 1;
    options.chunk_tokens = 2;
    auto two = BufferState::create(world, options);
    if (!two) return Unexpected(two.error());
    for (int i = 0; i < 15; ++i) {
      RankRun first(**one, c, true);
      RankRun second(**two, c, false);
      SHUNT_TRY(first.start_dispatch(i));
      SHUNT_TRY(second.round(i + 1));
      SHUNT_TRY(first.check_dispatch(i));
      first.run_experts();
      SHUNT_TRY(first.start_combine());
      SHUNT_TRY(first.check_combine(i, [](int, int, std::int64_t) { return true; }));
    }
    (*one)->close();
    (*two)->close();
    return std::string();
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(outcome->status) << outcome->status.error().to_string();
}

// Loopback keeps the order of puts; networks with adaptive routing do not.
TEST_P(Processes, DisorderOnTheWireChangesNothing) {
  const WorldCase c = make_case(GetParam(), 19, 10);
  const auto outcome = launch(c.world, [&](World& world) -> Result<std::string> {
    BufferOptions options = make_options(GetParam(), c);
    options.chunk_tokens = 3;
    engine::BufferHooks hooks;
    hooks.make_fabric = [&](int queue_pairs,
                            int thread) -> Result<std::unique_ptr<fabric::Fabric>> {
      auto inner = fabric::create_libfabric({.qps = queue_pairs});
      if (!inner) return Unexpected(inner.error());
      auto faulty = fabric::FaultyFabric::create(
          std::move(*inner),
          {.seed = 40U + static_cast<unsigned>(world.rank() + thread * world.size()),
           .hold_puts = 5,
           .hold_arrivals = 7,
           .hold_completions = 4,
           .duplicate_arrival = 0.3,
           .duplicate_completion = 0.3,
           .refuse_post = 0.2,
           .storm_posts = 2});
      if (!faulty) return Unexpected(faulty.error());
      return std::unique_ptr<fabric::Fabric>(std::move(*faulty));
    };
    auto state = BufferState::create(world, options, hooks);
    if (!state) return Unexpected(state.error());
    for (int i = 0; i < 12; ++i) SHUNT_TRY(RankRun(**state, c, false).round(i));
    bool stale = false;
    const engine::ProxyGroup& threads = (*state)->progress();
    for (int t = 0; t < threads.size(); ++t) {
      stale = stale || threads.thread(t).stats().stale_signals.get() > 0;
    }
    (*state)->close();
    return std::string(stale ? "duplicates were seen" : "");
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  ASSERT_TRUE(outcome->status) << outcome->status.error().to_string();
  for (const auto& rank : outcome->ranks) {
    EXPECT_EQ(text_of(rank.result).empty(), GetParam().nodes == 1);
  }
}

/// What happens to one rank.
struct Loss {
  const char* name;
  Shape shape;
  int victim;
  int signal;
  friend std::ostream& operator<<(std::ostream& out, const Loss& loss) { return out << loss.name; }
};

constexpr std::uint64_t kHeartbeat_ns = 2'000'000'000;
constexpr int kQuietRounds = 5;
// Far more than a heartbeat on a machine that is shared, far less than the deadline of a wait.
constexpr std::uint64_t kSoon_ns = kPatience_ns / 3;

/// Memory that all ranks of a launch share. The last survivor ends the victim, which may be
/// stopped: nobody else would.
struct Shared {
  std::atomic<int> victim{0};
  std::atomic<int> ended{0};
};

class SharedPage {
 public:
  SharedPage()
      : page_(::mmap(
            nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    new (page_) Shared();
  }
  ~SharedPage() { ::munmap(page_, sizeof(Shared)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  Shared* operator->() const { return static_cast<Shared*>(page_); }

 private:
  void* page_;
};

void end_survivor(const SharedPage& shared, int world, int signal = SIGKILL) {
  if (shared->ended.fetch_add(1) + 1 == world - 1) ::kill(shared->victim.load(), signal);
}

/// Rounds until an error comes, which is returned as text. The victim signals itself in a block of
/// its sixth round.
Result<std::string> run_until_lost(World& world,
                                   const WorldCase& c,
                                   const Loss& loss,
                                   bool in_time = true) {
  BufferOptions options = make_options(loss.shape, c);
  options.heartbeat_ns = kHeartbeat_ns;
  engine::BufferHooks hooks;
  hooks.before_operation = [&](int role, int, std::uint64_t op) {
    const bool intra = role == static_cast<int>(engine::Role::kIntra);
    if (world.rank() == loss.victim && intra && op == 2 * kQuietRounds + 1) {
      ::kill(::getpid(), loss.signal);
    }
  };
  auto state = BufferState::create(world, options, hooks);
  if (!state) return Unexpected(state.error());
  Status status;
  std::uint64_t begin = now_ns();
  for (int i = 0; status; ++i) {
    RankRun run(**state, c, i % 2 == 0);
    if (i == kQuietRounds) begin = now_ns();
    status = run.round(i);
  }
  const std::uint64_t heard = now_ns();
  const Status again = RankRun(**state, c, false).round(0);
  if (again || again.error().message != status.error().message) {
    return usage_error("a poisoned Buffer went on");
  }
  (*state)->close();
  state->reset();
  const std::uint64_t closed = now_ns();
  if (in_time && (heard - begin > kSoon_ns || closed - heard > kSoon_ns)) {
    return usage_error("the error took {} and closing {}: {}",
                       format_ns(heard - begin),
                       format_ns(closed - heard),
                       status.error().message);
  }
  return std::string(to_string(status.error().code)) + ": " + status.error().message;
}

const Loss kKills[] = {{"killed_in_a_node", {"1x4", 1, 4}, 2, SIGKILL},
                       {"killed_on_a_rail", {"2x1", 2, 1}, 1, SIGKILL},
                       {"killed_in_2x2", {"2x2", 2, 2}, 3, SIGKILL},
                       {"killed_in_3x2", {"3x2", 3, 2}, 3, SIGKILL},
                       {"killed_in_3x2_by_2_threads", {"3x2", 3, 2, 2}, 3, SIGKILL},
                       {"killed_in_4x2_by_3_threads", {"4x2", 4, 2, 3}, 0, SIGKILL}};
const Loss kStops[] = {{"stopped_in_a_node", {"1x4", 1, 4}, 1, SIGSTOP},
                       {"stopped_on_a_rail", {"2x1", 2, 1}, 0, SIGSTOP},
                       {"stopped_in_2x2", {"2x2", 2, 2}, 0, SIGSTOP},
                       {"stopped_in_3x2", {"3x2", 3, 2}, 4, SIGSTOP},
                       {"stopped_in_3x2_by_2_threads", {"3x2", 3, 2, 2}, 4, SIGSTOP}};
const auto kName = [](const auto& tested) { return tested.param.name; };

class Lost : public ::testing::TestWithParam<Loss> {};
INSTANTIATE_TEST_SUITE_P(Killed, Lost, ::testing::ValuesIn(kKills), kName);
INSTANTIATE_TEST_SUITE_P(Stopped, Lost, ::testing::ValuesIn(kStops), kName);

class Back : public ::testing::TestWithParam<Loss> {};
INSTANTIATE_TEST_SUITE_P(Stopped, Back, ::testing::ValuesIn(kStops), kName);

TEST_P(Lost, EveryOtherRankSaysWhoAndEnds) {
  const Loss& loss = GetParam();
  const WorldCase c = make_case(loss.shape, 20, 7);
  const SharedPage shared;
  const auto outcome = launch(c.world, [&](World& world) -> Result<std::string> {
    if (world.rank() == loss.victim) shared->victim = ::getpid();
    auto said = run_until_lost(world, c, loss);
    end_survivor(shared, c.world);
    return said;
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->ranks[static_cast<std::size_t>(loss.victim)].signal, SIGKILL);
  for (int r = 0; r < c.world; ++r) {
    if (r == loss.victim) continue;
    const auto& rank = outcome->ranks[static_cast<std::size_t>(r)];
    EXPECT_FALSE(rank.error) << "rank " << r << ": " << rank.error->to_string();
    EXPECT_THAT(text_of(rank.result),
                AllOf(HasSubstr(to_string(ErrorCode::kPeerLost)),
                      HasSubstr(fmt::format("rank {}", loss.victim)),
                      HasSubstr("was lost")))
        << "rank " << r;
  }
}

// A rank that comes back after the others have given it up must learn so, and end.
TEST_P(Back, ALostRankEndsToo) {
  const Loss& loss = GetParam();
  const WorldCase c = make_case(loss.shape, 20, 7);
  const SharedPage shared;
  const auto outcome = launch(c.world, [&](World& world) -> Result<std::string> {
    const bool victim = world.rank() == loss.victim;
    if (victim) shared->victim = ::getpid();
    auto said = run_until_lost(world, c, loss, !victim);
    if (!victim) end_survivor(shared, c.world, SIGCONT);
    return said;
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(outcome->status) << outcome->status.error().to_string();
  const auto& victim = outcome->ranks[static_cast<std::size_t>(loss.victim)];
  EXPECT_EQ(victim.signal, 0);
  EXPECT_THAT(text_of(victim.result), HasSubstr(to_string(ErrorCode::kPeerLost)));
}

// All operations have ended; a rank is lost before it has said goodbye.
TEST_P(Lost, ClosingDoesNotWaitForIt) {
  const Loss& loss = GetParam();
  const WorldCase c = make_case(loss.shape, 9, 8);
  const SharedPage shared;
  const auto outcome = launch(c.world, [&](World& world) -> Result<std::string> {
    BufferOptions options = make_options(loss.shape, c);
    options.heartbeat_ns = kHeartbeat_ns;
    auto state = BufferState::create(world, options);
    if (!state) return Unexpected(state.error());
    for (int i = 0; i < kQuietRounds; ++i) SHUNT_TRY(RankRun(**state, c, false).round(i));
    if (world.rank() == loss.victim) shared->victim = ::getpid();
    SHUNT_TRY(world.barrier());
    if (world.rank() == loss.victim) ::kill(::getpid(), loss.signal);
    const std::uint64_t begin = now_ns();
    (*state)->close();
    state->reset();
    const std::uint64_t took = now_ns() - begin;
    end_survivor(shared, c.world);
    if (took > kSoon_ns) return usage_error("closing took {}", format_ns(took));
    return std::string("closed");
  });
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  for (int r = 0; r < c.world; ++r) {
    const auto& rank = outcome->ranks[static_cast<std::size_t>(r)];
    if (r == loss.victim) continue;
    EXPECT_FALSE(rank.error) << "rank " << r << ": " << rank.error->to_string();
    EXPECT_EQ(text_of(rank.result), "closed");
  }
}

}  // namespace
}  // namespace shunt
