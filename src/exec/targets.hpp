// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where rows lie in the heaps of this node, looked up once per block and row: behind a store or a
// sum stand few loads that wait for one another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.hpp"

namespace shunt::exec {

/// The posted arrays of one node peer as addresses; null where the peer wants none.
struct RowTarget {
  std::byte* rows = nullptr;
  std::int32_t* ids = nullptr;
  float* weights = nullptr;
  std::byte* sources = nullptr;
  std::uint64_t capacity = 0;  ///< In rows.
  std::int64_t first_row = 0;  ///< Of this rank's own tokens.
};

/// Where a lane stands among those of its warp for which something holds.
struct Packed {
  int before = 0;  ///< Lower lanes for which it holds.
  int all = 0;
};

/// Rows of one record that a warp stores at a time.
struct RowBatch {
  static constexpr int kRows = 32;
  std::byte* at[kRows];       ///< Where the data go.
  std::int32_t local[kRows];  ///< Whose rows they are …
  std::uint32_t row[kRows];   ///< … and which.
};

}  // namespace shunt::exec
