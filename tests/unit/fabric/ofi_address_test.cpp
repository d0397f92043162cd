// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/ofi_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace shunt::fabric::ofi {
namespace {

using ::testing::HasSubstr;

RankAddress sample() {
  RankAddress address;
  address.provider = "verbs;ofi_rxm";
  address.regions.push_back({0x0123'4567'89ab'cdefU, 0xfedc'ba98'7654'3210U});
  address.regions.push_back({4096, 0});
  address.endpoints.push_back({{7, 8}, {std::byte{1}, std::byte{0xff}}});
  address.endpoints.push_back({{~std::uint64_t{0}, 0}, {}});
  return address;
}

TEST(OfiAddress, ComesBackAsItWas) {
  const auto decoded = decode(encode(sample()));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(*decoded, sample());
}

TEST(OfiAddress, EveryCutIsRefused) {
  const std::vector<std::byte> bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::span(bytes).first(size)).has_value()) << size;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer).has_value());
}

TEST(OfiAddress, AnotherVersionIsNamed) {
  std::vector<std::byte> bytes = encode(sample());
  bytes[4] = std::byte{9};
  const auto decoded = decode(bytes);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(decoded.error().message, HasSubstr("version 9, this rank reads 2"));
}

TEST(OfiAddress, RegionsThatNoRankCanHaveAreRefused) {
  RankAddress none = sample();
  none.regions.clear();
  for (EndpointAddress& endpoint : none.endpoints) endpoint.keys.clear();
  EXPECT_FALSE(decode(encode(none)).has_value());
  RankAddress three = sample();
  three.regions.push_back({8, 0});
  for (EndpointAddress& endpoint : three.endpoints) endpoint.keys.push_back(1);
  EXPECT_FALSE(decode(encode(three)).has_value());
  RankAddress huge = sample();
  huge.regions[0].bytes = ~std::uint64_t{0} - 4096;
  EXPECT_FALSE(decode(encode(huge)).has_value());
}

TEST(OfiAddress, DamageNeverReadsOutside) {
  const std::vector<std::byte> good = encode(sample());
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = good;
    for (std::uint64_t i = 0; i <= random.below(4); ++i) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    }
    const auto decoded = decode(bytes);
    // Whatever is accepted says exactly the bytes that were given.
    if (decoded.has_value()) {
      EXPECT_EQ(encode(*decoded), bytes);
    }
  }
}

}  // namespace
}  // namespace shunt::fabric::ofi
