// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the blocks of a rank can reach: its heap, its node peers' heaps, and words that only its own
// blocks use. Plain pointers and numbers, so that it can be a kernel argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/host_device.hpp"
#include "cluster/shape.hpp"
#include "memory/layout.hpp"

namespace shunt::exec {

/// Words that blocks of one rank use among themselves. Values only grow. Counters count arrivals of
/// blocks over the life of the Buffer; the others hold op + 1 of the latest operation.
enum class Word : int {
  kSendArrivals,     ///< Counter: blocks that have left the send role.
  kReceiveArrivals,  ///< Counter: … the receive role.
  kIntraArrivals,    ///< Counter: … the intra role, where they do not tell the peers one by one.
  kSendDone,
  kReceiveDone,
  kIntraDone,   ///< Also: the whole operation has ended on this rank.
  kCountsSent,  ///< The counts of a dispatch are on their way: bulk may follow them.
  kBasesReady,  ///< Row bases and chunk counts of a dispatch are known.
  kIntraUnits,  ///< Counter, 0 between operations: units of work drawn in the intra role.
  kCount
};

/// What a staging slot holds: written by the sending block before its descriptor, read by the
/// progress thread after it.
struct alignas(16) SlotNote {
  std::uint64_t posted_ns = 0;  ///< Executor's clock; 0 while recording is off.
  std::uint32_t op = 0;
  std::int32_t chunk = 0;
};

/// What a landing slot held: written by the block that releases it, before its descriptor, where
/// the progress thread cannot look into the slot.
struct alignas(16) LandedNote {
  std::uint64_t bytes = 0;
  std::uint32_t op = 0;
  std::int32_t chunk = 0;
};

struct RankView {
  int rank = 0;
  int node = 0;
  int local = 0;
  cluster::Shape shape;
  memory::Layout layout;
  std::byte* heap = nullptr;
  std::byte* const* windows = nullptr;  ///< [ranks_per_node], own heap included.
  /// Base of what the fabric and progress threads touch (Layout, from fabric_begin): the heap
  /// itself, or memory of the host where the heap lies on a device.
  std::byte* fabric = nullptr;
  /// Layout::slots_begin of the slots of chunks: in the above, or apart, in memory of the device.
  /// Progress threads do not look into them then.
  std::byte* slots = nullptr;
  std::uint64_t* words = nullptr;   ///< [Word::kCount], a line each.
  std::uint64_t* sent[3] = {};      ///< [peers]: next sequence to send, per channel kind.
  std::uint64_t* received[3] = {};  ///< [peers]: next sequence to consume.
  SlotNote* notes[3] = {};          ///< [peers][capacity], in memory of the host.
  LandedNote* landed[2] = {};       ///< The same, of the kinds of chunks; null: nobody needs them.

  [[nodiscard]] SHUNT_HOST_DEVICE int peers() const { return shape.nodes - 1; }
  [[nodiscard]] SHUNT_HOST_DEVICE std::uint64_t* word(Word w) const {
    return words + static_cast<std::size_t>(w) * (memory::kLine / sizeof(std::uint64_t));
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::uint64_t* heap_word(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t*>(heap + offset);
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::uint64_t* fabric_word(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t*>(fabric + offset);
  }
  /// The slot of a kind that lies at an offset of the layout.
  [[nodiscard]] SHUNT_HOST_DEVICE std::byte* slot_at(int kind, std::size_t offset) const {
    return memory::Layout::holds_chunks(kind) ? slots + (offset - layout.slots_begin)
                                              : fabric + offset;
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::byte* staging_slot(int kind,
                                                          int peer,
                                                          std::uint64_t sequence) const {
    return slot_at(kind, layout.staging_slot(kind, static_cast<std::uint32_t>(peer), sequence));
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::byte* landing_slot(int kind,
                                                          int peer,
                                                          std::uint64_t sequence) const {
    return slot_at(kind, layout.landing_slot(kind, static_cast<std::uint32_t>(peer), sequence));
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::uint64_t* peer_word(int peer_local,
                                                           std::size_t offset) const {
    return reinterpret_cast<std::uint64_t*>(windows[peer_local] + offset);
  }
  template <typename T>
  [[nodiscard]] SHUNT_HOST_DEVICE T* at(int peer_local, std::size_t offset) const {
    return reinterpret_cast<T*>(windows[peer_local] + offset);
  }
  [[nodiscard]] SHUNT_HOST_DEVICE memory::Control* control(int peer_local) const {
    return at<memory::Control>(peer_local, layout.control);
  }
  /// Rank on this rank's rail at peer index `peer`.
  [[nodiscard]] SHUNT_HOST_DEVICE int rail_rank(int peer) const {
    return shape.rank_of(shape.peer_node(node, peer), local);
  }
};
static_assert(std::is_trivially_copyable_v<RankView>);

}  // namespace shunt::exec
