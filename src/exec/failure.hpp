// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>

#include "base/mutex.hpp"
#include "shunt/error.hpp"

namespace shunt::exec {

/// The first failure of a Buffer: sticky, any thread may report or look.
class FailureBox {
 public:
  /// Keeps the first error; returns whether this was it.
  bool report(Error error) SHUNT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (error_) return false;
    error_ = std::move(error);
    failed_.store(true, std::memory_order_release);
    return true;
  }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<Error> error() const SHUNT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return error_;
  }

 private:
  std::atomic<bool> failed_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ SHUNT_GUARDED_BY(mutex_);
};

}  // namespace shunt::exec
