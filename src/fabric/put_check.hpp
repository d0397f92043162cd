// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Is a put inside both regions? One answer, and one wording, for every engine.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/fabric.hpp"

namespace shunt::fabric {

/// What an engine knows of its limits when a put is posted.
struct PutLimits {
  std::uint64_t source_bytes = 0;  ///< Size of this rank's exposed region.
  /// By peer: size of its region plus one; 0 where the peer is not connected.
  std::span<const std::uint64_t> target_ends;
  std::int32_t qps = 1;
};

/// Do [offset, offset + bytes) stay below `end` − 1? Right for all 64-bit values; never for end 0.
[[nodiscard]] inline bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t end) {
  return bytes < end && offset < end - bytes;
}

/// True if the put may be carried out. A handful of compares: fit for the hot path.
[[nodiscard]] inline bool allowed(const Put& put, const PutLimits& limits) {
  return static_cast<std::uint32_t>(put.peer) < limits.target_ends.size() &&
         static_cast<std::uint32_t>(put.qp) < static_cast<std::uint32_t>(limits.qps) &&
         put.context != kNoContext &&
         inside(put.source_offset, put.bytes, limits.source_bytes + 1) &&
         inside(
             put.target_offset, put.bytes, limits.target_ends[static_cast<std::size_t>(put.peer)]);
}

/// The words for a put that is not allowed().
[[nodiscard]] Error explain_refusal(const Put& put, const PutLimits& limits);

}  // namespace shunt::fabric
