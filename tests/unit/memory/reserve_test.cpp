// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/reserve.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::memory {
namespace {

using ::testing::HasSubstr;

/// Fake /proc and /sys/fs/cgroup under one temporary folder.
class ReserveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/reserveXXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::optional<Available> available() {
    return available_memory((root_ / "proc").string(), (root_ / "cgroup").string());
  }

  std::filesystem::path root_;
};

TEST_F(ReserveTest, NothingKnownIsNothingRefused) {
  EXPECT_FALSE(available());
  EXPECT_TRUE(check_available(std::uint64_t{1} << 60, 8, available()));
}

TEST_F(ReserveTest, MemAvailableIsInKibibytes) {
  put("proc/meminfo", "MemTotal:  9 kB\nMemAvailable:    2048 kB\n");
  ASSERT_TRUE(available());
  EXPECT_EQ(available()->bytes, 2048U * 1024);
}

TEST_F(ReserveTest, TheTightestGroupOnThePathDecides) {
  put("proc/meminfo", "MemAvailable: 1000000 kB\n");
  put("proc/self/cgroup", "0::/jobs/one\n");
  put("cgroup/jobs/memory.max", "5000000\n");
  put("cgroup/jobs/memory.current", "4000000\n");
  put("cgroup/jobs/memory.stat", "anon 5\ninactive_file 500000\n");
  put("cgroup/jobs/one/memory.max", "max\n");
  put("cgroup/jobs/one/memory.current", "4000000\n");
  ASSERT_TRUE(available());
  EXPECT_EQ(available()->bytes, 1'500'000U);
  EXPECT_EQ(available()->source, "the memory limit of control group /jobs");
}

TEST_F(ReserveTest, AGroupOverItsLimitAllowsNothing) {
  put("proc/self/cgroup", "0::/\n");
  put("cgroup/memory.max", "100\n");
  put("cgroup/memory.current", "200\n");
  ASSERT_TRUE(available());
  EXPECT_EQ(available()->bytes, 0U);
}

TEST(CheckAvailable, CountsAllRanksAndSaysWhoLimits) {
  const Available available{1 << 20, "the memory limit of control group /x"};
  EXPECT_TRUE(check_available(1 << 18, 4, available));
  const Status refused = check_available((1 << 18) + 1, 4, available);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("control group /x allows 1 MiB"));
  EXPECT_FALSE(check_available(~std::uint64_t{0}, 1 << 30, available)) << "no overflow";
}

}  // namespace
}  // namespace shunt::memory
