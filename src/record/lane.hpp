// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The ring that takes records: one lane per writer (a block's warp, a progress thread), one reader
// (profile's drain) per rank. Overflow drops the newest record and counts it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>

#include "base/mutex.hpp"
#include "record/record.hpp"

namespace shunt::record {

/// 64 bytes in a ring: a type and one of Span, Put, Arrival.
struct Slot {
  std::uint64_t type;
  unsigned char body[56];
};
static_assert(sizeof(Slot) == 64);

/// Bounded single-producer single-consumer ring. push() from the owning writer only, drain() from
/// the one reader only; they may run at the same time.
class Lane {
 public:
  /// `capacity` records, rounded up to a power of two.
  explicit Lane(std::uint32_t capacity)
      : mask_(round_up(capacity) - 1), slots_(new Slot[mask_ + 1]) {}

  void push(const Span& span) { put_record(RecordType::kSpan, &span, sizeof(span)); }
  void push(const Put& put) { put_record(RecordType::kPut, &put, sizeof(put)); }
  void push(const Arrival& arrival) { put_record(RecordType::kArrival, &arrival, sizeof(arrival)); }

  /// Records lost because the ring was full.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  /// Calls visit(type, body) for every record present; returns how many.
  template <typename Visit>
  std::uint64_t drain(Visit&& visit) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    // Pairs with the release store in put_record: bodies up to head are complete.
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    for (std::uint64_t i = tail; i != head; ++i) {
      const Slot& slot = slots_[i & mask_];
      visit(static_cast<RecordType>(slot.type), slot.body);
    }
    // Pairs with the acquire load in put_record: the slots may be written again.
    tail_.store(head, std::memory_order_release);
    return head - tail;
  }

 private:
  static std::uint64_t round_up(std::uint32_t capacity) {
    std::uint64_t size = 64;
    while (size < capacity) size *= 2;
    return size;
  }

  void put_record(RecordType type, const void* body, std::size_t bytes) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) > mask_) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    Slot& slot = slots_[head & mask_];
    slot.type = static_cast<std::uint64_t>(type);
    std::memcpy(slot.body, body, bytes);
    head_.store(head + 1, std::memory_order_release);
  }

  const std::uint64_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

/// All lanes of one rank. add_lane() at set-up; a null Recorder* or Lane* means recording is off,
/// which costs the data path one predictable branch per record.
class Recorder {
 public:
  explicit Recorder(std::uint32_t lane_capacity) : lane_capacity_(lane_capacity) {}

  /// A new lane, owned by the recorder, for one writer. Thread-safe.
  Lane* add_lane() SHUNT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return &lanes_.emplace_back(lane_capacity_);
  }

  /// Visits every record of every lane; one caller at a time.
  template <typename Visit>
  std::uint64_t drain(Visit&& visit) SHUNT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::uint64_t total = 0;
    for (Lane& lane : lanes_) total += lane.drain(visit);
    return total;
  }

  [[nodiscard]] std::uint64_t dropped() SHUNT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::uint64_t total = 0;
    for (Lane& lane : lanes_) total += lane.dropped();
    return total;
  }

 private:
  const std::uint32_t lane_capacity_;
  Mutex mutex_;
  std::deque<Lane> lanes_ SHUNT_GUARDED_BY(mutex_);
};

}  // namespace shunt::record
