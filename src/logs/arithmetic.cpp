// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/numeric.hpp"

namespace shunt::logs {
Copies uniform_copies(double experts, double topk, double nodes, double ranks_per_node) {
  return {traffic::average_copies(nodes, experts, topk),
          traffic::average_copies(nodes * ranks_per_node, experts, topk)};
}

Copies grouped_copies(int experts, int topk, int nodes, int ranks_per_node, int groups) {
  // Beyond this no router goes; damaged figures do, and the recursion's cost grows with it.
  constexpr int kMostChoices = 64;
  if (groups > 0 && groups < nodes && topk <= kMostChoices) {
    const traffic::GroupLimit limit{nodes, groups};
    const auto node = traffic::expected_copies(nodes, experts, topk, limit);
    const auto rank = traffic::expected_copies(nodes * ranks_per_node, experts, topk, limit);
    if (node && rank) return {*node, *rank};
  }
  return uniform_copies(experts, topk, nodes, ranks_per_node);
}

std::vector<RatioFit> fit_ratio(const RatioQuery& query, double tolerance) {
  std::vector<RatioFit> fits;
  const auto consider = [&](int nodes, int per_node, int groups) {
    const int world = nodes * per_node;
    const int experts = std::max(world, query.experts / world * world);
    const Copies copies = grouped_copies(experts, query.topk, nodes, per_node, groups);
    if (copies.rank <= 0) return;
    const double expected = copies.node / copies.rank;
    const double deviation = std::fabs(query.ratio / expected - 1);
    if (deviation <= tolerance) fits.push_back({nodes, per_node, groups, expected, deviation});
  };
  constexpr std::array kNodes{2, 3, 4, 6, 8, 12, 16, 18, 20};
  std::vector<int> per_node{query.ranks_per_node};
  if (query.ranks_per_node == 0) per_node = {8, 4};
  for (const int per : per_node) {
    for (const int nodes : kNodes) {
      if (query.nodes && nodes != *query.nodes) continue;
      consider(nodes, per, 0);
      if (nodes > 4) consider(nodes, per, 4);
    }
    if (query.nodes && std::ranges::find(kNodes, *query.nodes) == kNodes.end() &&
        *query.nodes > 1 && *query.nodes <= 256) {
      consider(*query.nodes, per, 0);
    }
  }
  std::ranges::stable_sort(fits, {}, &RatioFit::deviation);
  return fits;
}

std::optional<int> ranks_from_bus_ratio(double ratio, bool all_reduce) {
  const double share = all_reduce ? ratio / 2 : ratio;
  if (share <= 0 || share >= 1) return std::nullopt;
  const double n = 1 / (1 - share);
  if (n < 1.5 || n > 1e5) return std::nullopt;
  return saturating_round<int>(n);
}

}  // namespace shunt::logs
