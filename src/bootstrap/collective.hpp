// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Small collective calls on top of World::all_gather: values of one type, and agreement on success.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// Everyone gives one value and gets all of them, in rank order. T must hold no pointers unless
/// World::one_process(). A rank that sends another size runs another version: kProtocol.
template <typename T>
[[nodiscard]] Result<std::vector<T>> all_gather_value(World& world, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  Result<Blobs> blobs = world.all_gather(std::as_bytes(std::span<const T, 1>(&mine, 1)));
  if (!blobs) return Unexpected(std::move(blobs).error());
  std::vector<T> values(blobs->size());
  for (std::size_t rank = 0; rank < blobs->size(); ++rank) {
    const std::vector<std::byte>& blob = (*blobs)[rank];
    if (blob.size() != sizeof(T)) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "rank {} sent {} bytes where {} were expected; all ranks must run the same "
                  "version and make the same calls in the same order",
                  rank,
                  blob.size(),
                  sizeof(T));
    }
    std::memcpy(&values[rank], blob.data(), sizeof(T));
  }
  return values;
}

/// Returns once all ranks have given their status, and succeeds on all ranks or on none: where any
/// rank failed, every rank gets the failure of the lowest such rank, "rank 2: <message>" (a rank
/// that failed itself gets its own error). `what` names the step for the message of a lost rank.
[[nodiscard]] Status agree(World& world, Status mine, std::string_view what);

}  // namespace shunt::bootstrap
