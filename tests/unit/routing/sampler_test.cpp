// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "routing/sampler.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace shunt::routing {
namespace {

TEST(ZipfWeights, AreThePowerLaw) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.2, 2.0, 3.7}) {
    const auto weights = zipf_weights(1000, exponent);
    for (const int n : {1, 2, 3, 7, 64, 100, 999, 1000}) {
      const double exact = std::pow(n, -exponent);
      const double got = static_cast<double>(weights[static_cast<std::size_t>(n - 1)]) * 0x1.0p-40;
      EXPECT_NEAR(got, exact, exact * 1e-6 + 0x1.0p-40) << "n " << n << " exponent " << exponent;
    }
  }
}

TEST(ZipfWeights, NeverVanish) {
  const auto weights = zipf_weights(100'000, 16.0);
  EXPECT_EQ(weights.front(), std::uint64_t{1} << 40);
  EXPECT_EQ(weights.back(), 1U);
}

TEST(WeightedSampler, DrawsInProportionAndWithoutRepetition) {
  const std::vector<std::uint64_t> weights = {10, 1, 5, 1, 3};
  WeightedSampler sampler(weights);
  Random random(7);
  constexpr int kDraws = 40'000;
  std::vector<int> first(weights.size(), 0);
  int ten_then_five = 0;
  for (int i = 0; i < kDraws; ++i) {
    std::int32_t out[5];
    sampler.draw(5, random, out);
    EXPECT_EQ(std::set<std::int32_t>(out, out + 5).size(), 5U);
    ++first[static_cast<std::size_t>(out[0])];
    if (out[0] == 0 && out[1] == 2) ++ten_then_five;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double p = static_cast<double>(weights[i]) / 20.0;
    EXPECT_NEAR(first[i], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p))) << i;
  }
  const double p = 0.5 * 5.0 / 10.0;  // what is left after the first draw
  EXPECT_NEAR(ten_then_five, kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)));
}

TEST(WeightedSampler, FindsEveryMemberOfAnySize) {
  for (const std::size_t size : {1U, 2U, 3U, 7U, 8U, 9U, 100U}) {
    WeightedSampler sampler(std::vector<std::uint64_t>(size, 3));
    Random random(size);
    std::vector<std::int32_t> out(size);
    sampler.draw(static_cast<int>(size), random, out.data());
    EXPECT_EQ(std::set<std::int32_t>(out.begin(), out.end()).size(), size);
    EXPECT_EQ(*std::max_element(out.begin(), out.end()), static_cast<std::int32_t>(size) - 1);
  }
}

TEST(UniformSampler, EverySetIsEquallyLikely) {
  UniformSampler sampler(5);
  Random random(3);
  constexpr int kDraws = 40'000;
  std::vector<int> sets(32, 0);
  for (int i = 0; i < kDraws; ++i) {
    const std::int32_t* drawn = sampler.draw(2, random);
    ++sets[(1U << drawn[0]) | (1U << drawn[1])];
  }
  int seen = 0;
  for (const int count : sets) {
    if (count == 0) continue;
    ++seen;
    EXPECT_NEAR(count, kDraws / 10.0, 5 * std::sqrt(kDraws * 0.09));
  }
  EXPECT_EQ(seen, 10);
}

}  // namespace
}  // namespace shunt::routing
