// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The blocks of the CPU executor as threads that stay: each takes every operation in order and runs
// its role. in: operations → out: their roles run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/futex.hpp"
#include "engine/roles.hpp"

namespace shunt::engine {

struct Block {
  Role role = Role::kIntra;
  int index = 0;
};

/// Threads over a ring of operations. issue() from one thread; the blocks read.
template <typename Operation>
class Workers {
 public:
  static constexpr std::uint32_t kDepth = 64;  ///< Operations in flight.
  using Run = std::function<void(Operation&, const Block&)>;

  Workers(const std::vector<Block>& blocks, Run run) : run_(std::move(run)), done_(blocks.size()) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      threads_.emplace_back([this, i, block = blocks[i]] { loop(i, block); });
    }
  }
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// All operations issued so far still run (or fail) before the threads end. Then drops them: an
  /// operation may hold what holds these Workers.
  void stop() {
    stop_.store(true, std::memory_order_release);
    wake_.fetch_add(1, std::memory_order_release);
    futex_wake_all(wake_);
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
    for (std::unique_ptr<Operation>& operation : ring_) operation.reset();
  }

  /// Hands an operation to all blocks. Frees the slot's former operation, which has ended: the
  /// caller waits for room by wait_for_room().
  void issue(std::unique_ptr<Operation> operation) {
    const std::uint64_t at = issued_.load(std::memory_order_relaxed);
    ring_[at % kDepth] = std::move(operation);
    issued_.store(at + 1, std::memory_order_release);  // Pairs with the acquire in loop().
    wake_.fetch_add(1, std::memory_order_release);
    futex_wake_all(wake_);
  }

  /// Operations that all blocks have left.
  [[nodiscard]] std::uint64_t finished() const {
    std::uint64_t least = issued_.load(std::memory_order_acquire);
    for (const auto& done : done_) {
      const std::uint64_t value = done.value.load(std::memory_order_acquire);
      if (value < least) least = value;
    }
    return least;
  }

  /// Sleeps until finished() ≥ `count`.
  void wait_finished(std::uint64_t count) {
    while (finished() < count) {
      const std::uint32_t seen = left_.load(std::memory_order_acquire);
      if (finished() >= count) return;
      futex_wait(left_, seen, 100'000'000);
    }
  }
  void wait_for_room() {
    const std::uint64_t issued = issued_.load(std::memory_order_relaxed);
    if (issued >= kDepth) wait_finished(issued - kDepth + 1);
  }

 private:
  struct alignas(64) Count {
    std::atomic<std::uint64_t> value{0};
  };

  void loop(std::size_t self, const Block& block) {
    for (std::uint64_t next = 0;; ++next) {
      while (issued_.load(std::memory_order_acquire) <= next) {
        const std::uint32_t seen = wake_.load(std::memory_order_acquire);
        if (issued_.load(std::memory_order_acquire) > next) break;
        if (stop_.load(std::memory_order_acquire)) return;
        futex_wait(wake_, seen, 100'000'000);
      }
      run_(*ring_[next % kDepth], block);
      done_[self].value.store(next + 1, std::memory_order_release);
      left_.fetch_add(1, std::memory_order_release);
      futex_wake_all(left_);
    }
  }

  Run run_;
  std::unique_ptr<Operation> ring_[kDepth];
  std::atomic<std::uint64_t> issued_{0};
  std::vector<Count> done_;
  std::atomic<std::uint32_t> wake_{0};
  std::atomic<std::uint32_t> left_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace shunt::engine
