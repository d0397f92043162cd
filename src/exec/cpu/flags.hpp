// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Flags of the CPU executor: 64-bit words in shared memory, and the bell that wakes who waits on
// them. docs/memory-model.md names each pair.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.hpp"
#include "memory/layout.hpp"

namespace shunt::exec::cpu {

[[nodiscard]] inline std::uint64_t load_acquire(const std::uint64_t* word) {
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word))
      .load(std::memory_order_acquire);
}

inline void store_release(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_release);
}

/// After a flag in the heap of `control` was stored: wakes its owner's sleepers. The bell's seq_cst
/// increment and the sleeper's seq_cst announcement are in one order: either the sleeper sees the
/// new bell and does not sleep, or the writer sees the sleeper and wakes it.
inline void ring_bell(memory::Control* control) {
  std::atomic_ref<std::uint32_t>(control->bell).fetch_add(1, std::memory_order_seq_cst);
  if (std::atomic_ref<std::uint32_t>(control->sleepers).load(std::memory_order_seq_cst) != 0) {
    futex_wake_all(*reinterpret_cast<std::atomic<std::uint32_t>*>(&control->bell));
  }
}

/// Sleeps until the bell rings or the time is up, unless `done()` holds after announcing.
template <typename Done>
void sleep_on_bell(memory::Control* control, std::uint64_t timeout_ns, Done&& done) {
  std::atomic_ref<std::uint32_t> bell(control->bell);
  std::atomic_ref<std::uint32_t> sleepers(control->sleepers);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = bell.load(std::memory_order_seq_cst);
  if (!done()) {
    futex_wait(*reinterpret_cast<std::atomic<std::uint32_t>*>(&control->bell), seen, timeout_ns);
  }
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace shunt::exec::cpu
