// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A mutex that clang's thread-safety analysis understands (std::mutex carries no annotations).
#pragma once

#include <mutex>

#if defined(__clang__)
#define SHUNT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SHUNT_THREAD_ANNOTATION(x)
#endif
#define SHUNT_CAPABILITY(x) SHUNT_THREAD_ANNOTATION(capability(x))
#define SHUNT_SCOPED_CAPABILITY SHUNT_THREAD_ANNOTATION(scoped_lockable)
#define SHUNT_GUARDED_BY(x) SHUNT_THREAD_ANNOTATION(guarded_by(x))
#define SHUNT_REQUIRES(...) SHUNT_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SHUNT_ACQUIRE(...) SHUNT_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SHUNT_RELEASE(...) SHUNT_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SHUNT_EXCLUDES(...) SHUNT_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace shunt {

class SHUNT_CAPABILITY("mutex") Mutex {
 public:
  void lock() SHUNT_ACQUIRE() { mutex_.lock(); }
  void unlock() SHUNT_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class SHUNT_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SHUNT_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() SHUNT_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace shunt
