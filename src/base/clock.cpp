// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <ctime>

namespace shunt {
namespace {

std::uint64_t read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

std::uint64_t now_ns() {
  return read_clock(CLOCK_MONOTONIC);
}

std::uint64_t wall_ns() {
  return read_clock(CLOCK_REALTIME);
}

}  // namespace shunt
