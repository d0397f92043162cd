// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/pieces.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace shunt::plan {
namespace {

/// The lanes of a warp one after another, from either end: no result may depend on their order.
class SerialWarp {
 public:
  explicit SerialWarp(bool backwards) : backwards_(backwards) {}

  template <typename Visit>
  void each(int count, Visit&& visit) {
    for (int i = 0; i < count; ++i) visit(backwards_ ? count - 1 - i : i);
  }
  template <typename Visit>
  void each_lane(Visit&& visit) {
    each(kPieceTokens, visit);
  }
  void set_bits(std::uint32_t* word, std::uint32_t bits) { *word |= bits; }
  [[nodiscard]] std::int32_t popcount(std::uint32_t word) const { return std::popcount(word); }
  [[nodiscard]] std::int32_t exclusive_scan(std::int32_t* values, std::int64_t count) {
    const std::int32_t total = std::accumulate(values, values + count, 0);
    std::exclusive_scan(values, values + count, values, 0);
    return total;
  }

 private:
  bool backwards_;
};

struct Case {
  int world = 1;
  int per_node = 1;
  int experts_per_rank = 1;
  int topk = 1;
  int chunk = 64;
  std::int64_t tokens = 0;
};

struct BadId {
  std::int64_t token;
  int slot;
  std::int32_t id;
  friend auto operator<=>(const BadId&, const BadId&) = default;
};

/// Arrays for at most `room` tokens, with a guard behind each, and the plan made in them.
class Pieces {
 public:
  Pieces(const Case& c, std::int64_t room)
      : case_(c), shape_(cluster::Shape::create(c.world, c.per_node).value()) {
    const auto peers = static_cast<std::int64_t>(shape_.nodes - 1);
    const std::int64_t chunks = peers * ((room + c.chunk - 1) / c.chunk);
    const std::int64_t stride = (room + kPieceTokens - 1) / kPieceTokens;
    args_.shape = shape_;
    args_.topk = c.topk;
    args_.experts_per_rank = c.experts_per_rank;
    args_.chunk_tokens = c.chunk;
    args_.fanout = std::min(c.topk, c.per_node);
    args_.stride = stride;
    args_.columns = take(columns_, args_.columns_count() * stride);
    args_.node_records = take(node_records_, shape_.nodes);
    args_.out.rows_to_rank = take(rows_to_rank_, c.world);
    args_.out.send_begin = take(send_begin_, peers + 1);
    args_.out.send_tokens = take(send_tokens_, peers * room);
    args_.out.chunk_begin = take(chunk_begin_, peers + 1);
    args_.out.chunk_prefix = take(chunk_prefix_, chunks * c.per_node);
    args_.out.pending = take(pending_, chunks);
    args_.out.own_tokens = take(own_tokens_, room);
    args_.out.own_rows = take(own_rows_, room * args_.fanout);
    args_.out.copies_begin = take(copies_begin_, room + 1);
    args_.out.copies = take(copies_, room * std::min(c.topk, shape_.nodes));
    args_.out.own_count = &own_count_;
  }

  std::vector<BadId> make(int rank, const std::vector<std::int32_t>& ids, bool backwards) {
    args_.node = shape_.node_of(rank);
    args_.tokens = static_cast<std::int64_t>(ids.size()) / case_.topk;
    args_.ids = ids.data();
    std::vector<unsigned char> memory(PieceWords::bytes(args_.targets()), 0xee);
    const PieceWords words = PieceWords::at(memory.data(), args_.targets());
    SerialWarp warp(backwards);
    std::vector<BadId> bad;
    const auto note = [&](std::int64_t token, int slot, std::int32_t id) {
      bad.push_back({token, slot, id});
    };
    const auto pieces = static_cast<int>(args_.pieces());
    warp.each(pieces, [&](int p) { count_piece(warp, args_, words, p, note); });
    constexpr int kWarps = 3;
    for (int w = 0; w < kWarps; ++w) scan_columns(warp, args_, w, kWarps);
    sum_peers(args_);
    warp.each(pieces, [&](int p) { fill_piece(warp, args_, words, p); });
    std::sort(bad.begin(), bad.end());
    return bad;
  }

  [[nodiscard]] Plan plan(int rank) const {
    Plan p;
    p.shape = shape_;
    p.rank = rank;
    p.topk = case_.topk;
    p.experts_per_rank = case_.experts_per_rank;
    p.chunk_tokens = case_.chunk;
    p.fanout = args_.fanout;
    p.tokens = args_.tokens;
    const auto first = [](const auto& values, std::int64_t count) {
      return std::decay_t<decltype(values)>(values.begin(), values.begin() + count);
    };
    const std::int64_t chunks = chunk_begin_[static_cast<std::size_t>(shape_.nodes - 1)];
    p.rows_to_rank = first(rows_to_rank_, case_.world);
    p.send_begin = first(send_begin_, shape_.nodes);
    p.send_tokens = first(send_tokens_, p.send_begin.back());
    p.chunk_begin = first(chunk_begin_, shape_.nodes);
    p.chunk_prefix = first(chunk_prefix_, chunks * case_.per_node);
    p.own_tokens = first(own_tokens_, own_count_);
    p.own_rows = first(own_rows_, own_count_ * p.fanout);
    p.copies_begin = first(copies_begin_, p.tokens + 1);
    p.copies = first(copies_, p.copies_begin.back());
    return p;
  }
  [[nodiscard]] std::uint32_t pending(std::int64_t chunk) const {
    return pending_[static_cast<std::size_t>(chunk)];
  }
  [[nodiscard]] bool guards_hold() const {
    const auto holds = [](const auto& values) {
      return std::all_of(values.end() - kGuard, values.end(), [](const auto& v) {
        return v == guard<std::decay_t<decltype(v)>>();
      });
    };
    return holds(columns_) && holds(node_records_) && holds(rows_to_rank_) && holds(send_begin_) &&
           holds(send_tokens_) && holds(chunk_begin_) && holds(chunk_prefix_) && holds(pending_) &&
           holds(own_tokens_) && holds(own_rows_) && holds(copies_begin_) && holds(copies_);
  }

 private:
  static constexpr int kGuard = 8;
  template <typename T>
  static T guard() {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(0x7a7a7a7a);
    } else {
      return {0x7a7a7a7a, 0x7a7a7a7a};
    }
  }
  template <typename T>
  static T* take(std::vector<T>& values, std::int64_t count) {
    values.assign(static_cast<std::size_t>(count) + kGuard, guard<T>());
    return values.data();
  }

  Case case_;
  cluster::Shape shape_;
  PieceArgs args_;
  std::vector<std::int32_t> columns_, node_records_, rows_to_rank_, send_tokens_, chunk_prefix_;
  std::vector<std::int32_t> own_tokens_;
  std::vector<std::int64_t> send_begin_, chunk_begin_, copies_begin_;
  std::vector<std::uint32_t> pending_;
  std::vector<RowRef> own_rows_;
  std::vector<NodeCopy> copies_;
  std::int64_t own_count_ = -1;
};

/// Ids with repetitions and a share of −1.
std::vector<std::int32_t> random_ids(const Case& c, double dropped, int range, Random& random) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(c.tokens * c.topk));
  for (auto& id : ids) {
    id = random.uniform() < dropped
             ? -1
             : static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(range)));
  }
  return ids;
}

void expect_same(const Case& c, Pieces& pieces, int rank, const std::vector<std::int32_t>& ids) {
  const auto shape = cluster::Shape::create(c.world, c.per_node).value();
  const auto made = make_plan({c.tokens, c.topk, ids.data(), nullptr},
                              shape,
                              rank,
                              {c.world * c.experts_per_rank, c.chunk});
  ASSERT_TRUE(made) << made.error().message;
  for (const bool backwards : {false, true}) {
    EXPECT_TRUE(pieces.make(rank, ids, backwards).empty());
    EXPECT_TRUE(pieces.plan(rank) == *made);
    EXPECT_TRUE(pieces.guards_hold());
    for (int p = 0; p + 1 < shape.nodes; ++p) {
      for (std::int64_t i = 0; i < made->chunks(p); ++i) {
        EXPECT_EQ(pieces.pending(made->chunk_begin[static_cast<std::size_t>(p)] + i),
                  std::min<std::int64_t>(made->records(p) - i * c.chunk, c.chunk));
      }
    }
  }
}

class PiecesOfShape : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(PiecesOfShape, EqualThePlanBitForBit) {
  const auto [nodes, per_node] = GetParam();
  Random random(static_cast<std::uint64_t>(nodes * 100 + per_node));
  for (const int topk : {1, 2, 5, 16}) {
    for (const int chunk : {1, 7, 64}) {
      for (const std::int64_t tokens : {0, 1, 31, 32, 33, 100}) {
        const Case c{nodes * per_node, per_node, 1 + topk % 3, topk, chunk, tokens};
        const int experts = c.world * c.experts_per_rank;
        // Exactly enough room, and memory that keeps what an earlier plan has left there.
        Pieces pieces(c, tokens);
        for (const double dropped : {0.0, 0.4, 1.0}) {
          const int rank = static_cast<int>(random.below(static_cast<std::uint64_t>(c.world)));
          SCOPED_TRACE("rank " + std::to_string(rank) + " tokens " + std::to_string(tokens) +
                       " top-k " + std::to_string(topk) + " chunk " + std::to_string(chunk));
          expect_same(c, pieces, rank, random_ids(c, dropped, experts, random));
          expect_same(c, pieces, rank, random_ids(c, dropped, (experts + 3) / 4, random));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         PiecesOfShape,
                         ::testing::Values(std::pair{1, 1},
                                           std::pair{1, 2},
                                           std::pair{1, 3},
                                           std::pair{2, 1},
                                           std::pair{2, 2},
                                           std::pair{3, 2},
                                           std::pair{3, 3},
                                           std::pair{8, 4},
                                           std::pair{2, 40}));

TEST(Pieces, OneMemoryServesRoutingsOfAnySize) {
  Case c{6, 2, 2, 4, 5, 0};
  Pieces pieces(c, 90);
  Random random(5);
  for (const std::int64_t tokens : {90, 3, 64, 0, 65, 90}) {
    c.tokens = tokens;
    SCOPED_TRACE(tokens);
    expect_same(c, pieces, 3, random_ids(c, 0.2, 12, random));
  }
}

TEST(Pieces, IdsOutOfRangeAreNamedAndCountAsNone) {
  const Case c{4, 2, 2, 3, 4, 70};
  Random random(9);
  std::vector<std::int32_t> ids = random_ids(c, 0.1, 8, random);
  std::vector<std::int32_t> without = ids;
  std::vector<BadId> planted = {{0, 2, 8}, {31, 0, -2}, {32, 1, 2147483647}, {69, 2, -2147483647}};
  for (const BadId& bad : planted) {
    const auto at = static_cast<std::size_t>(bad.token * c.topk + bad.slot);
    ids[at] = bad.id;
    without[at] = -1;
  }
  Pieces pieces(c, c.tokens);
  for (const bool backwards : {false, true}) {
    EXPECT_EQ(pieces.make(1, ids, backwards), planted);
    EXPECT_TRUE(pieces.guards_hold());
    const Plan plan = pieces.plan(1);
    expect_same(c, pieces, 1, without);
    EXPECT_TRUE(pieces.plan(1) == plan);
  }
}

}  // namespace
}  // namespace shunt::plan
