// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/wait.hpp"

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

}  // namespace shunt::exec
