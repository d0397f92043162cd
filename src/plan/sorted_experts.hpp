// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Experts of a token in ascending order, which is that of their ranks and nodes as well. Internal
// to plan/.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace shunt::plan {

/// Sorts a few tokens side by side, one a lane of a vector: no branch depends on an id, which are
/// random. Key: a signed type that holds 0 … experts.
template <typename Key>
class SortedExperts {
 public:
  static constexpr int kTokens = 16 / sizeof(Key);  ///< In a block.

  SortedExperts(int topk, int experts)
      : topk_(topk), experts_(experts), keys_(static_cast<std::size_t>(topk) * kTokens) {
    // Merge exchange (Knuth, The Art of Computer Programming, 5.2.2 M): for any number of keys.
    const int top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(topk))) / 2;
    for (int p = top; p > 0; p /= 2) {
      int remainder = 0;
      int distance = p;
      for (int q = top;; q /= 2) {
        for (int i = 0; i + distance < topk; ++i) {
          if ((i & p) == remainder) exchanges_.push_back({i * kTokens, (i + distance) * kTokens});
        }
        if (q == p) break;
        distance = q - p;
        remainder = p;
      }
    }
  }

  /// `ids` of `tokens` tokens, at most kTokens; all from −1 to experts − 1.
  void load(const std::int32_t* ids, int tokens) {
    for (int t = 0; t < tokens; ++t) {
      for (int k = 0; k < topk_; ++k) {
        const std::int32_t id = *ids++;
        const std::size_t at = static_cast<std::size_t>(k) * kTokens + static_cast<std::size_t>(t);
        keys_[at] = static_cast<Key>(id < 0 ? experts_ : id);
      }
    }
    for (const auto& [low, high] : exchanges_) {
      Key* const a = keys_.data() + low;
      Key* const b = keys_.data() + high;
      Lanes x;
      Lanes y;
      std::memcpy(&x, a, sizeof(x));
      std::memcpy(&y, b, sizeof(y));
      const Lanes least = x < y ? x : y;
      const Lanes most = x < y ? y : x;
      std::memcpy(a, &least, sizeof(least));
      std::memcpy(b, &most, sizeof(most));
    }
  }

  /// Of one token of the block: the k-th is at [k · kTokens]; `experts` behind the last.
  [[nodiscard]] const Key* of(int token) const { return keys_.data() + token; }

 private:
  using Lanes [[gnu::vector_size(16)]] = Key;
  /// Of two rows of keys_: where they begin.
  struct Exchange {
    std::ptrdiff_t low;
    std::ptrdiff_t high;
  };

  const int topk_;
  const int experts_;
  std::vector<Exchange> exchanges_;
  std::vector<Key> keys_;  // [topk][kTokens]
};

}  // namespace shunt::plan
