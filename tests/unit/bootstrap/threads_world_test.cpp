// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/threads_world.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "bootstrap/collective.hpp"
#include "bootstrap/names.hpp"

namespace shunt::bootstrap {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kLong = 60'000'000'000;

/// What `rank` gives in `round`: a size and contents that only this pair has.
std::vector<std::byte> blob_of(int rank, int round) {
  Random random(static_cast<std::uint64_t>(rank * 1000 + round));
  std::vector<std::byte> blob(random.below(300));
  for (std::byte& b : blob) b = static_cast<std::byte>(random.next());
  return blob;
}

TEST(ThreadsWorld, EveryRankGetsEveryBlobInEveryRound) {
  for (const int ranks : {1, 2, 3, 8}) {
    const Status status = run_threads(ranks, kLong, [ranks](World& world) -> Status {
      EXPECT_EQ(world.size(), ranks);
      EXPECT_TRUE(world.one_process());
      EXPECT_STREQ(world.kind(), "threads");
      for (int round = 0; round < 50; ++round) {
        const Result<Blobs> all = world.all_gather(blob_of(world.rank(), round));
        if (!all) return Unexpected(all.error());
        Blobs expected;
        for (int rank = 0; rank < ranks; ++rank) expected.push_back(blob_of(rank, round));
        EXPECT_EQ(*all, expected);
      }
      return {};
    });
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(ThreadsWorld, NobodyPassesABarrierBeforeAllHaveEntered) {
  constexpr int kRanks = 6;
  std::atomic<int> entered = 0;
  const Status status = run_threads(kRanks, kLong, [&entered](World& world) -> Status {
    for (int round = 1; round <= 100; ++round) {
      entered.fetch_add(1);
      SHUNT_TRY(world.barrier());
      EXPECT_GE(entered.load(), round * kRanks);
      SHUNT_TRY(world.barrier());
    }
    return {};
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(ThreadsWorld, AFailedRankEndsTheWaitOfTheOthersAndIsNamed) {
  std::atomic<int> told = 0;
  const Status status = run_threads(4, kLong, [&told](World& world) -> Status {
    SHUNT_TRY(world.barrier());
    if (world.rank() == 2) return usage_error("tokens -5 are not allowed");
    const Status barrier = world.barrier();
    EXPECT_FALSE(barrier);
    EXPECT_EQ(barrier.error().code, ErrorCode::kPeerLost);
    EXPECT_EQ(barrier.error().message, "rank 2 failed: tokens -5 are not allowed");
    told.fetch_add(1);
    return barrier;
  });
  EXPECT_EQ(told.load(), 3);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, "rank 2: tokens -5 are not allowed");
}

TEST(ThreadsWorld, ARankThatLeavesEarlyIsNamed) {
  const Status status = run_threads(3, kLong, [](World& world) -> Status {
    if (world.rank() == 1) return {};
    const Status barrier = world.barrier();
    EXPECT_FALSE(barrier);
    EXPECT_EQ(barrier.error().code, ErrorCode::kPeerLost);
    EXPECT_THAT(barrier.error().message, HasSubstr("rank 1 left the world before the barrier"));
    EXPECT_FALSE(world.barrier()) << "a failed world stays failed";
    return {};
  });
  EXPECT_TRUE(status) << "no rank reported a failure";
}

TEST(ThreadsWorld, LeavingAfterTheLastCallIsNoFailure) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Status status =
        run_threads(4, kLong, [](World& world) -> Status { return world.barrier(); });
    ASSERT_TRUE(status) << status.error().message;
  }
}

TEST(ThreadsWorld, AnExpiredDeadlineNamesWhoIsMissing) {
  std::atomic<bool> expired = false;
  const Status status = run_threads(3, 1'000'000, [&expired](World& world) -> Status {
    if (world.rank() == 0) {
      while (!expired.load()) std::this_thread::yield();
      return {};
    }
    const Status barrier = world.barrier();
    expired.store(true);
    return barrier;
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(status.error().message, HasSubstr("barrier not entered by rank"));
  EXPECT_THAT(status.error().message, HasSubstr("0"));
  EXPECT_THAT(status.error().message, HasSubstr("within 1.00 ms"));
}

TEST(ThreadsWorld, DifferentCallsAreRefused) {
  const Status status = run_threads(2, kLong, [](World& world) -> Status {
    if (world.rank() == 0) return world.barrier();
    const Result<Blobs> all = world.all_gather({});
    EXPECT_FALSE(all);
    return Unexpected(all.error());
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(status.error().message, HasSubstr("same calls in the same order"));
}

TEST(ThreadsWorld, AnExceptionIsAFailureOfItsRank) {
  const Status status = run_threads(2, kLong, [](World& world) -> Status {
    if (world.rank() == 1) throw std::runtime_error("boom");
    return world.barrier();
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "rank 1: exception: boom");
}

TEST(ThreadsWorld, NoRanksAreRefused) {
  const Status status = run_threads(0, kLong, [](World&) -> Status { return {}; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
}

TEST(Collective, ValuesArriveInRankOrder) {
  struct Pair {
    int rank;
    double value;
  };
  const Status status = run_threads(5, kLong, [](World& world) -> Status {
    const auto all = all_gather_value(world, Pair{world.rank(), world.rank() * 0.5});
    if (!all) return Unexpected(all.error());
    EXPECT_EQ(all->size(), 5U);
    for (int rank = 0; rank < 5; ++rank) {
      EXPECT_EQ((*all)[static_cast<std::size_t>(rank)].rank, rank);
      EXPECT_EQ((*all)[static_cast<std::size_t>(rank)].value, rank * 0.5);
    }
    return {};
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(Collective, AValueOfAnotherSizeNamesItsRank) {
  (void)run_threads(3, kLong, [](World& world) -> Status {
    std::string message;
    if (world.rank() == 1) {
      const auto all = all_gather_value<std::uint16_t>(world, 1);
      EXPECT_FALSE(all);
    } else {
      const auto all = all_gather_value<std::uint64_t>(world, 1);
      EXPECT_FALSE(all);
      EXPECT_EQ(all.error().code, ErrorCode::kProtocol);
      EXPECT_THAT(all.error().message, HasSubstr("rank 1 sent 2 bytes where 8"));
    }
    return {};
  });
}

TEST(Collective, AllAgreeOnTheFailureOfTheLowestRank) {
  (void)run_threads(4, kLong, [](World& world) -> Status {
    EXPECT_TRUE(agree(world, {}, "step"));
    Status mine;
    if (world.rank() == 1 || world.rank() == 3) {
      mine = fail(ErrorCode::kOutOfMemory, ErrorScope::kOperation, "{} is full", world.rank());
    }
    const Status all = agree(world, mine, "step");
    EXPECT_FALSE(all);
    EXPECT_EQ(all.error().code, ErrorCode::kOutOfMemory);
    const std::string expected = world.rank() == 3 ? "3 is full" : "1 is full";
    EXPECT_THAT(all.error().message, HasSubstr(expected));
    if (world.rank() == 0) {
      EXPECT_EQ(all.error().message, "rank 1: 1 is full");
    }
    return {};
  });
}

TEST(Names, RanksReadAsASentence) {
  EXPECT_EQ(name_ranks(std::vector<int>{}), "no rank");
  EXPECT_EQ(name_ranks(std::vector<int>{7}), "rank 7");
  EXPECT_EQ(name_ranks(std::vector<int>{1, 2}), "ranks 1 and 2");
  EXPECT_EQ(name_ranks(std::vector<int>{1, 2, 3, 4, 5}), "ranks 1, 2, 3, 4 and 5");
  EXPECT_EQ(name_ranks(std::vector<int>{1, 2, 3, 4, 5, 6}), "ranks 1, 2, 3, 4 and 2 more");
}

}  // namespace
}  // namespace shunt::bootstrap
