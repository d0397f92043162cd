// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// How a rank fails: once, and everybody is told. in: errors of blocks, devices, progress threads
// and other ranks → out: the first of them kept, abort words in all node peers' heaps, the word
// that progress threads send to the rail peers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "exec/failure.hpp"
#include "exec/rank_view.hpp"
#include "exec/wait.hpp"

namespace shunt::engine {

/// Words of a kControl signal, in its lap.
enum class ControlCode : std::uint8_t {
  kGoodbye = 1,   ///< slot = source index: no more operations from here.
  kPeerLost = 2,  ///< slot = rank that has fallen silent.
  kFailed = 3,    ///< slot = rank whose operation failed.
};

/// An abort word: rank + 1 in the lower half, then eight bits of code, then the rank that it has
/// waited for in vain (exec::abort_waited).
[[nodiscard]] constexpr std::uint64_t abort_word(ControlCode code, int rank) {
  return (static_cast<std::uint64_t>(code) << 32) | static_cast<std::uint32_t>(rank + 1);
}
[[nodiscard]] constexpr ControlCode abort_code(std::uint64_t word) {
  return static_cast<ControlCode>((word >> 32) & 0xff);
}
[[nodiscard]] constexpr int abort_rank(std::uint64_t word) {
  return static_cast<int>(word & 0xffff'ffffU) - 1;
}

struct AlarmOptions {
  exec::RankView rank;  ///< As the host reaches it.
  exec::FailureBox* failure = nullptr;
  /// Called before another rank's word on a failure is believed, by any thread: reports what this
  /// rank has found wrong itself, if it has, through raise(). Its failure may come back to it from
  /// the others before it has looked, and they do not know the reason.
  std::function<void()> own_failure;
  /// Called once, by whoever fails first: ends the executor's waits.
  std::function<void(std::uint64_t word)> on_abort;
};

/// Any thread may call anything.
class Alarm {
 public:
  /// `wake` gets the progress threads to look at word().
  Alarm(AlarmOptions options, std::function<void()> wake)
      : options_(std::move(options)), wake_(std::move(wake)) {}

  /// This rank cannot go on: keeps the first error, tells node peers and progress threads.
  void raise(Error error, ControlCode code, int rank) {
    raise(std::move(error), abort_word(code, rank));
  }
  /// Another rank has set this rank's abort word, or has sent it.
  void absorb(std::uint64_t word);

  [[nodiscard]] bool failed() const { return options_.failure->failed(); }
  /// What rail peers have to be told; 0 while nothing has failed. Acquire; set soon after failed().
  [[nodiscard]] std::uint64_t word() const { return word_.load(std::memory_order_acquire); }

 private:
  void raise(Error error, std::uint64_t word);

  const AlarmOptions options_;
  const std::function<void()> wake_;
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace shunt::engine
