// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include "base/numeric.hpp"

namespace shunt::logs {
namespace {

/// splitmix64: repeatable on every platform.
struct Generator {
  std::uint64_t state;
  std::uint32_t next() {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
  }
};

Copies simulate(int experts, int topk, int nodes, int ranks_per_node, int groups) {
  constexpr int kTokens = 1500;
  const int per_node = experts / nodes;
  const int per_rank = std::max(1, per_node / ranks_per_node);
  Generator generator{42};
  std::vector<std::uint32_t> score(static_cast<std::size_t>(experts));
  std::vector<std::pair<std::uint32_t, int>> best(static_cast<std::size_t>(nodes));
  std::vector<std::pair<std::uint32_t, int>> pool;
  double node_copies = 0;
  double rank_copies = 0;
  for (int token = 0; token < kTokens; ++token) {
    for (auto& s : score) s = generator.next();
    for (int n = 0; n < nodes; ++n) {
      const auto first = score.begin() + static_cast<std::ptrdiff_t>(n) * per_node;
      best[static_cast<std::size_t>(n)] = {*std::max_element(first, first + per_node), n};
    }
    std::ranges::sort(best, std::greater{});
    pool.clear();
    for (int g = 0; g < groups; ++g) {
      const int n = best[static_cast<std::size_t>(g)].second;
      for (int e = n * per_node; e < (n + 1) * per_node; ++e) {
        pool.emplace_back(score[static_cast<std::size_t>(e)], e);
      }
    }
    const auto middle = pool.begin() + std::min<std::ptrdiff_t>(topk, std::ssize(pool));
    std::partial_sort(pool.begin(), middle, pool.end(), std::greater{});
    std::vector<int> seen_nodes;
    std::vector<int> seen_ranks;
    for (auto it = pool.begin(); it != middle; ++it) {
      seen_nodes.push_back(it->second / per_node);
      seen_ranks.push_back(it->second / per_rank);
    }
    for (auto* seen : {&seen_nodes, &seen_ranks}) {
      std::ranges::sort(*seen);
      seen->erase(std::unique(seen->begin(), seen->end()), seen->end());
    }
    node_copies += static_cast<double>(seen_nodes.size());
    rank_copies += static_cast<double>(seen_ranks.size());
  }
  return {node_copies / kTokens, rank_copies / kTokens};
}

}  // namespace

double expected_copies(double experts, double topk, double bins) {
  if (experts < 1 || topk < 1 || bins < 1) return 0;
  const double per_bin = experts / bins;
  double miss = 1;
  for (double i = 0; i < topk; ++i) {
    const double left = experts - per_bin - i;
    if (left <= 0) return bins;
    miss *= left / (experts - i);
  }
  return bins * (1 - miss);
}

Copies uniform_copies(double experts, double topk, double nodes, double ranks_per_node) {
  return {expected_copies(experts, topk, nodes),
          expected_copies(experts, topk, nodes * ranks_per_node)};
}

Copies grouped_copies(int experts, int topk, int nodes, int ranks_per_node, int groups) {
  if (experts < nodes || nodes < 1 || topk < 1 || experts > 4096 || ranks_per_node < 1) return {};
  // Beyond 512 experts the simulation costs more than the difference is worth.
  if (groups <= 0 || groups >= nodes || experts > 512) {
    return uniform_copies(experts, topk, nodes, ranks_per_node);
  }
  static std::mutex mutex;
  static std::map<std::tuple<int, int, int, int, int>, Copies> known;
  const std::tuple key{experts, topk, nodes, ranks_per_node, groups};
  const std::lock_guard lock(mutex);
  const auto it = known.find(key);
  if (it != known.end()) return it->second;
  return known[key] = simulate(experts, topk, nodes, ranks_per_node, groups);
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
