// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank of a world that starts its own ranks runs.
#pragma once

#include <exception>
#include <new>

#include "base/error.hpp"
#include "bootstrap/world.hpp"

namespace shunt::bootstrap {

/// rank_main(world); an exception that it lets out ends here, as an error of this rank.
template <typename RankMain>
auto run_guarded(const RankMain& rank_main, World& world) -> decltype(rank_main(world)) {
  try {
    return rank_main(world);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kOutOfMemory, ErrorScope::kFatal, "out of memory");
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::kInternal, ErrorScope::kFatal, "exception: {}", thrown.what());
  }
}

}  // namespace shunt::bootstrap
