// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// How a block writes its spans. in: times and facts of its warps → out: record::Span in the block's
// ring in device memory. Out of line, with little where it is called: rows need the registers.
#pragma once

#include <cstdint>

#include "exec/cuda/context.hpp"
#include "exec/cuda/ptx.cuh"
#include "exec/wait.hpp"
#include "record/record.hpp"

namespace shunt::exec::cuda {

/// Of a block; in shared memory.
struct BlockSpans {
  record::Span* ring = nullptr;  ///< Null: recording off.
  std::uint64_t entered = 0;     ///< When the kernel began here, by the global timer.
  std::uint32_t capacity = 0;
  std::uint32_t written = 0;  ///< As SpanRings::written.
  std::uint32_t op = 0;
  std::uint16_t block = 0;  ///< Of its role.
};

/// What a span is of, in one word: mostly known where the kernel is compiled.
[[nodiscard]] __device__ constexpr std::uint32_t span_of(const WaitSite& site,
                                                         record::SpanKind kind) {
  return static_cast<std::uint32_t>(site.phase) << 16U | static_cast<std::uint32_t>(kind) << 8U |
         static_cast<std::uint32_t>(site.reason);
}

/// One lane. Times: global timer, ns.
static __device__ __noinline__ void write_span(BlockSpans& spans,
                                               std::uint64_t begin,
                                               std::uint64_t end,
                                               std::uint64_t bytes,
                                               std::uint32_t what,
                                               std::int64_t peer_chunk) {
  const std::uint32_t at = atomicAdd(&spans.written, 1U);
  if (at >= spans.capacity) return;
  spans.ring[at] = {begin,
                    end,
                    bytes,
                    spans.op,
                    static_cast<std::int32_t>(peer_chunk >> 32),
                    static_cast<std::int32_t>(peer_chunk),
                    static_cast<record::Phase>(what >> 16U),
                    spans.block,
                    static_cast<std::uint16_t>(threadIdx.x / 32U),
                    static_cast<record::SpanKind>(what >> 8U & 0xffU),
                    static_cast<record::WaitReason>(what & 0xffU)};
}

[[nodiscard]] __device__ constexpr std::int64_t peer_chunk(const WaitSite& site) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(site.peer) << 32U |
                                   static_cast<std::uint32_t>(site.chunk));
}

/// A wait that has ended and has no span yet. Lives in registers, and not for long: local memory,
/// once a kernel uses it, costs more than all else of recording.
struct WaitSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< 0: nothing was waited for.
  std::uint32_t what = 0;
  std::int64_t peer_chunk = 0;
};
struct NoSpan {};

}  // namespace shunt::exec::cuda
