// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The oracle: dispatch and combine of a whole world computed in one place, token by token, with
// nothing of the library's plan, layout or protocol. Slow and obvious.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "exec/cpu/convert.hpp"
#include "shunt/shunt.hpp"

namespace shunt::testing {

struct WorldCase {
  int world = 1;
  int ranks_per_node = 1;
  int experts = 1;
  int topk = 1;
  std::int64_t hidden = 8;
  DType dtype = DType::kBF16;
  DType wire = DType::kBF16;
  std::vector<std::vector<std::int32_t>> ids;  ///< By rank: [tokens][topk].

  [[nodiscard]] std::int64_t tokens(int rank) const {
    return static_cast<std::int64_t>(ids[static_cast<std::size_t>(rank)].size()) / topk;
  }
  [[nodiscard]] int rank_of(std::int32_t expert) const { return expert / (experts / world); }
  /// Distinct ranks of a token, ascending.
  [[nodiscard]] std::set<int> ranks_of(int rank, std::int64_t token) const {
    std::set<int> ranks;
    for (int k = 0; k < topk; ++k) {
      const auto id =
          ids[static_cast<std::size_t>(rank)][static_cast<std::size_t>(token * topk + k)];
      if (id >= 0) ranks.insert(rank_of(id));
    }
    return ranks;
  }
};

/// A value that differs by rank, token and element, exact in every type, small enough to sum.
inline float input_value(int rank, std::int64_t token, std::int64_t element) {
  const std::uint64_t hash = Random::mix(static_cast<std::uint64_t>(rank) * 1'000'003U +
                                         static_cast<std::uint64_t>(token) * 8191U +
                                         static_cast<std::uint64_t>(element) + 17U);
  return static_cast<float>(static_cast<int>(hash % 255) - 127) / 64.0F;
}

inline float weight_value(int rank, std::int64_t token, int k) {
  return 0.25F + input_value(rank + 7, token, k) / 16.0F;
}

/// What the experts of `at` make of a row: differs by rank, so that a swapped rank cannot pass, and
/// needs rounding, so that order and type of the sums show.
inline float expert_value(float input, int at) {
  return input * (1.0F + 0.37F * static_cast<float>(at + 1)) + 0.011F * static_cast<float>(at);
}

inline float round_to(float value, DType type) {
  switch (type) {
    case DType::kF32:
      return value;
    case DType::kBF16:
      return exec::bf16_to_f32(exec::f32_to_bf16(value));
    case DType::kF16:
      return exec::f16_to_f32(exec::f32_to_f16(value));
  }
  return value;
}

inline void store(void* row, std::int64_t element, DType type, float value) {
  switch (type) {
    case DType::kF32:
      static_cast<float*>(row)[element] = value;
      return;
    case DType::kBF16:
      static_cast<std::uint16_t*>(row)[element] = exec::f32_to_bf16(value);
      return;
    case DType::kF16:
      static_cast<std::uint16_t*>(row)[element] = exec::f32_to_f16(value);
      return;
  }
}

inline float load(const void* row, std::int64_t element, DType type) {
  switch (type) {
    case DType::kF32:
      return static_cast<const float*>(row)[element];
    case DType::kBF16:
      return exec::bf16_to_f32(static_cast<const std::uint16_t*>(row)[element]);
    case DType::kF16:
      return exec::f16_to_f32(static_cast<const std::uint16_t*>(row)[element]);
  }
  return 0;
}

/// Rows that rank `at` must receive, in order.
inline std::vector<RowOrigin> expected_rows(const WorldCase& c, int at) {
  std::vector<RowOrigin> rows;
  for (int source = 0; source < c.world; ++source) {
    for (std::int64_t t = 0; t < c.tokens(source); ++t) {
      if (c.ranks_of(source, t).count(at) != 0) {
        rows.push_back({source, static_cast<std::int32_t>(t)});
      }
    }
  }
  return rows;
}

/// One row of combine's output, by the formula of the numerics, with rank outputs rounded to the
/// row type. `present(at, source, token)` says whether the row exists (capacities); `shift` is
/// added to the element that input values are drawn for.
template <typename Present>
std::vector<float> expected_sum(
    const WorldCase& c, int source, std::int64_t token, std::int64_t shift, Present&& present) {
  std::vector<float> total(static_cast<std::size_t>(c.hidden), 0.0F);
  bool any = false;
  for (int node = 0; node < c.world / c.ranks_per_node; ++node) {
    std::vector<float> partial(total.size(), 0.0F);
    bool first = true;
    bool has_copy = false;
    for (const int at : c.ranks_of(source, token)) {
      if (at / c.ranks_per_node != node) continue;
      has_copy = true;
      if (!present(at, source, token)) continue;
      for (std::size_t e = 0; e < total.size(); ++e) {
        const float input =
            round_to(input_value(source, token, static_cast<std::int64_t>(e) + shift), c.dtype);
        const float value = round_to(expert_value(input, at), c.dtype);
        partial[e] = first ? value : partial[e] + value;
      }
      first = false;
    }
    if (!has_copy) continue;
    for (std::size_t e = 0; e < total.size(); ++e) {
      const float rounded = round_to(partial[e], c.wire);
      total[e] = any ? total[e] + rounded : rounded;
    }
    any = true;
  }
  for (float& value : total) value = round_to(value, c.dtype);
  return total;
}

}  // namespace shunt::testing
