// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shunt {

/// CLOCK_MONOTONIC in nanoseconds: one clock for all processes of a host, unaffected by settime.
[[nodiscard]] std::uint64_t now_ns();

/// CLOCK_REALTIME in nanoseconds since 1970: names runs, never measures them.
[[nodiscard]] std::uint64_t wall_ns();

/// A point on now_ns()'s scale after which a wait has failed.
class Deadline {
 public:
  static Deadline after_ns(std::uint64_t ns) { return Deadline(now_ns() + ns); }
  [[nodiscard]] bool expired() const { return now_ns() >= at_; }
  [[nodiscard]] std::uint64_t remaining_ns() const {
    const std::uint64_t now = now_ns();
    return now >= at_ ? 0 : at_ - now;
  }

 private:
  explicit Deadline(std::uint64_t at) : at_(at) {}
  std::uint64_t at_;
};

}  // namespace shunt
