// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace shunt {

/// Sleeps while `word` still holds `expected`, at most `timeout_ns`; may return early for no
/// reason. Works between processes that share the page (unlike std::atomic::wait, whose futex is
/// private). The caller loads with acquire and checks its condition again after each return.
void futex_wait(const std::atomic<std::uint32_t>& word,
                std::uint32_t expected,
                std::uint64_t timeout_ns);

/// Wakes all sleepers on `word`, in every process that maps it.
void futex_wake_all(std::atomic<std::uint32_t>& word);

}  // namespace shunt
