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

std::vector<Region> regions_of(const std::vector<std::uint64_t>& sizes) {
  // Only the sizes matter: nothing is read.
  std::vector<Region> regions;
  for (const std::uint64_t size : sizes) {
    regions.push_back({{static_cast<std::byte*>(nullptr), static_cast<std::size_t>(size)}});
  }
  return regions;
}

TEST(PutCheck, AgreesWithArithmeticThatCannotOverflow) {
  using Wide = unsigned __int128;
  const std::vector<std::uint64_t> values{
      0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 32, kHuge - 8, kHuge - 1, kHuge};
  for (const std::vector<std::uint64_t>& sizes :
       {std::vector<std::uint64_t>{8}, {16}, {8, 16}, {16, 8}, {1, 24}}) {
    const Space space(regions_of(sizes));
    for (const std::uint64_t offset : values) {
      for (const std::uint64_t bytes : values) {
        bool expected = false;
        Wide begin = 0;
        for (const std::uint64_t& size : sizes) {
          const bool last = &size == &sizes.back();
          // Where one region ends and the next begins, an offset belongs to the latter.
          const bool starts = offset >= begin && (offset < begin + size || last);
          expected |= starts && Wide{offset} + bytes <= begin + size;
          begin += size;
        }
        EXPECT_EQ(space.holds(offset, bytes), expected)
            << offset << " + " << bytes << " in " << sizes.front() << " of " << sizes.size();
      }
    }
  }
}

TEST(PutCheck, NothingFitsWhereNoPeerIsConnected) {
  EXPECT_FALSE(Space().holds(0, 0));
  EXPECT_FALSE(Space().holds(0, 1));
}

TEST(PutCheck, RegionsThatCannotBeExposedAreNamed) {
  EXPECT_TRUE(check_regions(regions_of({1, 2}), "mock").has_value());
  EXPECT_THAT(check_regions({}, "mock").error().message, HasSubstr("0 regions"));
  EXPECT_THAT(check_regions(regions_of({1, 2, 3}), "net").error().message,
              HasSubstr("fabric net: 3 regions to expose; 1 to 2"));
  EXPECT_THAT(check_regions(regions_of({1, 0}), "net").error().message, HasSubstr("is empty"));
  EXPECT_THAT(check_regions(regions_of({kHuge, 1}), "net").error().message, HasSubstr("too large"));
}

class Refusal : public ::testing::Test {
 protected:
  std::vector<Space> targets_{Space(regions_of({64})), Space()};
  PutLimits limits_{Space(regions_of({128})), targets_, 2};
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

TEST_F(Refusal, NamesTheBorderBetweenRegions) {
  const Put put{.source_offset = 96, .target_offset = 0, .bytes = 33, .peer = 0};
  limits_.source = Space(regions_of({128, 64}));
  EXPECT_FALSE(allowed(put, limits_));
  EXPECT_THAT(
      explain_refusal(put, limits_).message,
      HasSubstr("33 bytes at offset 96 leave this rank's exposed region, which ends at 128"));
  EXPECT_TRUE(allowed(Put{.source_offset = 128, .bytes = 64, .peer = 0}, limits_));
}

TEST_F(Refusal, LetsTheLastByteThrough) {
  EXPECT_TRUE(allowed(Put{.source_offset = 120, .target_offset = 56, .bytes = 8}, limits_));
  EXPECT_TRUE(allowed(Put{.source_offset = 128, .target_offset = 64, .bytes = 0}, limits_));
}

}  // namespace
}  // namespace shunt::fabric
