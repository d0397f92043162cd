// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "routing/sampler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace shunt::routing {
namespace {

using U128 = unsigned __int128;

constexpr int kWeightBits = 40;
constexpr int kLogBits = 32;    // fraction bits of a binary logarithm
constexpr int kValueBits = 62;  // fraction bits of a power of two in (0, 1]

std::uint64_t integer_sqrt(U128 value) {
  std::uint64_t root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t trial = root | (std::uint64_t{1} << bit);
    if (static_cast<U128>(trial) * trial <= value) root = trial;
  }
  return root;
}

/// log2(n) by repeated squaring of the mantissa: each squaring yields one bit.
std::uint64_t fixed_log2(std::uint64_t n) {
  const int whole = static_cast<int>(std::bit_width(n)) - 1;
  std::uint64_t mantissa = n << (63 - whole);  // in [1, 2) with 63 fraction bits
  std::uint64_t result = static_cast<std::uint64_t>(whole);
  for (int bit = 0; bit < kLogBits; ++bit) {
    const U128 square = (static_cast<U128>(mantissa) * mantissa) >> 63;
    const bool carry = (square >> 64) != 0;
    mantissa = static_cast<std::uint64_t>(carry ? square >> 1 : square);
    result = (result << 1) | (carry ? 1U : 0U);
  }
  return result;
}

/// 2^(−2^−k) for k = 1 … kLogBits.
std::array<std::uint64_t, kLogBits> roots_of_half() {
  std::array<std::uint64_t, kLogBits> roots{};
  std::uint64_t value = std::uint64_t{1} << (kValueBits - 1);
  for (std::uint64_t& root : roots) {
    value = integer_sqrt(static_cast<U128>(value) << kValueBits);
    root = value;
  }
  return roots;
}

}  // namespace

UniformSampler::UniformSampler(int size) : order_(static_cast<std::size_t>(size)) {
  std::iota(order_.begin(), order_.end(), 0);
}

const std::int32_t* UniformSampler::draw(int count, Random& random) {
  const std::size_t size = order_.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::swap(order_[i], order_[i + random.below(size - i)]);
  }
  return order_.data();
}

WeightedSampler::WeightedSampler(std::vector<std::uint64_t> weights)
    : weights_(std::move(weights)),
      tree_(weights_.size() + 1, 0),
      top_(std::bit_floor(std::max<std::size_t>(weights_.size(), 1))) {
  for (std::size_t i = 0; i < weights_.size(); ++i) add(i, weights_[i]);
}

void WeightedSampler::add(std::size_t index, std::uint64_t delta) {
  total_ += delta;
  for (std::size_t i = index + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += delta;
}

std::size_t WeightedSampler::find(std::uint64_t target) const {
  std::size_t position = 0;
  for (std::size_t step = top_; step != 0; step >>= 1) {
    if (position + step < tree_.size() && tree_[position + step] <= target) {
      position += step;
      target -= tree_[position];
    }
  }
  return position;
}

void WeightedSampler::draw(int count, Random& random, std::int32_t* out) {
  for (int i = 0; i < count; ++i) {
    const std::size_t chosen = find(random.below(total_));
    out[i] = static_cast<std::int32_t>(chosen);
    add(chosen, ~weights_[chosen] + 1);
  }
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(out[i]);
    add(index, weights_[index]);
  }
}

std::vector<std::uint64_t> zipf_weights(int count, double exponent) {
  static const std::array<std::uint64_t, kLogBits> kRoots = roots_of_half();
  // Scaling by a power of two is exact, so the conversion is the same everywhere.
  const auto scaled = static_cast<std::uint64_t>(exponent * 0x1.0p32);
  std::vector<std::uint64_t> weights(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const U128 power = (static_cast<U128>(fixed_log2(i + 1)) * scaled) >> 32;
    const auto whole = static_cast<std::uint64_t>(power >> kLogBits);
    std::uint64_t value = std::uint64_t{1} << kValueBits;
    for (int k = 0; k < kLogBits; ++k) {
      if (((power >> (kLogBits - 1 - k)) & 1) == 0) continue;
      value = static_cast<std::uint64_t>(
          (static_cast<U128>(value) * kRoots[static_cast<std::size_t>(k)]) >> kValueBits);
    }
    const std::uint64_t shift = static_cast<std::uint64_t>(kValueBits - kWeightBits) + whole;
    weights[i] = shift < 64 ? std::max<std::uint64_t>(value >> shift, 1) : 1;
  }
  return weights;
}

}  // namespace shunt::routing
