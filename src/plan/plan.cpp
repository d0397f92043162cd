// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "base/error.hpp"

namespace shunt::plan {
namespace {

Status validate(const routing::RoutingView& routing,
                const cluster::Shape& shape,
                const PlanOptions& options) {
  if (options.experts < shape.world || options.experts % shape.world != 0) {
    return usage_error("{} experts do not divide over {} ranks; give a multiple of {}",
                       options.experts,
                       shape.world,
                       shape.world);
  }
  if (options.chunk_tokens < 1) {
    return usage_error("chunk of {} tokens is not allowed; at least 1", options.chunk_tokens);
  }
  if (routing.topk < 1) return usage_error("top-k {} is not allowed; at least 1", routing.topk);
  if (routing.tokens < 0) {
    return usage_error("{} tokens are not allowed; at least 0", routing.tokens);
  }
  if (routing.tokens > std::numeric_limits<std::int32_t>::max() / shape.world) {
    return usage_error("{} tokens on each of {} ranks are more rows than a rank can index ({})",
                       routing.tokens,
                       shape.world,
                       std::numeric_limits<std::int32_t>::max());
  }
  return {};
}

/// One pass over the ids. Finds each token's distinct ranks in ascending order; everything else
/// follows from counters that grow along the way.
class Builder {
 public:
  Builder(const cluster::Shape& shape, int rank, int topk, const PlanOptions& options) {
    plan_.shape = shape;
    plan_.rank = rank;
    plan_.topk = topk;
    plan_.experts_per_rank = options.experts / shape.world;
    plan_.chunk_tokens = options.chunk_tokens;
    plan_.fanout = std::min(topk, shape.ranks_per_node);
    plan_.rows_to_rank.assign(static_cast<std::size_t>(shape.world), 0);
    records_.assign(static_cast<std::size_t>(shape.nodes), 0);
    rank_of_expert_.resize(static_cast<std::size_t>(options.experts));
    for (int e = 0; e < options.experts; ++e) {
      rank_of_expert_[static_cast<std::size_t>(e)] = e / plan_.experts_per_rank;
    }
    node_of_rank_.resize(static_cast<std::size_t>(shape.world));
    for (int r = 0; r < shape.world; ++r) {
      node_of_rank_[static_cast<std::size_t>(r)] = shape.node_of(r);
    }
    ranks_.resize(static_cast<std::size_t>(topk));
  }

  Status scan(const routing::RoutingView& routing) {
    plan_.tokens = routing.tokens;
    const auto tokens = static_cast<std::size_t>(routing.tokens);
    const auto topk = static_cast<std::size_t>(routing.topk);
    plan_.copies_begin.resize(tokens + 1);
    plan_.copies.resize(tokens * std::min(topk, static_cast<std::size_t>(plan_.shape.nodes)));
    plan_.own_tokens.reserve(tokens);
    plan_.own_rows.reserve(tokens * static_cast<std::size_t>(plan_.fanout));
    std::size_t used = 0;
    const int own = plan_.shape.node_of(plan_.rank);
    for (std::size_t t = 0; t < tokens; ++t) {
      plan_.copies_begin[t] = static_cast<std::int64_t>(used);
      const int count = distinct_ranks(routing.ids + t * topk, topk);
      if (count < 0) return bad_id(routing, t);
      for (int i = 0; i < count;) {
        const int node = node_of_rank_[static_cast<std::size_t>(ranks_[i])];
        plan_.copies[used++] = {node, take_record(node, own)};
        i = node == own ? add_own(static_cast<std::int32_t>(t), i, count, node)
                        : add_remote(i, count, node);
      }
    }
    plan_.copies_begin[tokens] = static_cast<std::int64_t>(used);
    plan_.copies.resize(used);
    return {};
  }

  Plan finish() {
    const int own = plan_.shape.node_of(plan_.rank);
    const int peers = plan_.shape.nodes - 1;
    plan_.send_begin.assign(static_cast<std::size_t>(peers) + 1, 0);
    plan_.chunk_begin.assign(static_cast<std::size_t>(peers) + 1, 0);
    for (int p = 0; p < peers; ++p) {
      const std::int64_t n = records_[static_cast<std::size_t>(plan_.shape.peer_node(own, p))];
      plan_.send_begin[p + 1] = plan_.send_begin[p] + n;
      plan_.chunk_begin[p + 1] =
          plan_.chunk_begin[p] + (n + plan_.chunk_tokens - 1) / plan_.chunk_tokens;
    }
    place_records(own);
    place_prefixes(own);
    return std::move(plan_);
  }

 private:
  /// Fills ranks_ with the distinct ranks of one token, ascending; −1 on an id out of range.
  int distinct_ranks(const std::int32_t* ids, std::size_t topk) {
    int count = 0;
    const auto experts = static_cast<std::uint32_t>(rank_of_expert_.size());
    for (std::size_t k = 0; k < topk; ++k) {
      const std::int32_t id = ids[k];
      if (static_cast<std::uint32_t>(id) >= experts) {
        if (id == -1) continue;
        return -1;
      }
      const std::int32_t rank = rank_of_expert_[static_cast<std::size_t>(id)];
      int at = count;
      while (at > 0 && ranks_[at - 1] > rank) --at;
      if (at > 0 && ranks_[at - 1] == rank) continue;
      for (int j = count; j > at; --j) ranks_[j] = ranks_[j - 1];
      ranks_[at] = rank;
      ++count;
    }
    return count;
  }

  std::int32_t take_record(int node, int own) {
    const std::int32_t record = records_[static_cast<std::size_t>(node)]++;
    if (node != own && record % plan_.chunk_tokens == 0) {
      const auto per_node = static_cast<std::size_t>(plan_.shape.ranks_per_node);
      const auto first = plan_.rows_to_rank.begin() +
                         static_cast<std::ptrdiff_t>(node) * plan_.shape.ranks_per_node;
      prefixes_.insert(prefixes_.end(), first, first + static_cast<std::ptrdiff_t>(per_node));
      prefix_of_.push_back({node, record / plan_.chunk_tokens});
    }
    return record;
  }

  int add_own(std::int32_t token, int i, int count, int node) {
    plan_.own_tokens.push_back(token);
    int used = 0;
    for (; i < count && node_of_rank_[static_cast<std::size_t>(ranks_[i])] == node; ++i, ++used) {
      const std::int32_t rank = ranks_[i];
      plan_.own_rows.push_back(
          {plan_.shape.local_of(rank), plan_.rows_to_rank[static_cast<std::size_t>(rank)]++});
    }
    plan_.own_rows.resize(plan_.own_rows.size() + static_cast<std::size_t>(plan_.fanout - used));
    return i;
  }

  int add_remote(int i, int count, int node) {
    for (; i < count && node_of_rank_[static_cast<std::size_t>(ranks_[i])] == node; ++i) {
      ++plan_.rows_to_rank[static_cast<std::size_t>(ranks_[i])];
    }
    return i;
  }

  void place_records(int own) {
    plan_.send_tokens.resize(static_cast<std::size_t>(plan_.send_begin.back()));
    for (std::int64_t t = 0; t < plan_.tokens; ++t) {
      for (std::int64_t c = plan_.copies_begin[t]; c < plan_.copies_begin[t + 1]; ++c) {
        const NodeCopy& copy = plan_.copies[static_cast<std::size_t>(c)];
        if (copy.node == own) continue;
        const int peer = plan_.shape.peer_index(own, copy.node);
        plan_.send_tokens[static_cast<std::size_t>(plan_.send_begin[peer] + copy.record)] =
            static_cast<std::int32_t>(t);
      }
    }
  }

  void place_prefixes(int own) {
    const auto per_node = static_cast<std::size_t>(plan_.shape.ranks_per_node);
    plan_.chunk_prefix.resize(prefixes_.size());
    for (std::size_t i = 0; i < prefix_of_.size(); ++i) {
      const int peer = plan_.shape.peer_index(own, prefix_of_[i].node);
      const auto chunk = static_cast<std::size_t>(plan_.chunk_begin[peer] + prefix_of_[i].record);
      std::copy_n(prefixes_.begin() + static_cast<std::ptrdiff_t>(i * per_node),
                  per_node,
                  plan_.chunk_prefix.begin() + static_cast<std::ptrdiff_t>(chunk * per_node));
    }
  }

  Unexpected bad_id(const routing::RoutingView& routing, std::size_t token) const {
    for (int k = 0; k < routing.topk; ++k) {
      const std::int32_t id =
          routing.ids[token * static_cast<std::size_t>(routing.topk) + static_cast<std::size_t>(k)];
      if (id < -1 || id >= static_cast<std::int64_t>(rank_of_expert_.size())) {
        return usage_error(
            "expert id {} (token {}, slot {}) is not allowed; -1 for none, or 0 to {}",
            id,
            token,
            k,
            rank_of_expert_.size() - 1);
      }
    }
    return fail(ErrorCode::kInternal, ErrorScope::kOperation, "no bad id in token {}", token);
  }

  Plan plan_;
  std::vector<std::int32_t> rank_of_expert_;
  std::vector<std::int32_t> node_of_rank_;
  std::vector<std::int32_t> records_;   // [nodes]
  std::vector<std::int32_t> ranks_;     // Scratch: distinct ranks of the current token.
  std::vector<std::int32_t> prefixes_;  // Chunk prefixes in order of discovery.
  std::vector<NodeCopy> prefix_of_;     // (node, chunk) of each.
};

}  // namespace

Result<Plan> make_plan(const routing::RoutingView& routing,
                       const cluster::Shape& shape,
                       int rank,
                       const PlanOptions& options) {
  SHUNT_TRY(validate(routing, shape, options));
  Builder builder(shape, rank, routing.topk, options);
  SHUNT_TRY(builder.scan(routing));
  return builder.finish();
}

}  // namespace shunt::plan
