// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/put_check.hpp"

#include <string>

#include <fmt/format.h>

#include "base/error.hpp"

namespace shunt::fabric {
namespace {

std::string reason(const Put& put, const PutLimits& limits) {
  const auto peer = static_cast<std::uint32_t>(put.peer);
  if (peer >= limits.targets.size()) {
    return fmt::format("no such peer ({} connected)", limits.targets.size());
  }
  if (limits.targets[peer].regions() == 0) return "the peer is not connected";
  if (static_cast<std::uint32_t>(put.qp) >= static_cast<std::uint32_t>(limits.qps)) {
    return fmt::format("queue pair {} does not exist (0 to {}; see --qps)", put.qp, limits.qps - 1);
  }
  if (put.context == kNoContext) return "the context 2^64-1 is reserved for failures of peers";
  const bool source = !limits.source.holds(put.source_offset, put.bytes);
  const Space& space = source ? limits.source : limits.targets[peer];
  const std::uint64_t offset = source ? put.source_offset : put.target_offset;
  const char* whose = source ? "this rank's exposed" : "the target's";
  // Inside all of them together: then it is a border that it crosses.
  const std::uint64_t border = space.end_of(space.region_of(offset));
  if (border < space.end()) {
    return fmt::format("{} bytes at offset {} leave {} region, which ends at {}",
                       put.bytes,
                       offset,
                       whose,
                       border);
  }
  return fmt::format(
      "{} bytes at offset {} leave {} region of {} bytes", put.bytes, offset, whose, space.end());
}

}  // namespace

Error explain_refusal(const Put& put, const PutLimits& limits) {
  return Error{ErrorCode::kInvalidArgument,
               ErrorScope::kOperation,
               fmt::format("put {} to peer {}: {}", put.context, put.peer, reason(put, limits)),
               0};
}

Status check_regions(std::span<const Region> regions, const std::string& fabric) {
  if (regions.empty() || regions.size() > kMostRegions) {
    return usage_error("fabric {}: {} regions to expose; 1 to {} are allowed",
                       fabric,
                       regions.size(),
                       kMostRegions);
  }
  Space space;
  for (const Region& region : regions) {
    if (region.bytes.empty()) {
      return usage_error("fabric {}: the region to expose is empty", fabric);
    }
    if (!space.add(region.bytes.size())) {
      return usage_error("fabric {}: the regions to expose are too large", fabric);
    }
  }
  return {};
}

}  // namespace shunt::fabric
