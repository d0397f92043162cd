// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the blocks of a kernel are told about their rank, and how they tell the host of a failure.
// Plain data: a kernel argument and a page of pinned memory.
#pragma once

#include <cstdint>

#include "exec/rank_view.hpp"
#include "exec/wait.hpp"

namespace shunt::exec::cuda {

/// In pinned host memory, mapped into the device. The first failing lane of a rank fills it; `kind`
/// last, with release.
struct FailureRecord {
  enum Kind : std::uint64_t { kNone = 0, kExpired = 1, kMismatch = 2, kChunk = 3, kNoProxy = 4 };
  std::uint64_t kind = kNone;
  std::uint64_t aborted_by = 0;  ///< This rank's abort word, if it has seen one.
  WaitFailure wait;
  std::int32_t source = -1;  ///< kMismatch, kChunk: who sent what does not belong here.
  std::int32_t chunk = -1;
  std::uint64_t other_op = 0;
  std::uint64_t hash = 0;
  std::uint64_t own_hash = 0;
};

struct Context {
  RankView rank;
  int row_warps = 1;                   ///< Warps that share a row; divides the warps of a block.
  std::uint64_t* claimed = nullptr;    ///< Device word: 1 once a lane fills the record.
  std::uint64_t* exchanges = nullptr;  ///< Device word: count exchanges that have ended here.
  FailureRecord* failure = nullptr;    ///< Device address of the mapped record.
  std::uint64_t deadline_ns = 0;       ///< Of every single wait.
  std::uint64_t abort = 0;             ///< What to write into node peers' abort words on failure.
};

}  // namespace shunt::exec::cuda
