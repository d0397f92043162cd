// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "combine/ahead.hpp"
#include "exec/phase.hpp"

namespace shunt::combine {

enum class Region : std::uint64_t { kIntra = 0, kInter = 1, kAll = 2 };

/// This warp's scratch for the terms of one sum.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE exec::SumTerm* my_terms(Exec& exec,
                                                   const CombineArgs& args,
                                                   Region region) {
  const std::uint64_t warp =
      static_cast<std::uint64_t>(exec.block()) * static_cast<std::uint64_t>(exec.warps()) +
      static_cast<std::uint64_t>(exec.warp());
  return exec.term_scratch(args.terms + static_cast<std::uint64_t>(region) * args.terms_region +
                           warp * static_cast<std::uint64_t>(args.max_terms));
}

/// Appends the rows of one token on this node, ranks ascending, as one partial. Rows beyond what
/// their owner has (an overflowed dispatch) are absent. Returns the number of terms; −1 once the
/// operation has failed, which it cannot between nodes. One warp; `first` is the element at which
/// the terms begin.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE int add_node_rows(Exec& exec,
                                             const CombineArgs& args,
                                             const exec::RowTarget* targets,
                                             const plan::RowRef* refs,
                                             std::uint64_t first,
                                             exec::SumTerm* terms) {
  const std::uint64_t row_bytes = args.hidden * size_of(args.row_type);
  int used = 0;
  bool more = true;
  const exec::RankView& rank = exec.rank();
  for (int begin = 0; more && begin < args.fanout; begin += exec.lanes()) {
    const int i = begin + exec.lane();
    const plan::RowRef ref = i < args.fanout ? refs[i] : plan::RowRef{};
    std::uint64_t row = 0;
    bool present = ref.local >= 0;
    more = exec.warp_agree(present || i >= args.fanout);
    if (present) {
      row = static_cast<std::uint64_t>(ref.row + targets[ref.local].first_row);
      present = row < targets[ref.local].capacity;
    }
    const exec::Packed packed = exec.warp_pack(present);
    bool here = true;
    if (present) {
      const std::byte* data = targets[ref.local].rows + row * row_bytes;
      const std::int32_t place = Exec::kRowsAhead ? ahead_place(rank, ref) : -1;
      if (place >= 0) {
        here = await_ahead(exec, ref.local, place);
        data = ahead_row(rank, rank.local, ref.local, place);
      }
      terms[used + packed.before] = {data + first * size_of(args.row_type), args.row_type, false};
    }
    if (Exec::kRowsAhead && !exec.warp_agree(here)) return -1;
    used += packed.all;
  }
  exec.warp_sync();
  if (used > 0 && exec.warp_leader()) terms[used - 1].ends_partial = true;
  return used;
}

}  // namespace shunt::combine
