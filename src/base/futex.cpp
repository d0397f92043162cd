// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace shunt {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 &&
              std::atomic<std::uint32_t>::is_always_lock_free);

void futex_wait(const std::atomic<std::uint32_t>& word,
                std::uint32_t expected,
                std::uint64_t timeout_ns) {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000U);
  limit.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000U);
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace shunt
