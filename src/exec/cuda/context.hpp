// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the blocks of a kernel are told about their rank, and how they tell the host of a failure.
// Plain data: a kernel argument and a page of pinned memory.
#pragma once

#include <cstdint>

#include "exec/descriptor_ring.hpp"
#include "exec/peer_share.hpp"
#include "exec/rank_view.hpp"
#include "exec/wait.hpp"
#include "record/record.hpp"

namespace shunt::exec::cuda {

/// In pinned host memory, mapped into the device. The first failing lane of a rank fills it; `kind`
/// last, with release.
struct FailureRecord {
  enum Kind : std::uint64_t {
    kNone = 0,
    kExpired = 1,
    kMismatch = 2,
    kChunk = 3,
    kRows = 4,
    kId = 5
  };
  std::uint64_t kind = kNone;
  std::uint64_t aborted_by = 0;  ///< This rank's abort word, if it has seen one.
  WaitFailure wait;
  std::int32_t source = -1;  ///< kMismatch, kChunk: who sent what does not belong here.
  std::int32_t chunk = -1;
  std::uint64_t other_op = 0;  ///< kRows: the rows that `source` would receive.
  std::uint64_t hash = 0;
  std::uint64_t own_hash = 0;
  std::int64_t token = -1;  ///< These: kId, an expert id that is not allowed, and where.
  std::int32_t slot = -1;
  std::int32_t id = -1;
};

/// Spans of a rank's blocks in device memory; the host drains them between operations. Times are
/// the device's global timer, in ns.
struct SpanRings {
  record::Span* spans = nullptr;     ///< [blocks][capacity]; null: recording off.
  std::uint32_t* written = nullptr;  ///< [blocks] since the last drain, what did not fit included.
  std::uint32_t capacity = 0;
};

/// Where the lanes that push into a ring stand; in memory of the device.
struct alignas(memory::kLine) PushWords {
  std::uint64_t tail = 0;  ///< Next index to push.
  std::uint64_t head_seen =
      0;  ///< A head of the reader's, which spares reads of the host's memory.
};
/// A head in mapped host memory, on a line of its own: progress threads do not share one.
struct alignas(memory::kLine) HeadWord {
  std::uint64_t index = 0;
};

/// The rings of all progress threads: arrays, so that a lane computes which is its peer's and loads
/// no table.
struct Rings {
  PackedDescriptor* entries = nullptr;  ///< [threads][size], mapped host memory.
  HeadWord* heads = nullptr;            ///< [threads], mapped host memory.
  PushWords* pushers = nullptr;         ///< [threads], device memory.
  std::uint32_t size = 0;               ///< Of each: a power of two.
  std::uint32_t threads = 1;
};

struct Context {
  RankView rank;
  int rdma_blocks = 0;  ///< First blocks of a launch: so many send, as many receive; none in a
                        ///< world of one node.
  Rings rings;
  const std::uint64_t* host_abort = nullptr;  ///< Mapped word: not 0 once the host has given up.
  std::uint64_t* ended = nullptr;  ///< Mapped word: op + 1 of the latest operation that has ended
                                   ///< here. Null in a world of one node.
  SpanRings spans;
  bool adds_at_peers = false;          ///< Atomics reach the heaps of all node peers.
  int row_warps = 1;                   ///< Warps that share a row; divides the warps of a block.
  std::uint64_t* claimed = nullptr;    ///< Device word: 1 once a lane fills the record.
  std::uint64_t* exchanges = nullptr;  ///< Device word: count exchanges that have ended here.
  FailureRecord* failure = nullptr;    ///< Device address of the mapped record.
  std::uint64_t deadline_ns = 0;       ///< Of every single wait.
  std::uint64_t abort = 0;             ///< What to write into node peers' abort words on failure.
};

}  // namespace shunt::exec::cuda
