// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/threads_world.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "bootstrap/names.hpp"

namespace shunt::bootstrap {
namespace {

/// Longer deadlines overflow the clock's type: three centuries.
constexpr std::uint64_t kLongest = 1ULL << 62;

/// Where the threads meet. Every collective call is one round: the rank that completes it publishes
/// the blobs; nobody can complete the next round before all have entered it, hence before all have
/// copied this one's. The first failure is final for all later calls.
class Hub {
 public:
  Hub(int ranks, std::uint64_t deadline_ns)
      : deadline_ns_(std::min(deadline_ns, kLongest)),
        entered_(static_cast<std::size_t>(ranks), false),
        left_(static_cast<std::size_t>(ranks), false),
        gathering_(static_cast<std::size_t>(ranks)) {}

  Result<Blobs> exchange(int rank, Call call, std::span<const std::byte> mine)
      SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (failure_) return Unexpected(*failure_);
    if (const Status fits = enter(rank, call, mine); !fits) return Unexpected(fits.error());
    if (count_ == entered_.size()) {
      complete();
      return gathered_;
    }
    const std::uint64_t round = round_;
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(deadline_ns_);
    while (round == round_ && !failure_) {
      if (changed_.wait_until(mutex_, until) == std::cv_status::timeout && round == round_ &&
          !failure_) {
        fail_world(timed_out(call));
      }
    }
    if (round == round_) return Unexpected(*failure_);
    return gathered_;
  }

  /// `rank` will make no more calls.
  void leave(int rank, const Status& status) SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    left_[static_cast<std::size_t>(rank)] = true;
    if (!status) {
      if (!first_) {
        first_ = status.error();
        first_->message = fmt::format("rank {}: {}", rank, first_->message);
      }
      if (!failure_) fail_world(rank_failed(rank, status.error().to_string()));
    } else if (count_ > 0 && !failure_) {
      fail_world(rank_left(rank, call_));
    }
  }

  Status first_failure() SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (first_) return Unexpected(*first_);
    return {};
  }

 private:
  Status enter(int rank, Call call, std::span<const std::byte> mine) SHUNT_REQUIRES(mutex_) {
    for (std::size_t r = 0; r < left_.size(); ++r) {
      if (left_[r]) return Unexpected(fail_world(rank_left(static_cast<int>(r), call)));
    }
    if (count_ == 0) {
      call_ = call;
    } else if (call != call_) {
      return Unexpected(fail_world(calls_differ(rank, call, call_)));
    }
    const auto self = static_cast<std::size_t>(rank);
    gathering_[self].assign(mine.begin(), mine.end());
    entered_[self] = true;
    ++count_;
    return {};
  }

  void complete() SHUNT_REQUIRES(mutex_) {
    gathered_ = std::exchange(gathering_, Blobs(entered_.size()));
    entered_.assign(entered_.size(), false);
    count_ = 0;
    ++round_;
    changed_.notify_all();
  }

  const Error& fail_world(Error error) SHUNT_REQUIRES(mutex_) {
    failure_ = std::move(error);
    changed_.notify_all();
    return *failure_;
  }

  Error timed_out(Call call) SHUNT_REQUIRES(mutex_) {
    std::vector<int> missing;
    for (std::size_t r = 0; r < entered_.size(); ++r) {
      if (!entered_[r]) missing.push_back(static_cast<int>(r));
    }
    return call_timed_out(call, deadline_ns_, missing);
  }

  const std::uint64_t deadline_ns_;
  std::condition_variable_any changed_;
  Mutex mutex_;
  std::uint64_t round_ SHUNT_GUARDED_BY(mutex_) = 0;
  Call call_ SHUNT_GUARDED_BY(mutex_) = Call::kBarrier;
  std::size_t count_ SHUNT_GUARDED_BY(mutex_) = 0;
  std::vector<bool> entered_ SHUNT_GUARDED_BY(mutex_);
  std::vector<bool> left_ SHUNT_GUARDED_BY(mutex_);
  Blobs gathering_ SHUNT_GUARDED_BY(mutex_);
  Blobs gathered_ SHUNT_GUARDED_BY(mutex_);
  std::optional<Error> failure_ SHUNT_GUARDED_BY(mutex_);  ///< What the others are told.
  std::optional<Error> first_ SHUNT_GUARDED_BY(mutex_);    ///< What the caller is told.
};

class ThreadsWorld final : public World {
 public:
  ThreadsWorld(int rank, int size, Hub& hub) : World(rank, size), hub_(hub) {}

  const char* kind() const override { return "threads"; }
  bool one_process() const override { return true; }

  Result<Blobs> all_gather(std::span<const std::byte> mine) override {
    return hub_.exchange(rank(), Call::kAllGather, mine);
  }

  Status barrier() override {
    const Result<Blobs> done = hub_.exchange(rank(), Call::kBarrier, {});
    if (!done) return Unexpected(done.error());
    return {};
  }

 private:
  Hub& hub_;
};

Status guarded(const RankFunction& rank_main, World& world) {
  try {
    return rank_main(world);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kOutOfMemory, ErrorScope::kFatal, "out of memory");
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::kInternal, ErrorScope::kFatal, "exception: {}", thrown.what());
  }
}

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
        hub.leave(rank, guarded(rank_main, world));
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
