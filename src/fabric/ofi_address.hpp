// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What peers tell each other before the first put, as bytes: versioned and checked, since ranks may
// run different builds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shunt/result.hpp"

namespace shunt::fabric::ofi {

/// One endpoint of a rank.
struct EndpointAddress {
  std::vector<std::uint64_t> keys;  ///< By exposed region, for writes that arrive here.
  std::vector<std::byte> name;      ///< As fi_getname() gave it.

  bool operator==(const EndpointAddress&) const = default;
};

/// An exposed region, as writes reach it.
struct RegionAddress {
  std::uint64_t bytes = 0;
  std::uint64_t base = 0;  ///< What to add to an offset in the region.

  bool operator==(const RegionAddress&) const = default;
};

struct RankAddress {
  std::string provider;
  std::vector<RegionAddress> regions;
  std::vector<EndpointAddress> endpoints;

  bool operator==(const RankAddress&) const = default;
};

/// Little-endian: magic "SHFA" u32 · version u32 · provider length u32 · regions u32 · endpoints
/// u32 · provider · per region: bytes u64 · base u64 · per endpoint: a key u64 for each region ·
/// name length u32 · name.
[[nodiscard]] std::vector<std::byte> encode(const RankAddress& address);

/// kProtocol for another version, kCorrupt for anything else that encode() does not make.
[[nodiscard]] Result<RankAddress> decode(std::span<const std::byte> bytes);

}  // namespace shunt::fabric::ofi
