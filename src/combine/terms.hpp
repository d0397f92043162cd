// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "combine/args.hpp"
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
/// their owner has (an overflowed dispatch) are absent. Returns the number of terms. One warp;
/// `first` is the element at which the terms begin.
template <exec::Executor Exec>
[[nodiscard]] SHUNT_DEVICE int add_node_rows(Exec& exec,
                                             const CombineArgs& args,
                                             const plan::RowRef* refs,
                                             const std::int32_t* base,
                                             std::uint64_t first,
                                             exec::SumTerm* terms) {
  const exec::RankView& rank = exec.rank();
  const auto* postings = rank.at<memory::Posting>(rank.local, rank.layout.combine_postings);
  const std::uint64_t row_bytes = args.hidden * size_of(args.row_type);
  int used = 0;
  for (int i = 0; i < args.fanout && refs[i].local >= 0; ++i) {
    const int local = refs[i].local;
    const auto row = static_cast<std::uint64_t>(refs[i].row + (base != nullptr ? base[local] : 0));
    if (row >= postings[local].capacity_rows) continue;
    const std::byte* data = rank.windows[local] + postings[local].rows_offset + row * row_bytes +
                            first * size_of(args.row_type);
    if (exec.warp_leader()) terms[used] = {data, args.row_type, false};
    ++used;
  }
  if (used > 0 && exec.warp_leader()) terms[used - 1].ends_partial = true;
  return used;
}

}  // namespace shunt::combine
