// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the data path leaves behind about itself: spans, puts, arrivals. in: times and facts from
// the hot loop → out: plain records in a bounded ring, drained by profile/. No I/O, no allocation
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace shunt::record {

/// What a span belongs to. On disk, never renumber. Names: to_string() gives the trace's words.
enum class Phase : std::uint16_t {
  kNone = 0,
  kCountExchange = 1,
  kCopyToStaging = 2,
  kDispatchInterNodeSend = 3,
  kDispatchInterNodeRecv = 4,
  kDispatchIntra = 5,
  kDispatchSync = 6,
  kDispatchOutputCopy = 7,  ///< Rows copied out of the window because the output is not in it.
  kCombineSync = 16,
  kCombineSyncBarrier = 17,
  kCombineInterNode = 18,
  kCombineIntraNode = 19,
  kCombineAll = 20,
  kCombineRelease = 21,
  kDispatch = 32,  ///< The whole operation, as the caller sees it.
  kCombine = 33,
};

/// What the time was spent on. On disk, never renumber.
enum class SpanKind : std::uint8_t {
  kPhase = 0,  ///< The phase on this block from begin to end; the other kinds lie inside it.
  kPost = 1,
  kWait = 2,
  kCopy = 3,
  kReduce = 4,
  kBarrier = 5,
};

/// What a wait waited for. On disk, never renumber.
enum class WaitReason : std::uint8_t {
  kNone = 0,
  kCounts = 1,    ///< Row counts of a source rank.
  kArrival = 2,   ///< A chunk from a remote node.
  kCredit = 3,    ///< The target's landing slots.
  kStaging = 4,   ///< A staging slot whose put has not completed.
  kPost = 5,      ///< A node peer that has not posted its output or input yet.
  kPeerDone = 6,  ///< A node peer that still stores into, or reads from, this rank's rows.
};

/// A piece of time of one block and warp. Times: now_ns() of the rank's host, ns.
struct Span {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t op = 0;    ///< Sequence number of the operation on its Buffer (low 32 bits).
  std::int32_t peer = -1;  ///< Rank on the other side, −1 if none or several.
  std::int32_t chunk = -1;
  Phase phase = Phase::kNone;
  std::uint16_t block = 0;
  std::uint16_t warp = 0;
  SpanKind kind = SpanKind::kPhase;
  WaitReason reason = WaitReason::kNone;
};

/// One put, written when its local completion was seen (completed_ns 0: never).
struct Put {
  std::uint64_t posted_ns = 0;     ///< Handed to the provider.
  std::uint64_t completed_ns = 0;  ///< Local completion; not an arrival.
  std::uint64_t enqueued_ns = 0;   ///< Descriptor taken from the ring by the progress thread.
  std::uint64_t bytes = 0;
  std::uint32_t op = 0;
  std::int32_t peer = -1;  ///< Target rank.
  std::int32_t chunk = -1;  ///< Position in its operation and (source, target) pair; −1 for counts.
  std::uint16_t nic = 0;
  std::uint16_t qp = 0;
  Phase phase = Phase::kNone;
};

/// One chunk (or count message) that landed here.
struct Arrival {
  std::uint64_t time_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved0 = 0;
  std::uint64_t reserved1 = 0;
  std::uint32_t op = 0;
  std::int32_t peer = -1;  ///< Source rank.
  std::int32_t chunk = -1;
  std::uint16_t nic = 0;
  std::uint16_t qp = 0;
  Phase phase = Phase::kNone;
};

enum class RecordType : std::uint8_t { kSpan = 1, kPut = 2, kArrival = 3 };

static_assert(std::is_trivially_copyable_v<Span> && sizeof(Span) == 48);
static_assert(std::is_trivially_copyable_v<Put> && sizeof(Put) == 56);
static_assert(std::is_trivially_copyable_v<Arrival> && sizeof(Arrival) == 56);

/// "dispatch_inter_node_send" …: DESIGN's phase names, the same in traces, tables and JSON.
[[nodiscard]] const char* to_string(Phase phase);
[[nodiscard]] const char* to_string(SpanKind kind);
[[nodiscard]] const char* to_string(WaitReason reason);
/// The phase of a name that to_string() gives.
[[nodiscard]] std::optional<Phase> parse_phase(std::string_view name);

}  // namespace shunt::record
