// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/layout.hpp"

namespace shunt::memory {
namespace {

constexpr std::size_t kRowAlignment = 128;  // Of copies between devices.

}  // namespace

Layout::Layout(const cluster::Shape& shape, const ChannelSizes& sizes, const AheadRows& rows) {
  std::size_t end = 0;
  const auto take = [&end](std::size_t bytes, std::size_t alignment = kLine) {
    const std::size_t at = align_up(end, alignment);
    end = at + bytes;
    return at;
  };
  const auto local = static_cast<std::size_t>(shape.ranks_per_node);
  const auto world = static_cast<std::size_t>(shape.world);
  const auto peers = static_cast<std::size_t>(shape.nodes - 1);

  control = take(sizeof(Control));
  postings = take(local * sizeof(PostingLine));
  intra_done = take(local * kLine);
  forward_done = take(local * kLine);
  count_stride = align_up(sizeof(CountEntry) + local * sizeof(std::int32_t), kLine);
  counts = take(2 * world * count_stride);
  if (shape.nodes == 1 && shape.ranks_per_node > 1) ahead = rows;
  const std::size_t places = local * ahead.rows;
  ahead_ready = take(places * sizeof(std::uint64_t));
  ahead_rows = take(places * ahead.row_bytes, kRowAlignment);
  constexpr std::size_t kPage = 4096;
  fabric_begin = take(0, kPage);
  for (int kind = 0; kind < 3; ++kind) {
    capacity[kind] = sizes.capacity[kind];
    slot_bytes[kind] = align_up(sizes.slot_bytes[kind], kLine);
    const std::size_t slots = peers * capacity[kind];
    arrived[kind] = take(slots * sizeof(std::uint64_t));
    completed[kind] = take(slots * sizeof(std::uint64_t));
    credit[kind] = take(peers * sizeof(std::uint64_t));
  }
  for (const int kind : {2, 0, 1}) {
    if (kind == 0) slots_begin = take(0, kPage);
    const std::size_t slots = peers * capacity[kind];
    landing[kind] = take(slots * slot_bytes[kind], kPage);
    staging[kind] = take(slots * slot_bytes[kind], kPage);
  }
  fabric_end = align_up(end, kPage);
  user = fabric_end;
}

}  // namespace shunt::memory
