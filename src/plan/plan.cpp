// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "plan/sorted_experts.hpp"

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

// Sets of indices 0 … size − 1; take_all visits them in ascending order and empties the set.
// Neither add nor take_all has branches that depend on the single indices: those are random here.

/// Up to 64, in a register.
class SmallSet {
 public:
  explicit SmallSet(int /*size*/) {}

  void add(std::uint32_t index, bool in = true) {
    word_ |= static_cast<std::uint64_t>(in) << (index % 64);
  }
  template <typename Visit>
  void take_all(Visit&& visit) {
    for (std::uint64_t word = std::exchange(word_, 0); word != 0; word &= word - 1) {
      visit(std::countr_zero(word));
    }
  }

 private:
  std::uint64_t word_ = 0;
};

/// Any size. Adds go to two copies in turns: one that waits for the store of the last into the same
/// word would be slow.
class LargeSet {
 public:
  explicit LargeSet(int size) : words_((static_cast<std::size_t>(size) + 63) / 64) {}

  void add(std::uint32_t index, bool in = true) {
    std::uint64_t& word = words_[in ? index / 64 : 0][turn_++ % 2];
    word |= static_cast<std::uint64_t>(in) << (index % 64);
  }
  template <typename Visit>
  void take_all(Visit&& visit) {
    std::int32_t first = 0;
    for (auto& pair : words_) {
      std::uint64_t word = pair[0] | pair[1];
      pair = {};
      for (; word != 0; word &= word - 1) visit(first + std::countr_zero(word));
      first += 64;
    }
  }

 private:
  std::vector<std::array<std::uint64_t, 2>> words_;
  std::uint32_t turn_ = 0;
};

/// Two passes over the ids. The first counts the records of every node, so that the second writes
/// everything where it belongs, per token its nodes and ranks in ascending order: up to 64 nodes as
/// a set of bits, more of them by sorting.
class Builder {
 public:
  Builder(const cluster::Shape& shape, int rank, const PlanOptions& options, Plan used)
      : plan_(std::move(used)), own_(shape.node_of(rank)), own_first_(shape.rank_of(own_, 0)) {
    plan_.shape = shape;
    plan_.rank = rank;
    plan_.experts_per_rank = options.experts / shape.world;
    plan_.chunk_tokens = options.chunk_tokens;
    rows_.resize(static_cast<std::size_t>(shape.world));
    totals_.resize(static_cast<std::size_t>(shape.nodes));
    records_.resize(static_cast<std::size_t>(shape.nodes));
    // The own node's records are no chunks.
    records_[static_cast<std::size_t>(own_)].next_chunk = -1;
    places_.resize(static_cast<std::size_t>(options.experts));
    for (int e = 0; e < options.experts; ++e) {
      const int of = e / plan_.experts_per_rank;
      places_[static_cast<std::size_t>(e)] = {of, shape.node_of(of)};
    }
  }

  /// Records per node; and that all ids are allowed.
  Status count(const routing::RoutingView& routing) {
    plan_.topk = routing.topk;
    plan_.tokens = routing.tokens;
    plan_.fanout = std::min(routing.topk, plan_.shape.ranks_per_node);
    const auto experts = static_cast<std::uint32_t>(places_.size());
    const Place* const places = places_.data();
    const std::int32_t* id = routing.ids;
    const bool one_node = plan_.shape.nodes == 1;
    for (std::int32_t t = 0; t < routing.tokens; ++t) {
      bool any = false;
      for (const std::int32_t* end = id + routing.topk; id != end; ++id) {
        if (static_cast<std::uint32_t>(*id) >= experts) {
          if (*id == -1) continue;
          return bad_id(routing, static_cast<std::size_t>(t));
        }
        any = true;
        if (one_node) continue;  // Not through the one tally in memory, again and again.
        Tally& records = totals_[static_cast<std::size_t>(places[*id].node)];
        records.count += records.last_token != t ? 1 : 0;
        records.last_token = t;
      }
      if (one_node) totals_[0].count += any ? 1 : 0;
    }
    return {};
  }

  /// Sizes all lists; every node knows where its next token goes.
  void lay_out() {
    const int peers = plan_.shape.nodes - 1;
    plan_.send_begin.assign(static_cast<std::size_t>(peers) + 1, 0);
    plan_.chunk_begin.assign(static_cast<std::size_t>(peers) + 1, 0);
    const auto node_of = [&](int p) {
      return static_cast<std::size_t>(plan_.shape.peer_node(own_, p));
    };
    for (int p = 0; p < peers; ++p) {
      const std::int64_t n = totals_[node_of(p)].count;
      plan_.send_begin[p + 1] = plan_.send_begin[p] + n;
      plan_.chunk_begin[p + 1] =
          plan_.chunk_begin[p] + (n + plan_.chunk_tokens - 1) / plan_.chunk_tokens;
    }
    const auto own = static_cast<std::size_t>(own_);
    plan_.send_tokens.resize(static_cast<std::size_t>(plan_.send_begin.back()));
    plan_.own_tokens.resize(static_cast<std::size_t>(totals_[own].count));
    for (int p = 0; p < peers; ++p) {
      records_[node_of(p)].tokens = plan_.send_tokens.data() + plan_.send_begin[p];
    }
    records_[own].tokens = plan_.own_tokens.data();
    plan_.own_rows.clear();
    plan_.own_rows.resize(plan_.own_tokens.size() * static_cast<std::size_t>(plan_.fanout));
    plan_.copies.resize(plan_.send_tokens.size() + plan_.own_tokens.size());
    plan_.copies_begin.resize(static_cast<std::size_t>(plan_.tokens) + 1);
    plan_.chunk_prefix.resize(static_cast<std::size_t>(plan_.chunk_begin.back()) *
                              static_cast<std::size_t>(plan_.shape.ranks_per_node));
  }

  void fill(const routing::RoutingView& routing) {
    if (plan_.shape.nodes > 64) {
      if (places_.size() <= std::numeric_limits<std::int16_t>::max()) {
        return fill_sorted<std::int16_t>(routing);
      }
      return fill_sorted<std::int32_t>(routing);
    }
    if (plan_.shape.ranks_per_node <= 64) return fill_by_sets<SmallSet>(routing);
    fill_by_sets<LargeSet>(routing);
  }

  Plan finish() {
    plan_.rows_to_rank.clear();
    for (const Tally& rows : rows_) plan_.rows_to_rank.push_back(rows.count);
    return std::move(plan_);
  }

 private:
  /// Counts at most one a token.
  struct Tally {
    std::int32_t count = 0;
    std::int32_t last_token = -1;  ///< The last one counted.
  };
  struct Records {
    std::int32_t* tokens = nullptr;  ///< Of each record.
    std::int32_t count = 0;          ///< So far.
    std::int32_t next_chunk = 0;     ///< The count at which the next chunk begins.
  };
  struct Place {
    std::int32_t rank;
    std::int32_t node;
  };

  template <typename RankSet>
  void fill_by_sets(const routing::RoutingView& routing) {
    SmallSet nodes(plan_.shape.nodes);
    RankSet own_ranks(plan_.shape.ranks_per_node);
    const Records& own = records_[static_cast<std::size_t>(own_)];
    NodeCopy* copy = plan_.copies.data();
    RowRef* own_rows = plan_.own_rows.data();
    const Place* const places = places_.data();
    Tally* const rows = rows_.data();
    const std::int32_t* id = routing.ids;
    for (std::int32_t t = 0; t < routing.tokens; ++t) {
      plan_.copies_begin[static_cast<std::size_t>(t)] = copy - plan_.copies.data();
      const std::int32_t* const first = id;
      for (const std::int32_t* end = id + routing.topk; id != end; ++id) {
        if (*id < 0) continue;
        const Place place = places[*id];
        nodes.add(static_cast<std::uint32_t>(place.node));
        rows[place.rank].count += rows[place.rank].last_token != t ? 1 : 0;
        rows[place.rank].last_token = t;
      }
      const std::int32_t own_before = own.count;
      nodes.take_all([&](std::int32_t node) { *copy++ = {node, take_record(node, t)}; });
      if (own.count != own_before) {
        add_own({first, id}, own_ranks, own_rows);
        own_rows += plan_.fanout;
      }
    }
    plan_.copies_begin[static_cast<std::size_t>(routing.tokens)] = copy - plan_.copies.data();
  }

  template <typename Key>
  void fill_sorted(const routing::RoutingView& routing) {
    constexpr std::int32_t kTokens = SortedExperts<Key>::kTokens;
    SortedExperts<Key> experts(routing.topk, static_cast<int>(places_.size()));
    NodeCopy* copy = plan_.copies.data();
    RowRef* own_rows = plan_.own_rows.data();
    const Place* const places = places_.data();
    Tally* const all_rows = rows_.data();
    const auto none = static_cast<std::int32_t>(places_.size());
    const auto tokens = static_cast<std::int32_t>(routing.tokens);
    for (std::int32_t t = 0; t < tokens; ++t) {
      if (t % kTokens == 0) {
        experts.load(routing.ids + static_cast<std::ptrdiff_t>(t) * routing.topk,
                     std::min(kTokens, tokens - t));
      }
      plan_.copies_begin[static_cast<std::size_t>(t)] = copy - plan_.copies.data();
      Place before{-1, -1};
      RowRef* own_row = own_rows;
      const Key* expert = experts.of(t % kTokens);
      for (int k = 0; k < routing.topk && *expert != none; ++k, expert += kTokens) {
        const Place place = places[*expert];
        if (place.node != before.node) *copy++ = {place.node, take_record(place.node, t)};
        std::int32_t& rows = all_rows[place.rank].count;
        const int new_row = place.rank != before.rank ? 1 : 0;
        rows += new_row;
        if (place.node == own_) {
          own_row += new_row;
          own_row[-1] = {place.rank - own_first_, rows - 1};
        }
        before = place;
      }
      if (own_row != own_rows) own_rows += plan_.fanout;
    }
    plan_.copies_begin[static_cast<std::size_t>(tokens)] = copy - plan_.copies.data();
  }

  [[gnu::always_inline]] std::int32_t take_record(std::int32_t node, std::int32_t token) {
    Records& records = records_[static_cast<std::size_t>(node)];
    const std::int32_t record = records.count++;
    if (record == records.next_chunk) begin_chunk(node, token, records);
    records.tokens[record] = token;
    return record;
  }

  /// `token` is that of the chunk's first record; ranks whose last_token it is have counted it.
  [[gnu::noinline]] void begin_chunk(std::int32_t node, std::int32_t token, Records& records) {
    const std::int64_t chunk = plan_.chunk_begin[plan_.shape.peer_index(own_, node)] +
                               records.next_chunk / plan_.chunk_tokens;
    // Not beyond the last: the count cannot get there.
    const std::int32_t total = totals_[static_cast<std::size_t>(node)].count;
    records.next_chunk = total - records.next_chunk > plan_.chunk_tokens
                             ? records.next_chunk + plan_.chunk_tokens
                             : -1;
    const int locals = plan_.shape.ranks_per_node;
    std::int32_t* to = plan_.chunk_prefix.data() + chunk * locals;
    const Tally* from = rows_.data() + plan_.shape.rank_of(node, 0);
    for (int l = 0; l < locals; ++l) to[l] = from[l].count - (from[l].last_token == token ? 1 : 0);
  }

  /// The rows of a token on the own node, ranks ascending; they have been counted.
  template <typename RankSet>
  void add_own(std::span<const std::int32_t> ids, RankSet& own_ranks, RowRef* next) const {
    const auto locals = static_cast<std::uint32_t>(plan_.shape.ranks_per_node);
    for (const std::int32_t id : ids) {
      if (id < 0) continue;
      const auto local =
          static_cast<std::uint32_t>(places_[static_cast<std::size_t>(id)].rank - own_first_);
      own_ranks.add(local, local < locals);
    }
    own_ranks.take_all([&](std::int32_t local) {
      const auto row = static_cast<std::size_t>(own_first_) + static_cast<std::size_t>(local);
      *next++ = {local, rows_[row].count - 1};
    });
  }

  Unexpected bad_id(const routing::RoutingView& routing, std::size_t token) const {
    for (int k = 0; k < routing.topk; ++k) {
      const std::int32_t id =
          routing.ids[token * static_cast<std::size_t>(routing.topk) + static_cast<std::size_t>(k)];
      if (id < -1 || id >= static_cast<std::int64_t>(places_.size())) {
        return usage_error(
            "expert id {} (token {}, slot {}) is not allowed; -1 for none, or 0 to {}",
            id,
            token,
            k,
            places_.size() - 1);
      }
    }
    return fail(ErrorCode::kInternal, ErrorScope::kOperation, "no bad id in token {}", token);
  }

  Plan plan_;
  const std::int32_t own_;        // Node of the rank,
  const std::int32_t own_first_;  // and that node's first rank.
  std::vector<Place> places_;     // [experts]
  std::vector<Tally> totals_;     // [nodes]: records of each.
  std::vector<Records> records_;  // [nodes]: those so far.
  std::vector<Tally> rows_;       // [world]
};

}  // namespace

Result<Plan> make_plan(const routing::RoutingView& routing,
                       const cluster::Shape& shape,
                       int rank,
                       const PlanOptions& options,
                       Plan used) {
  SHUNT_TRY(validate(routing, shape, options));
  Builder builder(shape, rank, options, std::move(used));
  SHUNT_TRY(builder.count(routing));
  builder.lay_out();
  builder.fill(routing);
  return builder.finish();
}

}  // namespace shunt::plan
