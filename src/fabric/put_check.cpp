// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/put_check.hpp"

#include <string>

#include <fmt/format.h>

namespace shunt::fabric {
namespace {

std::string reason(const Put& put, const PutLimits& limits) {
  const auto peer = static_cast<std::uint32_t>(put.peer);
  if (peer >= limits.target_ends.size()) {
    return fmt::format("no such peer ({} connected)", limits.target_ends.size());
  }
  if (limits.target_ends[peer] == 0) return "the peer is not connected";
  if (static_cast<std::uint32_t>(put.qp) >= static_cast<std::uint32_t>(limits.qps)) {
    return fmt::format("queue pair {} does not exist (0 to {}; see --qps)", put.qp, limits.qps - 1);
  }
  if (put.context == kNoContext) return "the context 2^64-1 is reserved for failures of peers";
  const bool source = !inside(put.source_offset, put.bytes, limits.source_bytes + 1);
  return fmt::format("{} bytes at offset {} leave {} region of {} bytes",
                     put.bytes,
                     source ? put.source_offset : put.target_offset,
                     source ? "this rank's exposed" : "the target's",
                     source ? limits.source_bytes : limits.target_ends[peer] - 1);
}

}  // namespace

Error explain_refusal(const Put& put, const PutLimits& limits) {
  return Error{ErrorCode::kInvalidArgument,
               ErrorScope::kOperation,
               fmt::format("put {} to peer {}: {}", put.context, put.peer, reason(put, limits)),
               0};
}

}  // namespace shunt::fabric
