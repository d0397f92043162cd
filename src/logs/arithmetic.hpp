// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that foreign numbers share: which shape a ratio fits, bytes of a row, shares of a
// link; the copies a routing makes come from traffic/. Pure. Used by the rules on foreign evidence
// and by their explanations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traffic/expectation.hpp"

namespace shunt::logs {

struct Copies {
  double node = 0;  ///< (token, node) pairs per token, own node included.
  double rank = 0;  ///< (token, rank) pairs per token.
};

/// Uniform routing over `nodes` nodes of `ranks_per_node`.
[[nodiscard]] Copies uniform_copies(double experts,
                                    double topk,
                                    double nodes,
                                    double ranks_per_node);

/// Group-limited routing: the `groups` nodes with the highest single score, then top-k within them.
/// Uniform where that limits nothing or the experts do not divide.
[[nodiscard]] Copies grouped_copies(
    int experts, int topk, int nodes, int ranks_per_node, int groups);

/// A shape whose node/rank copy ratio fits a printed RDMA/NVL ratio.
struct RatioFit {
  int nodes = 0;
  int ranks_per_node = 0;
  int groups = 0;  ///< 0: not group-limited.
  double expected = 0;
  double deviation = 0;  ///< |printed / expected − 1|
};

struct RatioQuery {
  double ratio = 0;
  int topk = 8;
  int experts = 256;         ///< Rounded to a multiple of the world inside.
  int ranks_per_node = 8;    ///< 0: try 8 and 4.
  std::optional<int> nodes;  ///< Only this one if known.
};

/// Fits within `tolerance`, best first.
[[nodiscard]] std::vector<RatioFit> fit_ratio(const RatioQuery& query, double tolerance = 0.06);

/// FP8 with one fp32 scale per 128 elements, as a share of bf16: 0.515625.
inline constexpr double kFp8Share = (1.0 + 4.0 / 128.0) / 2.0;

/// Bytes of one row: bf16 2·H, fp8 H + 4·H/128.
[[nodiscard]] constexpr double bf16_row(double hidden) {
  return 2.0 * hidden;
}
[[nodiscard]] constexpr double fp8_row(double hidden) {
  return hidden + 4.0 * hidden / 128.0;
}
/// A low-latency FP8 message: header 16, row, scales.
[[nodiscard]] constexpr double low_latency_message(double hidden) {
  return fp8_row(hidden) + 16.0;
}

using traffic::remote_share;

/// Ranks from a printed busbw/algbw: 2(n−1)/n for all-reduce, (n−1)/n otherwise; nullopt where the
/// ratio has no such n.
[[nodiscard]] std::optional<int> ranks_from_bus_ratio(double ratio, bool all_reduce);

}  // namespace shunt::logs
