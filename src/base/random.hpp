// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are the same on every platform and library: std distributions are not.
#pragma once

#include <cstdint>

namespace shunt {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one 64-bit state, any seed is good.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    return mix(state_);
  }

  /// Uniform in [0, bound), bound ≥ 1. Bias below 2^-32 for bounds below 2^32.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

  /// Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// The finaliser alone: a good hash of 64 bits.
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace shunt
