// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace shunt::fabric {

/// First in, first out, within a capacity fixed at construction (rounded up to a power of two):
/// never allocates afterwards. One thread.
template <typename T>
class FixedQueue {
 public:
  explicit FixedQueue(std::size_t capacity) : slots_(std::bit_ceil(capacity == 0 ? 1 : capacity)) {}

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] bool full() const { return head_ - tail_ == slots_.size(); }
  [[nodiscard]] std::size_t size() const { return head_ - tail_; }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

  /// REQUIRES: !full().
  void push(T value) { slots_[head_++ & (slots_.size() - 1)] = std::move(value); }
  /// REQUIRES: !empty().
  T pop() { return std::move(slots_[tail_++ & (slots_.size() - 1)]); }

 private:
  std::vector<T> slots_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace shunt::fabric
