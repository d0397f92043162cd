// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The words that every kind of World uses for the same failure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bootstrap/world.hpp"
#include "shunt/error.hpp"

namespace shunt::bootstrap {

[[nodiscard]] const char* to_string(Call call);

/// "rank 2", "ranks 0, 1 and 5"; long lists are cut: "ranks 0, 1, 2, 3 and 60 more".
[[nodiscard]] std::string name_ranks(std::span<const int> ranks);

/// Rank `rank` returned before the others had finished with `call`.
[[nodiscard]] Error rank_left(int rank, Call call);
/// Rank `rank` ended with a failure of its own.
[[nodiscard]] Error rank_failed(int rank, std::string_view why);
/// Rank `rank` made `call` while others wait in `expected`.
[[nodiscard]] Error calls_differ(int rank, Call call, Call expected);
/// `missing` had not made the call when the deadline passed.
[[nodiscard]] Error call_timed_out(Call call,
                                   std::uint64_t deadline_ns,
                                   std::span<const int> missing);

}  // namespace shunt::bootstrap
