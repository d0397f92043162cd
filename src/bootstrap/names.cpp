// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/names.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "base/units.hpp"

namespace shunt::bootstrap {

const char* to_string(Call call) {
  return call == Call::kBarrier ? "barrier" : "all-gather";
}

std::string name_ranks(std::span<const int> ranks) {
  constexpr std::size_t kShown = 4;
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  std::string text = fmt::format("ranks {}", ranks[0]);
  const bool cut = ranks.size() > kShown + 1;
  const std::size_t shown = cut ? kShown : ranks.size() - 1;
  for (std::size_t i = 1; i < shown; ++i) text += fmt::format(", {}", ranks[i]);
  if (cut) return text + fmt::format(" and {} more", ranks.size() - kShown);
  return text + fmt::format(" and {}", ranks.back());
}

Error rank_left(int rank, Call call) {
  return Error{
      ErrorCode::kPeerLost,
      ErrorScope::kFatal,
      fmt::format("rank {} left the world before the {} was complete", rank, to_string(call)),
      0};
}

Error rank_failed(int rank, std::string_view why) {
  return Error{
      ErrorCode::kPeerLost, ErrorScope::kFatal, fmt::format("rank {} failed: {}", rank, why), 0};
}

Error calls_differ(int rank, Call call, Call expected) {
  return Error{ErrorCode::kProtocol,
               ErrorScope::kFatal,
               fmt::format("rank {} entered a {} while others wait in a {}; all ranks must make "
                           "the same calls in the same order",
                           rank,
                           to_string(call),
                           to_string(expected)),
               0};
}

Error call_timed_out(Call call, std::uint64_t deadline_ns, std::span<const int> missing) {
  return Error{ErrorCode::kTimeout,
               ErrorScope::kFatal,
               fmt::format("{} not entered by {} within {}",
                           to_string(call),
                           name_ranks(missing),
                           format_ns(deadline_ns)),
               0};
}

}  // namespace shunt::bootstrap
