// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/collective.hpp"

#include <utility>

#include "bootstrap/wire.hpp"

namespace shunt::bootstrap {

Status agree(World& world, Status mine, std::string_view what) {
  const Result<Blobs> all = world.all_gather(mine ? Bytes() : encode(mine.error()));
  if (!mine) return mine;
  if (!all) {
    Error error = all.error();
    error.message = fmt::format("{}: {}", what, error.message);
    return Unexpected(std::move(error));
  }
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    if ((*all)[rank].empty()) continue;
    Result<Error> error = decode_error((*all)[rank]);
    if (!error) return Unexpected(std::move(error).error());
    error->message = fmt::format("rank {}: {}", rank, error->message);
    return Unexpected(std::move(*error));
  }
  return {};
}

}  // namespace shunt::bootstrap
