// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/put_check.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::fabric {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

TEST(PutCheck, AgreesWithArithmeticThatCannotOverflow) {
  const std::vector<std::uint64_t> values{0, 1, 7, 8, 9, 15, 16, 17, kHuge - 8, kHuge - 1, kHuge};
  for (const std::uint64_t region : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{16}}) {
    for (const std::uint64_t offset : values) {
      for (const std::uint64_t bytes : values) {
        const bool expected = static_cast<unsigned __int128>(offset) + bytes <=
                              static_cast<unsigned __int128>(region);
        EXPECT_EQ(inside(offset, bytes, region + 1), expected)
            << offset << " + " << bytes << " in " << region;
      }
    }
  }
}

TEST(PutCheck, NothingFitsWhereNoPeerIsConnected) {
  EXPECT_FALSE(inside(0, 0, 0));
  EXPECT_FALSE(inside(0, 1, 0));
}

class Refusal : public ::testing::Test {
 protected:
  std::vector<std::uint64_t> ends_{65, 0};
  PutLimits limits_{128, ends_, 2};
};

TEST_F(Refusal, NamesWhatIsWrong) {
  struct Case {
    Put put;
    const char* text;
  };
  const std::vector<Case> cases{
      {Put{.context = 7, .peer = 2}, "no such peer (2 connected)"},
      {Put{.context = 7, .peer = -1}, "no such peer"},
      {Put{.context = 7, .peer = 1}, "the peer is not connected"},
      {Put{.context = 7, .peer = 0, .qp = 2}, "queue pair 2 does not exist (0 to 1"},
      {Put{.context = 7, .peer = 0, .qp = -1}, "queue pair -1"},
      {Put{.context = kNoContext, .peer = 0}, "reserved"},
      {Put{.context = 7, .source_offset = 120, .bytes = 9, .peer = 0},
       "9 bytes at offset 120 leave this rank's exposed region of 128 bytes"},
      {Put{.context = 7, .target_offset = 60, .bytes = 5, .peer = 0},
       "5 bytes at offset 60 leave the target's region of 64 bytes"},
  };
  for (const Case& c : cases) {
    EXPECT_FALSE(allowed(c.put, limits_)) << c.text;
    EXPECT_THAT(explain_refusal(c.put, limits_).message, HasSubstr(c.text));
  }
  EXPECT_THAT(explain_refusal(cases[0].put, limits_).message, HasSubstr("put 7 to peer 2"));
}

TEST_F(Refusal, LetsTheLastByteThrough) {
  EXPECT_TRUE(allowed(Put{.source_offset = 120, .target_offset = 56, .bytes = 8}, limits_));
  EXPECT_TRUE(allowed(Put{.source_offset = 128, .target_offset = 64, .bytes = 0}, limits_));
}

}  // namespace
}  // namespace shunt::fabric
