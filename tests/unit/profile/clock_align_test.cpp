// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/clock_align.hpp"

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "profile/run_reader.hpp"

namespace shunt::profile {
namespace {

using Blobs = std::vector<std::vector<std::byte>>;

/// An all-gather among threads.
class Meeting {
 public:
  explicit Meeting(int world) : blobs_(static_cast<std::size_t>(world)) {}

  Blobs exchange(int rank, std::span<const std::byte> mine) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    blobs_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
    if (++entered_ == blobs_.size()) {
      entered_ = 0;
      ++round_;
      result_ = blobs_;
      all_in_.notify_all();
    }
    all_in_.wait(lock, [&] { return round_ != round; });
    return result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_in_;
  Blobs blobs_;
  Blobs result_;
  std::size_t entered_ = 0;
  std::uint64_t round_ = 0;
};

/// Time that passes only when somebody looks: no test waits for it, and its order is that of the
/// program.
class TrueTime {
 public:
  std::uint64_t look(std::uint64_t cost) { return time_.fetch_add(cost) + cost; }

 private:
  std::atomic<std::uint64_t> time_{1'000'000'000};
};

struct SimulatedClock {
  std::int64_t offset = 0;
  double drift_ppb = 0;
  std::string identity;

  [[nodiscard]] std::uint64_t read(std::uint64_t true_ns) const {
    const double drift = drift_ppb * 1e-9 * static_cast<double>(true_ns);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(true_ns) + offset +
                                      std::llround(drift));
  }
};

/// Samples at the start and, `apart_ns` later, at the end; the fits of every rank.
std::vector<std::vector<ClockFit>> align(const std::vector<SimulatedClock>& clocks,
                                         std::uint64_t apart_ns) {
  const int world = static_cast<int>(clocks.size());
  Meeting meeting(world);
  TrueTime time;
  std::vector<std::vector<ClockFit>> fits(clocks.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      const auto index = static_cast<std::size_t>(rank);
      Random random(static_cast<std::uint64_t>(rank) + 1);
      auto aligner = ClockAligner::create(
          world,
          [&](std::span<const std::byte> mine) -> Result<Blobs> {
            return meeting.exchange(rank, mine);
          },
          [&] { return clocks[index].read(time.look(1 + random.below(5000))); },
          clocks[index].identity);
      if (!aligner || !aligner->sample()) return;
      if (rank == 0) time.look(apart_ns);
      if (!aligner->sample()) return;
      fits[index] = aligner->fits();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return fits;
}

TEST(ClockAligner, TheTrueOffsetLiesWithinTheResidualAllAlong) {
  const std::vector<SimulatedClock> clocks = {
      {0, 0, "a"}, {-400'000'000, 0, "b"}, {7'000'000'000'000, 20'000, "c"}, {123, -50'000, "d"}};
  constexpr std::uint64_t kApart = 10'000'000'000;
  const auto all = align(clocks, kApart);
  for (std::size_t rank = 0; rank < clocks.size(); ++rank) {
    ASSERT_EQ(all[rank].size(), clocks.size());
    for (std::size_t other = 0; other < clocks.size(); ++other) {
      const ClockFit& fit = all[rank][other];
      EXPECT_EQ(fit.offset_ns, all[0][other].offset_ns) << "all ranks agree";
      EXPECT_LE(fit.residual_ns, 1'000'000U);
      for (std::uint64_t t = 1'000'000'000; t <= 1'000'000'000 + kApart; t += kApart / 7) {
        const auto mapped = static_cast<std::int64_t>(to_reference(fit, clocks[other].read(t)));
        const auto error = std::abs(mapped - static_cast<std::int64_t>(t));
        // 50 ppm over the rounds of one sample (below 2 ms here) add 100 ns at each end.
        EXPECT_LE(error, static_cast<std::int64_t>(fit.residual_ns) + 250) << other << " at " << t;
      }
    }
  }
  // Each end may be off by its residual, over 10 s.
  EXPECT_NEAR(all[0][2].drift_ppb, -20'000, 0.2 * static_cast<double>(all[0][2].residual_ns) + 50);
}

TEST(ClockAligner, RanksOfOneHostShareTheirClockExactly) {
  const auto all = align({{0, 0, "a"}, {0, 0, "a"}, {5000, 0, "b"}, {5000, 0, "b"}}, 1000);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(all[3][static_cast<std::size_t>(rank)].offset_ns, 0);
    EXPECT_EQ(all[3][static_cast<std::size_t>(rank)].residual_ns, 0U);
    EXPECT_EQ(all[3][static_cast<std::size_t>(rank)].drift_ppb, 0.0);
  }
  EXPECT_EQ(all[0][2].offset_ns, all[0][3].offset_ns);
  EXPECT_EQ(all[0][2].residual_ns, all[0][3].residual_ns);
  EXPECT_LE(std::abs(all[0][2].offset_ns + 5000), static_cast<std::int64_t>(all[0][2].residual_ns));
  EXPECT_GT(all[0][2].residual_ns, 0U);
}

TEST(ClockAligner, AnUnknownHostSharesNoClock) {
  const auto all = align({{0, 0, ""}, {90'000'000, 0, ""}}, 1000);
  EXPECT_LE(std::abs(all[1][1].offset_ns + 90'000'000),
            static_cast<std::int64_t>(all[1][1].residual_ns));
}

TEST(ClockAligner, ThisHostHasAnIdentityAndItIsStable) {
  EXPECT_EQ(host_clock_identity(), host_clock_identity());
}

TEST(ClockAligner, AFailedExchangeIsPassedOn) {
  const auto aligner = ClockAligner::create(
      2,
      [](std::span<const std::byte>) -> Result<Blobs> {
        return Unexpected(Error{ErrorCode::kPeerLost, ErrorScope::kFatal, "rank 1 is gone", 0});
      },
      [] { return std::uint64_t{1}; },
      "a");
  ASSERT_FALSE(aligner);
  EXPECT_EQ(aligner.error().code, ErrorCode::kPeerLost);
}

}  // namespace
}  // namespace shunt::profile
