// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/caller_world.hpp"

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "bootstrap/mpi_launch.hpp"
#include "bootstrap/threads_world.hpp"

namespace shunt::bootstrap {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kLong = 60'000'000'000;

/// An all-gather of equal parts such as a caller would bring, over another World.
Status gather_over(World& under, std::span<const std::byte> mine, std::span<std::byte> all) {
  if (mine.empty()) return usage_error("no bytes");
  const Result<Blobs> blobs = under.all_gather(mine);
  if (!blobs) return Unexpected(blobs.error());
  std::byte* to = all.data();
  for (const std::vector<std::byte>& blob : *blobs) {
    if (blob.size() != mine.size()) return usage_error("unequal sizes");
    to = std::copy(blob.begin(), blob.end(), to);
  }
  if (to != all.data() + all.size()) return usage_error("wrong room");
  return {};
}

int gather_for_c(void* context, const void* mine, std::size_t bytes, void* all) {
  World& under = *static_cast<World*>(context);
  const auto room = bytes * static_cast<std::size_t>(under.size());
  return gather_over(under,
                     {static_cast<const std::byte*>(mine), bytes},
                     {static_cast<std::byte*>(all), room})
             ? 0
             : 5;
}

Status exchange_unequal(World& world) {
  for (int round = 0; round < 20; ++round) {
    const auto blob_of = [round](int rank) {
      return std::vector<std::byte>(static_cast<std::size_t>((rank * 7 + round * 3) % 11),
                                    static_cast<std::byte>(rank + round));
    };
    const Result<Blobs> all = world.all_gather(blob_of(world.rank()));
    if (!all) return Unexpected(all.error());
    for (int rank = 0; rank < world.size(); ++rank) {
      EXPECT_EQ((*all)[static_cast<std::size_t>(rank)], blob_of(rank));
    }
    SHUNT_TRY(world.barrier());
  }
  return {};
}

TEST(CallerWorld, UnequalBlobsTravelOverEqualParts) {
  const Status status = run_threads(3, kLong, [](World& under) -> Status {
    const auto world =
        caller_world(under.rank(), under.size(), [&under](auto mine, auto all) -> Status {
          return gather_over(under, mine, all);
        });
    if (!world) return Unexpected(world.error());
    EXPECT_STREQ((*world)->kind(), "caller");
    EXPECT_FALSE((*world)->one_process());
    return exchange_unequal(**world);
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(CallerWorld, ACallbackOfCServesAsWell) {
  const Status status = run_threads(4, kLong, [](World& under) -> Status {
    const auto world = caller_world(under.rank(), under.size(), &gather_for_c, &under);
    if (!world) return Unexpected(world.error());
    return exchange_unequal(**world);
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(CallerWorld, AFailureIsSaidAndFinal) {
  int calls = 0;
  const auto failing = [](void* context, const void*, std::size_t, void*) {
    ++*static_cast<int*>(context);
    return 17;
  };
  const auto world = caller_world(0, 2, +failing, &calls).value();
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Status status = world->barrier();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "the caller's all-gather failed with 17");
  }
  EXPECT_EQ(calls, 1);
}

TEST(CallerWorld, AnExceptionStaysInside) {
  const auto world = caller_world(0, 1, [](auto, auto) -> Status {
                       throw std::runtime_error("no peers");
                     }).value();
  const Status status = world->barrier();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the caller's all-gather threw: no peers");
}

TEST(CallerWorld, AWrongOrderOfRanksIsNoticed) {
  const auto reversed = [](World& under, auto mine, auto all) -> Status {
    SHUNT_TRY(gather_over(under, mine, all));
    std::vector<std::byte> first(all.begin(), all.begin() + static_cast<long>(mine.size()));
    std::copy(all.begin() + static_cast<long>(mine.size()), all.end(), all.begin());
    std::copy(first.begin(), first.end(), all.begin() + static_cast<long>(mine.size()));
    return {};
  };
  (void)run_threads(2, kLong, [&](World& under) -> Status {
    const auto world = caller_world(
        under.rank(), 2, [&](auto mine, auto all) { return reversed(under, mine, all); });
    const Status status = (*world)->barrier();
    EXPECT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(status.error().message, HasSubstr("bytes of rank 1 at place 0"));
    return {};
  });
}

TEST(CallerWorld, ImpossibleRanksAndMissingCallbacksAreRefused) {
  const auto any = [](auto, auto) -> Status { return {}; };
  EXPECT_FALSE(caller_world(2, 2, any));
  EXPECT_FALSE(caller_world(-1, 2, any));
  EXPECT_FALSE(caller_world(0, 0, any));
  EXPECT_FALSE(caller_world(0, 1, AllGatherFunction{}));
  EXPECT_FALSE(caller_world(0, 1, AllGatherCallback{nullptr}, nullptr));
}

std::optional<MpiLaunch> detect(const std::map<std::string, std::string>& environment) {
  return detect_mpi_launch([&environment](const char* name) -> const char* {
    const auto entry = environment.find(name);
    return entry == environment.end() ? nullptr : entry->second.c_str();
  });
}

TEST(MpiLaunch, LaunchersAreRecognised) {
  const auto open_mpi = detect({{"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_RANK", "3"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->launcher, "Open MPI");
  EXPECT_EQ(open_mpi->size, 8);
  EXPECT_EQ(open_mpi->rank, 3);
  EXPECT_EQ(open_mpi->local_size, 4);
  const auto hydra = detect({{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}});
  ASSERT_TRUE(hydra);
  EXPECT_EQ(hydra->size, 1);
  EXPECT_FALSE(hydra->local_size);
  const auto step =
      detect({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "15"}, {"SLURM_STEP_NUM_TASKS", "16"}});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->launcher, "Slurm");
}

TEST(MpiLaunch, ABatchScriptOrNonsenseIsNoLaunch) {
  EXPECT_FALSE(detect({}));
  EXPECT_FALSE(detect({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}));
  EXPECT_FALSE(detect({{"PMI_SIZE", "4"}, {"PMI_RANK", "4"}}));
  EXPECT_FALSE(detect({{"PMI_SIZE", "4x"}, {"PMI_RANK", "1"}}));
  EXPECT_FALSE(detect({{"PMI_SIZE", ""}, {"PMI_RANK", "0"}}));
}

}  // namespace
}  // namespace shunt::bootstrap
