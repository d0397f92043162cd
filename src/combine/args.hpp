// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dispatch/args.hpp"
#include "exec/sum.hpp"
#include "memory/layout.hpp"
#include "plan/plan.hpp"

namespace shunt::combine {

/// A combine chunk: dispatch's header, then partial rows of wire_stride bytes each.
using dispatch::ChunkHeader;

/// One combine as the blocks of one rank see it: the dispatch of its handle, backwards.
struct CombineArgs {
  std::uint64_t op = 0;
  std::uint64_t hash = 0;    ///< Of the operations so far, this one included: all ranks alike.
  std::uint64_t hidden = 0;  ///< Elements of a row.
  DType row_type = DType::kBF16;
  exec::SumTypes types;           ///< partial = wire type.
  std::uint64_t wire_stride = 0;  ///< Bytes of a partial row, a multiple of 16.
  int chunk_tokens = 64;
  int fanout = 1;
  memory::Posting input;        ///< rows_offset and capacity_rows of this rank's expert outputs.
  std::byte* output = nullptr;  ///< [tokens][hidden] of types.output.

  std::int64_t tokens = 0;  // The Plan, see there.
  const std::int64_t* send_begin = nullptr;
  const std::int64_t* chunk_begin = nullptr;
  const std::int64_t* copies_begin = nullptr;
  const plan::NodeCopy* copies = nullptr;
  const plan::RowRef* own_rows = nullptr;

  dispatch::HandleMaps maps;
  std::uint32_t* pending = nullptr;      ///< [chunks]: tokens that still need a landed chunk;
                                         ///< returns to its start value by itself.
  std::int32_t* send_scratch = nullptr;  ///< [send blocks][peers].
  dispatch::RoleTargets targets;
  exec::SumTerm* terms = nullptr;  ///< [role blocks][warps][max_terms], scratch; intra role,
                                   ///< send role and receive role one region each.
  std::uint64_t terms_region = 0;  ///< Terms of one role's region.
  int max_terms = 1;               ///< nodes + fanout.

  /// What this rank tells its node peers on entering.
  [[nodiscard]] SHUNT_HOST_DEVICE memory::Posting posting() const {
    memory::Posting mine = input;
    mine.hash = hash;
    return mine;
  }
};
static_assert(std::is_trivially_copyable_v<CombineArgs>);

}  // namespace shunt::combine
