// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/threads_world.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "bootstrap/rank_main.hpp"
#include "bootstrap/rounds.hpp"

namespace shunt::bootstrap {
namespace {

/// Longer deadlines overflow the clock's type: three centuries.
constexpr std::uint64_t kLongest = 1ULL << 62;

/// Where the threads meet. The rank that completes a round publishes its blobs; nobody can complete
/// the next one before all have entered it, hence before all have copied these.
class Hub {
 public:
  Hub(int ranks, std::uint64_t deadline_ns)
      : deadline_ns_(std::min(deadline_ns, kLongest)), rounds_(ranks) {}

  Result<Blobs> exchange(int rank, Call call, std::span<const std::byte> mine)
      SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (Status entered = rounds_.enter(rank, call, {mine.begin(), mine.end()}); !entered) {
      changed_.notify_all();
      return Unexpected(std::move(entered).error());
    }
    if (rounds_.complete()) {
      gathered_ = rounds_.take();
      ++round_;
      changed_.notify_all();
      return gathered_;
    }
    const std::uint64_t round = round_;
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(deadline_ns_);
    while (round == round_ && !rounds_.failure()) {
      if (changed_.wait_until(mutex_, until) == std::cv_status::timeout && round == round_) {
        rounds_.expire(deadline_ns_);
        changed_.notify_all();
      }
    }
    if (round == round_) return Unexpected(*rounds_.failure());
    return gathered_;
  }

  /// `rank` will make no more calls.
  void leave(int rank, const Status& status) SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!status) first_.add(rank, status.error());
    rounds_.leave(rank, status);
    changed_.notify_all();
  }

  Status first_failure() SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return first_.status();
  }

 private:
  const std::uint64_t deadline_ns_;
  std::condition_variable_any changed_;
  Mutex mutex_;
  std::uint64_t round_ SHUNT_GUARDED_BY(mutex_) = 0;
  Rounds rounds_ SHUNT_GUARDED_BY(mutex_);
  Blobs gathered_ SHUNT_GUARDED_BY(mutex_);
  FirstFailure first_ SHUNT_GUARDED_BY(mutex_);
};

class ThreadsWorld final : public World {
 public:
  ThreadsWorld(int rank, int size, Hub& hub) : World(rank, size), hub_(hub) {}

  const char* kind() const override { return "threads"; }
  bool one_process() const override { return true; }

 private:
  Result<Blobs> exchange(Call call, std::span<const std::byte> mine) override {
    return hub_.exchange(rank(), call, mine);
  }

  Hub& hub_;
};

}  // namespace

Status run_threads(int ranks, std::uint64_t deadline_ns, const RankFunction& rank_main) {
  if (ranks < 1) return usage_error("{} ranks are not allowed; at least 1", ranks);
  Hub hub(ranks, deadline_ns);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      threads.emplace_back([rank, ranks, &hub, &rank_main] {
        ThreadsWorld world(rank, ranks, hub);
        hub.leave(rank, run_guarded(rank_main, world));
      });
    } catch (const std::system_error& error) {
      const Status status = system_error(
          error.code().value(), "cannot start the thread of rank {} of {}", rank, ranks);
      for (int missing = rank; missing < ranks; ++missing) hub.leave(missing, status);
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  return hub.first_failure();
}

}  // namespace shunt::bootstrap
