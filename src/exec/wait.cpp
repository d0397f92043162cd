// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/wait.hpp"

#include <limits>

#include "base/error.hpp"
#include "base/units.hpp"

namespace shunt::exec {
namespace {

const char* awaited(record::WaitReason reason) {
  switch (reason) {
    case record::WaitReason::kNone:
      return "progress";
    case record::WaitReason::kCounts:
      return "row counts";
    case record::WaitReason::kArrival:
      return "a chunk";
    case record::WaitReason::kCredit:
      return "landing credit";
    case record::WaitReason::kStaging:
      return "completion of an earlier put";
    case record::WaitReason::kPost:
      return "a posted buffer";
    case record::WaitReason::kPeerDone:
      return "the end of its loads and stores";
  }
  return "progress";
}

const char* issued(std::uint64_t hash) {
  switch (static_cast<OperationKind>(hash & 3U)) {
    case OperationKind::kDispatch:
      return "a dispatch";
    case OperationKind::kReplay:
      return "a replay of a dispatch";
    case OperationKind::kCombine:
      return "a combine";
  }
  return "something else";
}

}  // namespace

Error describe(const WaitFailure& failure, const cluster::Shape& shape, int rank) {
  std::string from;
  if (failure.site.peer >= 0) {
    from =
        fmt::format(" from rank {} (node {})", failure.site.peer, shape.node_of(failure.site.peer));
  }
  std::string chunk;
  if (failure.site.chunk >= 0) chunk = fmt::format(", chunk {}", failure.site.chunk);
  return Error{
      ErrorCode::kTimeout,
      ErrorScope::kFatal,
      fmt::format("operation {}: rank {} (node {}) waited {} in {} for {}{}{}: expected {}, "
                  "seen {}",
                  failure.op,
                  rank,
                  shape.node_of(rank),
                  format_ns(failure.waited_ns),
                  to_string(failure.site.phase),
                  awaited(failure.site.reason),
                  from,
                  chunk,
                  failure.expected,
                  failure.seen),
      0};
}

Error describe_mismatch(int source,
                        std::uint64_t op,
                        std::uint64_t hash,
                        int rank,
                        std::uint64_t own_op,
                        std::uint64_t own_hash) {
  return Error{
      ErrorCode::kProtocol,
      ErrorScope::kFatal,
      fmt::format("rank {} issues {} as operation {} (history {:016x}) where rank {} issues {} as "
                  "operation {} (history {:016x}); all ranks must issue the same operations on the "
                  "same handles",
                  source,
                  issued(hash),
                  op,
                  hash,
                  rank,
                  issued(own_hash),
                  own_op,
                  own_hash),
      0};
}

Error describe_too_many_rows(std::uint64_t op, int rank, std::int64_t rows) {
  return Error{
      ErrorCode::kProtocol,
      ErrorScope::kFatal,
      fmt::format("operation {}: rank {} would receive {} rows; at most {} in one dispatch: send "
                  "fewer tokens, or spread them over more ranks",
                  op,
                  rank,
                  rows,
                  std::numeric_limits<std::int32_t>::max()),
      0};
}

}  // namespace shunt::exec
