// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Draws of distinct experts. Integers only, so that the same seed gives the same routing on every
// compiler and processor.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"

namespace shunt::routing {

/// Distinct uniform draws from [0, size): a Fisher-Yates shuffle that stops early. The permutation
/// carries over from token to token; any starting order is as good.
class UniformSampler {
 public:
  explicit UniformSampler(int size);
  /// The first `count` experts of a fresh shuffle, valid until the next call. REQUIRES count ≤
  /// size.
  const std::int32_t* draw(int count, Random& random);

 private:
  std::vector<std::int32_t> order_;
};

/// Distinct weighted draws: each in proportion to the weights of what is left.
class WeightedSampler {
 public:
  /// REQUIRES every weight ≥ 1 and their sum < 2^63.
  explicit WeightedSampler(std::vector<std::uint64_t> weights);
  /// REQUIRES count ≤ number of weights.
  void draw(int count, Random& random, std::int32_t* out);

 private:
  void add(std::size_t index, std::uint64_t delta);  // delta modulo 2^64: subtraction wraps
  [[nodiscard]] std::size_t find(std::uint64_t target) const;

  std::vector<std::uint64_t> weights_;
  std::vector<std::uint64_t> tree_;  // Fenwick: tree_[i] sums the weights of (i − lowbit(i), i]
  std::size_t top_ = 1;              // highest power of two ≤ size
  std::uint64_t total_ = 0;
};

/// n^−exponent for n = 1 … count, scaled so that 1 is 2^40, at least 1. Relative error below 2^-17
/// while the weight is above 2^17. REQUIRES 0 ≤ exponent ≤ 16.
[[nodiscard]] std::vector<std::uint64_t> zipf_weights(int count, double exponent);

}  // namespace shunt::routing
