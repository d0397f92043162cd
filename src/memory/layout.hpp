// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where everything lies in a heap. in: shape, ring sizes, message sizes → out: Layout, the same on
// every rank. Who writes a region, and who reads it, stands beside it; docs/memory-model.md says
// which store synchronises with which load. All flags hold 64-bit values that only grow.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.hpp"
#include "cluster/shape.hpp"

namespace shunt::memory {

inline constexpr std::size_t kLine = 64;

[[nodiscard]] constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Ring and message sizes of the three channel kinds: dispatch chunks, combine chunks, counts.
struct ChannelSizes {
  std::uint32_t capacity[3] = {0, 0, 0};
  std::size_t slot_bytes[3] = {0, 0, 0};
};

/// Which rows of a combine come ahead (combine/ahead.hpp): of those that a node peer has of this
/// rank's tokens, in order, every 2^step_log2-th from the first on, `rows` of them at most.
struct AheadRows {
  std::uint32_t rows = 0;  ///< 0: none.
  std::uint32_t step_log2 = 0;
  std::size_t row_bytes = 0;  ///< A multiple of 16.

  /// The place of a row among those that come ahead; −1: it does not.
  [[nodiscard]] SHUNT_HOST_DEVICE std::int32_t place(std::int32_t row) const {
    const std::uint32_t at = static_cast<std::uint32_t>(row) >> step_log2;
    return at < rows && this->row(static_cast<std::int32_t>(at)) == row
               ? static_cast<std::int32_t>(at)
               : -1;
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t row(std::int32_t place) const {
    return static_cast<std::int64_t>(place) << step_log2;
  }
};

/// First line of a heap. Written by its owner unless said otherwise.
struct alignas(64) Control {
  std::uint64_t abort = 0;      ///< Error code + 1; written by the owner and by node peers.
  std::uint64_t heartbeat = 0;  ///< Grows while the owner's first progress thread lives.
  std::uint64_t goodbye = 0;    ///< 1 once the owner has left for good.
  std::uint32_t bell = 0;       ///< Grows with every flag written here; a futex.
  std::uint32_t sleepers = 0;   ///< Owner's threads asleep on `bell`.
};

/// What a rank tells its node peers on entering operation s: its output (dispatch), or its expert
/// outputs (combine), as offsets into its heap.
struct Posting {
  std::uint64_t rows_offset = 0;
  std::uint64_t ids_offset = 0;
  std::uint64_t weights_offset = 0;
  std::uint64_t sources_offset = 0;
  std::uint64_t capacity_rows = 0;
  std::uint64_t hash = 0;  ///< Of the operations so far: all ranks must agree.
};

/// A Posting as it lies in the heaps of the node peers. Every word says by itself for which
/// operation it is, so that nothing need stand between them and whoever polls one has its value.
struct alignas(64) PostingLine {
  enum Word { kReady, kHash, kRows, kCapacity, kIds, kWeights, kSources, kUsed, kWords = 8 };
  static constexpr int kValueBits = 48;
  static constexpr std::uint64_t kValue = (std::uint64_t{1} << kValueBits) - 1;

  std::uint64_t words[kWords] = {};

  /// Values are below 2^48 − 1, which stands for ~0 ("none"). A word is overwritten in every
  /// operation, so 16 bits of the number tell the latest from the one before.
  [[nodiscard]] static SHUNT_HOST_DEVICE std::uint64_t word(std::uint64_t value, std::uint64_t op) {
    return (op + 1) << kValueBits | (value & kValue);
  }
  [[nodiscard]] static SHUNT_HOST_DEVICE bool holds(std::uint64_t word, std::uint64_t op) {
    return ((word ^ ((op + 1) << kValueBits)) >> kValueBits) == 0;
  }
  [[nodiscard]] static SHUNT_HOST_DEVICE std::uint64_t value(std::uint64_t word) {
    const std::uint64_t value = word & kValue;
    return value == kValue ? ~std::uint64_t{0} : value;
  }
  [[nodiscard]] static SHUNT_HOST_DEVICE PostingLine of(const Posting& p, std::uint64_t op) {
    return {{op + 1,
             word(p.hash, op),
             word(p.rows_offset, op),
             word(p.capacity_rows, op),
             word(p.ids_offset, op),
             word(p.weights_offset, op),
             word(p.sources_offset, op),
             0}};
  }
};

/// Row counts of one source rank in one dispatch: this header, then int32 rows[ranks_per_node].
/// In count messages and, per (parity, source), in every heap of the target node.
struct alignas(64) CountEntry {
  std::uint64_t ready = 0;    ///< Number of this count exchange + 1; written last, with release.
  std::uint64_t op = 0;       ///< Sequence number of the dispatch on its Buffer.
  std::uint64_t hash = 0;     ///< Of the operations so far: all ranks must agree.
  std::uint64_t records = 0;  ///< That the source's proxy on this node will receive.
  std::int32_t source = 0;
};

/// What a line of Layout::intra_done gains in an operation, all at once or in shares of blocks.
inline constexpr std::uint64_t kWhole = std::uint64_t{1} << 20;

/// Of that, what block `block` of `blocks` brings: all of them together bring all of it.
[[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t share_of(int block, int blocks) {
  const auto b = static_cast<std::uint64_t>(block);
  const auto n = static_cast<std::uint64_t>(blocks);
  return (b + 1) * kWhole / n - b * kWhole / n;
}

/// Offsets into a heap. Regions for channels are indexed by kind (fabric::SignalKind 0 … 2).
class Layout {
 public:
  Layout() = default;
  Layout(const cluster::Shape& shape, const ChannelSizes& sizes, const AheadRows& ahead = {});

  std::size_t control = 0;
  std::size_t postings = 0;  ///< PostingLine[local]: by the node peer it is named for.
  /// line[local]: that peer has done all of operation s in this node but to forward: stored its
  /// rows, or read all it needs of this rank's ((s + 1) · kWhole). Every operation moves it.
  std::size_t intra_done = 0;
  std::size_t forward_done = 0;  ///< line[local]: … it has stored all rows that it forwards.
  std::size_t counts = 0;        ///< CountEntry[2][world], stride count_stride.
  std::size_t count_stride = 0;
  AheadRows ahead;              ///< Of a world of one node; none elsewhere.
  std::size_t ahead_ready = 0;  ///< u64[local][ahead.rows]: the row of that peer that has this
                                ///< place in combine s lies there (s + 1); by the peer.
  std::size_t ahead_rows = 0;   ///< [local][ahead.rows][ahead.row_bytes]: by the peer, before that.

  /// From here to fabric_end: what the fabric and progress threads touch. An executor whose heap
  /// lies on a device keeps this part elsewhere: up to slots_begin in memory of the host always,
  /// the rest, which only its blocks and the fabric look into, there or on the device.
  std::size_t fabric_begin = 0;
  std::size_t arrived[3] =
      {};  ///< u64[peers][capacity]: sequence + 1; by the peer's progress thread.
  std::size_t completed[3] =
      {};  ///< u64[peers][capacity]: sequence + 1; by the peer's progress thread.
  std::size_t credit[3] = {};   ///< u64[peers]: cumulative credit; by the peer's progress thread.
  std::size_t landing[3] = {};  ///< slots[peers][capacity]: by puts of the rail peers.
  std::size_t staging[3] = {};  ///< slots[peers][capacity]: by this rank's blocks.
  std::size_t slots_begin = 0;  ///< Those of chunks, behind all else; of counts: before it.
  std::size_t slot_bytes[3] = {};
  std::uint32_t capacity[3] = {};
  std::size_t fabric_end = 0;

  std::size_t user = 0;  ///< Everything behind belongs to Buffer::allocate.

  /// Whether the slots of a kind lie behind slots_begin.
  [[nodiscard]] static constexpr SHUNT_HOST_DEVICE bool holds_chunks(int kind) { return kind < 2; }
  [[nodiscard]] SHUNT_HOST_DEVICE std::size_t slot(int kind,
                                                   std::uint32_t peer,
                                                   std::uint64_t sequence) const {
    return static_cast<std::size_t>(peer) * capacity[kind] + sequence % capacity[kind];
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::size_t landing_slot(int kind,
                                                           std::uint32_t peer,
                                                           std::uint64_t seq) const {
    return landing[kind] + slot(kind, peer, seq) * slot_bytes[kind];
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::size_t staging_slot(int kind,
                                                           std::uint32_t peer,
                                                           std::uint64_t seq) const {
    return staging[kind] + slot(kind, peer, seq) * slot_bytes[kind];
  }
};

}  // namespace shunt::memory
