// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the dispatches of `shunt bench` put their rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "shunt/shunt.hpp"

namespace shunt::cli {

/// Arrays for `capacity` rows in the heap of `buffer` (on the CPU or on a device), which node peers
/// reach: nothing is copied.
template <typename Buffer>
[[nodiscard]] Result<DispatchOutput> take_output(Buffer& buffer,
                                                 const BufferOptions& options,
                                                 std::int64_t capacity) {
  const auto rows = static_cast<std::size_t>(capacity);
  const auto slots = rows * static_cast<std::size_t>(options.topk);
  const auto row_bytes = static_cast<std::size_t>(options.hidden) * size_of(options.dtype);
  auto at = buffer.allocate(rows * row_bytes);
  auto ids = buffer.allocate(slots * sizeof(std::int32_t));
  auto weights = buffer.allocate(slots * sizeof(float));
  auto origins = buffer.allocate(rows * sizeof(RowOrigin));
  if (!at || !ids || !weights || !origins) {
    return fail(ErrorCode::kInternal, ErrorScope::kOperation, "the heap was sized too small");
  }
  return DispatchOutput{*at,
                        static_cast<std::int32_t*>(*ids),
                        static_cast<float*>(*weights),
                        static_cast<RowOrigin*>(*origins),
                        capacity};
}

}  // namespace shunt::cli
