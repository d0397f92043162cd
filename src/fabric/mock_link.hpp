// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What two ranks of a MockNetwork share: the target's port and the one-way link to it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "base/futex.hpp"
#include "fabric/put_check.hpp"

namespace shunt::fabric::mock {

/// A rank as its peers see it: where to write and how to wake it.
class Port {
 public:
  std::atomic<bool> taken{false};  ///< A fabric was made for this rank.
  /// Release by expose_regions(), acquire by the peers' connect(): makes what is below readable.
  std::atomic<bool> exposed{false};
  /// seq_cst with Link::busy_: either the sender sees closed, or the closer sees busy.
  std::atomic<bool> closed{false};
  Space space;
  std::array<std::byte*, kMostRegions> bases{};

  /// REQUIRES: space.holds() it.
  [[nodiscard]] std::byte* at(std::uint64_t offset) const {
    const std::size_t region = space.region_of(offset);
    return bases[region] + (offset - space.begin_of(region));
  }

  /// Any thread. The increment (seq_cst) comes before the load of sleeping_, and sleep() does the
  /// reverse, so that no ring is lost.
  void ring() {
    bell_.fetch_add(1);
    if (sleeping_.load()) futex_wake_all(bell_);
  }

  /// The bell as of now: taken before looking for work, given to sleep() if there was none.
  [[nodiscard]] std::uint32_t bell() const { return bell_.load(); }

  /// Sleeps until the bell differs from `seen`, at most `timeout_ns`.
  void sleep(std::uint32_t seen, std::uint64_t timeout_ns) {
    sleeping_.store(true);
    if (bell_.load() == seen) futex_wait(bell_, seen, timeout_ns);
    sleeping_.store(false);
  }

 private:
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<bool> sleeping_{false};
};

/// What travels on a link. The payload is empty where the data has landed already.
struct Message {
  std::vector<std::byte> payload;
  std::uint64_t target_offset = 0;
  std::uint32_t immediate = 0;
};

/// One-way queue of messages: one thread sends, one receives. Bounded, lock-free.
class Link {
 public:
  explicit Link(std::size_t capacity) : slots_(std::bit_ceil(capacity)) {}

  /// Sender: true, and the target's region stays valid until leave(), unless the target has gone.
  [[nodiscard]] bool enter(const Port& target) {
    busy_.store(true);
    if (!target.closed.load()) return true;
    leave();
    return false;
  }
  void leave() { busy_.store(false); }
  /// Target, after it has set closed: returns once no sender touches its region.
  void await_idle() const {
    while (busy_.load()) std::this_thread::yield();
  }

  [[nodiscard]] bool full() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire) ==
           slots_.size();
  }
  /// REQUIRES: !full(). The release pairs with pop()'s acquire: data stored before is visible.
  void push(Message message) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    slots_[head & (slots_.size() - 1)] = std::move(message);
    head_.store(head + 1, std::memory_order_release);
  }
  [[nodiscard]] bool pop(Message& message) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == tail) return false;
    message = std::move(slots_[tail & (slots_.size() - 1)]);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

 private:
  std::vector<Message> slots_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<bool> busy_{false};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace shunt::fabric::mock
