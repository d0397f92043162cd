// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "routing/generate.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/error.hpp"
#include "base/random.hpp"
#include "routing/recorded.hpp"
#include "routing/sampler.hpp"

namespace shunt::routing {
namespace {

/// Independent streams of one seed, so that dropping slots does not change which experts are drawn.
enum class Stream : std::uint64_t { kPopularity = 1, kIds = 2, kDrops = 3, kWeights = 4 };

Random stream_of(std::uint64_t seed, int rank, Stream stream) {
  const std::uint64_t place =
      (static_cast<std::uint64_t>(rank) << 8) + static_cast<std::uint64_t>(stream);
  return Random(Random::mix(seed + 0x9e3779b97f4a7c15U * (place + 1)));
}

Status check(const RoutingSpec& spec, std::int64_t tokens, int topk, int experts, int rank) {
  if (tokens < 0) return usage_error("{} tokens are not allowed; at least 0", tokens);
  if (experts < 1) return usage_error("{} experts are not allowed; at least 1", experts);
  if (topk < 1) return usage_error("top-{} is not allowed; at least top-1", topk);
  if (rank < 0) return usage_error("rank {} is not allowed; at least 0", rank);
  if (topk > experts) {
    return usage_error("top-{} needs {} distinct experts, there are {}; lower topk or add experts",
                       topk,
                       topk,
                       experts);
  }
  if (spec.pattern == Pattern::kGroup) {
    if (experts % spec.groups != 0) {
      return usage_error("routing '{}': {} experts do not divide into {} equal groups",
                         spec.to_string(),
                         experts,
                         spec.groups);
    }
    const std::int64_t reachable = std::int64_t{experts} / spec.groups * spec.top_groups;
    if (topk > reachable) {
      return usage_error("routing '{}': {} of {} groups hold {} experts, fewer than top-{} needs",
                         spec.to_string(),
                         spec.top_groups,
                         spec.groups,
                         reachable,
                         topk);
    }
  }
  if (spec.pattern == Pattern::kHot && topk == experts && spec.hot_fraction < 1.0) {
    return usage_error(
        "routing '{}': top-{} of {} experts selects the hot one always; lower topk or say hot:1",
        spec.to_string(),
        topk,
        experts);
  }
  return {};
}

std::int32_t* row(Routing& routing, std::int64_t token) {
  return routing.ids.data() + token * routing.topk;
}

void fill_uniform(Routing& routing, Random random) {
  UniformSampler sampler(routing.experts);
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    std::copy_n(sampler.draw(routing.topk, random), routing.topk, row(routing, token));
  }
}

void fill_zipf(Routing& routing, double exponent, Random popularity, Random random) {
  UniformSampler shuffle(routing.experts);
  const std::int32_t* expert_at = shuffle.draw(routing.experts, popularity);
  WeightedSampler sampler(zipf_weights(routing.experts, exponent));
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    std::int32_t* ids = row(routing, token);
    sampler.draw(routing.topk, random, ids);
    for (int slot = 0; slot < routing.topk; ++slot) ids[slot] = expert_at[ids[slot]];
  }
}

void fill_group(Routing& routing, const RoutingSpec& spec, Random random) {
  const auto experts = static_cast<std::size_t>(routing.experts);
  const auto groups = static_cast<std::size_t>(spec.groups);
  const std::size_t per_group = experts / groups;
  std::vector<std::uint64_t> score(experts);
  std::vector<std::uint64_t> group_score(groups);
  std::vector<std::size_t> group_order(groups);
  std::vector<std::int32_t> candidates;
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    for (std::uint64_t& value : score) value = random.next();
    for (std::size_t group = 0; group < groups; ++group) {
      const auto first = score.begin() + static_cast<std::ptrdiff_t>(group * per_group);
      group_score[group] = *std::max_element(first, first + static_cast<std::ptrdiff_t>(per_group));
    }
    std::iota(group_order.begin(), group_order.end(), std::size_t{0});
    // Ties (2^-64) go to the lower index, so that the order is the same in every library.
    std::partial_sort(group_order.begin(),
                      group_order.begin() + spec.top_groups,
                      group_order.end(),
                      [&](std::size_t a, std::size_t b) {
                        return group_score[a] != group_score[b] ? group_score[a] > group_score[b]
                                                                : a < b;
                      });
    candidates.clear();
    for (int i = 0; i < spec.top_groups; ++i) {
      for (std::size_t e = 0; e < per_group; ++e) {
        candidates.push_back(
            static_cast<std::int32_t>(group_order[static_cast<std::size_t>(i)] * per_group + e));
      }
    }
    std::partial_sort_copy(candidates.begin(),
                           candidates.end(),
                           row(routing, token),
                           row(routing, token) + routing.topk,
                           [&](std::int32_t a, std::int32_t b) {
                             const std::uint64_t left = score[static_cast<std::size_t>(a)];
                             const std::uint64_t right = score[static_cast<std::size_t>(b)];
                             return left != right ? left > right : a < b;
                           });
  }
}

void fill_hot(Routing& routing, double fraction, Random random) {
  if (routing.experts == 1) return std::fill(routing.ids.begin(), routing.ids.end(), 0);
  UniformSampler others(routing.experts - 1);
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    std::int32_t* ids = row(routing, token);
    const bool hot = random.uniform() < fraction;
    const int count = hot ? routing.topk - 1 : routing.topk;
    const std::int32_t* drawn = others.draw(count, random);
    for (int slot = 0; slot < count; ++slot) ids[slot] = drawn[slot] + 1;
    if (!hot) continue;
    const auto place = static_cast<int>(random.below(static_cast<std::uint64_t>(routing.topk)));
    ids[count] = ids[place];
    ids[place] = 0;
  }
}

void drop_slots(Routing& routing, double fraction, Random random) {
  for (std::size_t slot = 0; slot < routing.ids.size(); ++slot) {
    if (random.uniform() >= fraction) continue;
    routing.ids[slot] = -1;
    if (!routing.weights.empty()) routing.weights[slot] = 0.0F;
  }
}

/// One integer per slot and one division per weight: nothing that a compiler may contract.
void fill_weights(Routing& routing, Random random) {
  routing.weights.assign(routing.ids.size(), 0.0F);
  std::vector<std::uint64_t> raw(static_cast<std::size_t>(routing.topk));
  for (std::int64_t token = 0; token < routing.tokens; ++token) {
    const std::int32_t* ids = row(routing, token);
    std::uint64_t sum = 0;
    for (std::size_t slot = 0; slot < raw.size(); ++slot) {
      raw[slot] = (random.next() >> 44) + 1;
      if (ids[slot] >= 0) sum += raw[slot];
    }
    float* weights = routing.weights.data() + token * routing.topk;
    for (std::size_t slot = 0; slot < raw.size(); ++slot) {
      if (ids[slot] < 0) continue;
      weights[slot] = static_cast<float>(static_cast<double>(raw[slot]) / static_cast<double>(sum));
    }
  }
}

}  // namespace

Result<Routing> generate(const RoutingSpec& spec,
                         std::int64_t tokens,
                         int topk,
                         int experts,
                         std::uint64_t seed,
                         int rank) {
  SHUNT_TRY(check(spec, tokens, topk, experts, rank));
  Routing routing;
  routing.tokens = tokens;
  routing.topk = topk;
  routing.experts = experts;
  const Random random = stream_of(seed, rank, Stream::kIds);
  if (spec.pattern == Pattern::kFile) {
    SHUNT_TRY(load_recorded(spec, rank, routing));
  } else {
    routing.ids.resize(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(topk));
  }
  switch (spec.pattern) {
    case Pattern::kUniform:
      fill_uniform(routing, random);
      break;
    case Pattern::kZipf:
      fill_zipf(routing, spec.exponent, stream_of(seed, 0, Stream::kPopularity), random);
      break;
    case Pattern::kGroup:
      fill_group(routing, spec, random);
      break;
    case Pattern::kHot:
      fill_hot(routing, spec.hot_fraction, random);
      break;
    case Pattern::kAllToOne:
      for (std::int64_t token = 0; token < tokens; ++token) {
        std::iota(row(routing, token), row(routing, token) + topk, 0);
      }
      break;
    case Pattern::kFile:
      break;
  }
  if (spec.drop > 0.0) drop_slots(routing, spec.drop, stream_of(seed, rank, Stream::kDrops));
  if (routing.weights.empty()) fill_weights(routing, stream_of(seed, rank, Stream::kWeights));
  return routing;
}

}  // namespace shunt::routing
