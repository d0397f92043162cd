// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Is a put inside what both ends expose? One answer, and one wording, for every engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/fabric.hpp"

namespace shunt::fabric {

/// The regions that a rank exposes as one range of offsets. Plain numbers; none: not connected.
class Space {
 public:
  Space() = default;
  explicit Space(std::span<const Region> regions) {
    for (const Region& region : regions) add(region.bytes.size());
  }
  /// Appends a region. False, and nothing changes, if there is no room for it: kMostRegions, or
  /// sizes that 64 bits do not hold.
  bool add(std::uint64_t bytes) {
    const std::uint64_t begin = end();
    if (count_ == kMostRegions || begin + bytes < begin || begin + bytes == ~std::uint64_t{0}) {
      return false;
    }
    ends_[count_++] = begin + bytes;
    return true;
  }

  [[nodiscard]] std::size_t regions() const { return count_; }
  [[nodiscard]] std::uint64_t end() const { return count_ == 0 ? 0 : ends_[count_ - 1]; }
  [[nodiscard]] std::uint64_t begin_of(std::size_t region) const {
    return region == 0 ? 0 : ends_[region - 1];
  }
  [[nodiscard]] std::uint64_t end_of(std::size_t region) const { return ends_[region]; }
  /// The region that an offset lies in; the last one for all that lie in none.
  [[nodiscard]] std::size_t region_of(std::uint64_t offset) const {
    std::size_t region = 0;
    while (region + 1 < count_ && offset >= ends_[region]) ++region;
    return region;
  }
  /// Do [offset, offset + bytes) lie in one region? Right for all 64-bit values; never where
  /// nothing is exposed.
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t end = count_ == 0 ? 0 : ends_[region_of(offset)] + 1;
    return bytes < end && offset < end - bytes;
  }

 private:
  std::array<std::uint64_t, kMostRegions> ends_{};
  std::size_t count_ = 0;
};

/// What an engine knows of its limits when a put is posted.
struct PutLimits {
  Space source;                    ///< What this rank exposes.
  std::span<const Space> targets;  ///< By peer.
  std::int32_t qps = 1;
};

/// True if the put may be carried out. A handful of compares: fit for the hot path.
[[nodiscard]] inline bool allowed(const Put& put, const PutLimits& limits) {
  return static_cast<std::uint32_t>(put.peer) < limits.targets.size() &&
         static_cast<std::uint32_t>(put.qp) < static_cast<std::uint32_t>(limits.qps) &&
         put.context != kNoContext && limits.source.holds(put.source_offset, put.bytes) &&
         limits.targets[static_cast<std::size_t>(put.peer)].holds(put.target_offset, put.bytes);
}

/// The words for a put that is not allowed().
[[nodiscard]] Error explain_refusal(const Put& put, const PutLimits& limits);

/// Whether so many regions, of such sizes, can be exposed; `fabric` names the engine in the error.
[[nodiscard]] Status check_regions(std::span<const Region> regions, const std::string& fabric);

}  // namespace shunt::fabric
