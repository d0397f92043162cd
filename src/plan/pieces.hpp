// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A plan made in pieces of 32 tokens, one warp a piece: on a device, or lane after lane on a CPU.
// in: ids, PieceArgs → out: the arrays of a Plan, bit for bit those of make_plan. Three steps, each
// after all warps have ended the one before: count_piece on every piece, scan_columns, fill_piece
// on every piece.
//
// Warp: each_lane(f) calls f(lane) for its 32 lanes, each(n, f) calls f(0) … f(n − 1) shared among
// them; both meet at their end. set_bits(word, bits) is atomic within the warp, popcount(word)
// counts, exclusive_scan(values, count) replaces each value by the sum of those before it and
// returns the sum of all, on every lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/host_device.hpp"
#include "cluster/shape.hpp"
#include "plan/plan.hpp"

namespace shunt::plan {

inline constexpr int kPieceTokens = 32;  ///< Lanes of a warp, bits of a word.

/// The arrays of a Plan (see there) where kernels read them.
struct PlanArrays {
  std::int32_t* rows_to_rank = nullptr;
  std::int64_t* send_begin = nullptr;
  std::int32_t* send_tokens = nullptr;
  std::int64_t* chunk_begin = nullptr;
  std::int32_t* chunk_prefix = nullptr;
  std::uint32_t* pending = nullptr;  ///< [chunks]: records of each.
  std::int32_t* own_tokens = nullptr;
  RowRef* own_rows = nullptr;
  std::int64_t* copies_begin = nullptr;
  NodeCopy* copies = nullptr;
  std::int64_t* own_count = nullptr;  ///< [1]: own tokens. Null if the host knows it.
};

struct PieceArgs {
  cluster::Shape shape;
  int node = 0;  ///< Of the rank that plans.
  int topk = 1;
  int experts_per_rank = 1;
  int chunk_tokens = 64;
  int fanout = 1;
  std::int64_t tokens = 0;
  const std::int32_t* ids = nullptr;  ///< [tokens][topk]
  /// [columns()][stride], scratch: what a piece adds to each rank's rows, to each node's records,
  /// and to the node copies; scan_columns turns them into what lies before the piece.
  std::int32_t* columns = nullptr;
  std::int64_t stride = 0;               ///< At least pieces().
  std::int32_t* node_records = nullptr;  ///< [nodes], scratch.
  PlanArrays out;

  /// What a warp holds words for: ranks, then nodes.
  [[nodiscard]] SHUNT_HOST_DEVICE int targets() const { return shape.world + shape.nodes; }
  [[nodiscard]] SHUNT_HOST_DEVICE int columns_count() const { return targets() + 1; }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t pieces() const {
    return (tokens + kPieceTokens - 1) / kPieceTokens;
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int32_t* column(int c) const { return columns + c * stride; }
};
static_assert(std::is_trivially_copyable_v<PieceArgs>);

/// Words of one warp, [targets()] each.
struct PieceWords {
  std::uint32_t* lanes = nullptr;  ///< Bit l: token l of the piece goes to this rank, or node.
  std::int32_t* before = nullptr;  ///< Its rows, or records, of earlier pieces.

  /// Bytes of a warp.
  [[nodiscard]] static SHUNT_HOST_DEVICE std::size_t bytes(int targets) {
    return static_cast<std::size_t>(targets) * (sizeof(std::uint32_t) + sizeof(std::int32_t));
  }
  [[nodiscard]] static SHUNT_HOST_DEVICE PieceWords at(unsigned char* memory, int targets) {
    auto* lanes = reinterpret_cast<std::uint32_t*>(memory);
    return {lanes, reinterpret_cast<std::int32_t*>(lanes + targets)};
  }
};

/// Sets the words of a piece. Ids that are not allowed count as none; bad_id(token, slot, id).
template <typename Warp, typename BadId>
SHUNT_DEVICE void mark_piece(Warp& warp,
                             const PieceArgs& args,
                             const PieceWords& words,
                             std::int64_t piece,
                             BadId&& bad_id) {
  const int world = args.shape.world;
  const auto experts = static_cast<std::uint32_t>(world * args.experts_per_rank);
  warp.each(world, [&](int rank) { words.lanes[rank] = 0; });
  warp.each_lane([&](int lane) {
    const std::int64_t token = piece * kPieceTokens + lane;
    if (token >= args.tokens) return;
    const std::int32_t* ids = args.ids + token * args.topk;
    for (int k = 0; k < args.topk; ++k) {
      const std::int32_t id = ids[k];
      if (static_cast<std::uint32_t>(id) < experts) {
        warp.set_bits(words.lanes + id / args.experts_per_rank, 1U << static_cast<unsigned>(lane));
      } else if (id != -1) {
        bad_id(token, k, id);
      }
    }
  });
  warp.each(args.shape.nodes, [&](int node) {
    std::uint32_t any = 0;
    for (int l = 0; l < args.shape.ranks_per_node; ++l) {
      any |= words.lanes[args.shape.rank_of(node, l)];
    }
    words.lanes[world + node] = any;
  });
}

/// First step.
template <typename Warp, typename BadId>
SHUNT_DEVICE void count_piece(Warp& warp,
                              const PieceArgs& args,
                              const PieceWords& words,
                              std::int64_t piece,
                              BadId&& bad_id) {
  mark_piece(warp, args, words, piece, bad_id);
  warp.each(args.targets(), [&](int c) { args.column(c)[piece] = warp.popcount(words.lanes[c]); });
  warp.each(1, [&](int) {
    std::int32_t copies = 0;
    for (int n = 0; n < args.shape.nodes; ++n) {
      copies += warp.popcount(words.lanes[args.shape.world + n]);
    }
    args.column(args.targets())[piece] = copies;
  });
}

/// Second step: the columns that fall to warp `index` of `warps`; then, once all of them have met,
/// one lane calls sum_peers.
template <typename Warp>
SHUNT_DEVICE void scan_columns(Warp& warp, const PieceArgs& args, int index, int warps) {
  const int world = args.shape.world;
  for (int c = index; c < args.columns_count(); c += warps) {
    const std::int32_t total = warp.exclusive_scan(args.column(c), args.pieces());
    warp.each(1, [&](int) {
      if (c < world) {
        args.out.rows_to_rank[c] = total;
      } else if (c < args.targets()) {
        args.node_records[c - world] = total;
      } else {
        args.out.copies_begin[args.tokens] = total;
      }
    });
  }
}

SHUNT_HOST_DEVICE inline void sum_peers(const PieceArgs& args) {
  std::int64_t records = 0;
  std::int64_t chunks = 0;
  const int peers = args.shape.nodes - 1;
  for (int p = 0; p < peers; ++p) {
    args.out.send_begin[p] = records;
    args.out.chunk_begin[p] = chunks;
    const std::int64_t n = args.node_records[args.shape.peer_node(args.node, p)];
    records += n;
    chunks += (n + args.chunk_tokens - 1) / args.chunk_tokens;
  }
  args.out.send_begin[peers] = records;
  args.out.chunk_begin[peers] = chunks;
  if (args.out.own_count != nullptr) *args.out.own_count = args.node_records[args.node];
}

/// The token of one lane in fill_piece.
template <typename Warp>
class PieceToken {
 public:
  SHUNT_DEVICE PieceToken(
      Warp& warp, const PieceArgs& args, const PieceWords& words, std::int32_t token, int lane)
      : warp_(warp),
        args_(args),
        words_(words),
        token_(token),
        bit_(1U << static_cast<unsigned>(lane)) {}

  /// `copies`: node copies of the pieces before.
  SHUNT_DEVICE void fill(std::int64_t copies) const {
    const int world = args_.shape.world;
    for (int n = 0; n < args_.shape.nodes; ++n) {
      copies += warp_.popcount(words_.lanes[world + n] & (bit_ - 1));
    }
    args_.out.copies_begin[token_] = copies;
    for (int n = 0; n < args_.shape.nodes; ++n) {
      if (!goes_to(world + n)) continue;
      const std::int32_t record = position(world + n);
      args_.out.copies[copies++] = {n, record};
      if (n == args_.node) {
        fill_own(record);
      } else {
        fill_send(n, record);
      }
    }
  }

 private:
  [[nodiscard]] SHUNT_DEVICE bool goes_to(int target) const {
    return (words_.lanes[target] & bit_) != 0;
  }
  /// How many earlier tokens go to a rank, or node.
  [[nodiscard]] SHUNT_DEVICE std::int32_t position(int target) const {
    return words_.before[target] + warp_.popcount(words_.lanes[target] & (bit_ - 1));
  }
  SHUNT_DEVICE void fill_own(std::int32_t record) const {
    args_.out.own_tokens[record] = token_;
    RowRef* const rows = args_.out.own_rows + static_cast<std::int64_t>(record) * args_.fanout;
    int slot = 0;
    for (int l = 0; l < args_.shape.ranks_per_node; ++l) {
      const int rank = args_.shape.rank_of(args_.node, l);
      if (goes_to(rank)) rows[slot++] = {l, position(rank)};
    }
    for (; slot < args_.fanout; ++slot) rows[slot] = {-1, -1};
  }
  SHUNT_DEVICE void fill_send(int node, std::int32_t record) const {
    const int peer = args_.shape.peer_index(args_.node, node);
    const std::int64_t begin = args_.out.send_begin[peer];
    args_.out.send_tokens[begin + record] = token_;
    if (record % args_.chunk_tokens != 0) return;
    const std::int64_t chunk = args_.out.chunk_begin[peer] + record / args_.chunk_tokens;
    const int locals = args_.shape.ranks_per_node;
    for (int l = 0; l < locals; ++l) {
      args_.out.chunk_prefix[chunk * locals + l] = position(args_.shape.rank_of(node, l));
    }
    const std::int64_t left = args_.out.send_begin[peer + 1] - begin - record;
    args_.out.pending[chunk] =
        static_cast<std::uint32_t>(left < args_.chunk_tokens ? left : args_.chunk_tokens);
  }

  Warp& warp_;
  const PieceArgs& args_;
  const PieceWords& words_;
  const std::int32_t token_;
  const std::uint32_t bit_;
};

/// Third step.
template <typename Warp>
SHUNT_DEVICE void fill_piece(Warp& warp,
                             const PieceArgs& args,
                             const PieceWords& words,
                             std::int64_t piece) {
  mark_piece(warp, args, words, piece, [](std::int64_t, int, std::int32_t) {});
  warp.each(args.targets(), [&](int c) { words.before[c] = args.column(c)[piece]; });
  const std::int64_t copies = args.column(args.targets())[piece];
  warp.each_lane([&](int lane) {
    const std::int64_t token = piece * kPieceTokens + lane;
    if (token >= args.tokens) return;
    PieceToken<Warp>(warp, args, words, static_cast<std::int32_t>(token), lane).fill(copies);
  });
}

}  // namespace shunt::plan
