// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "memory/heap.hpp"
#include "shunt/result.hpp"

namespace shunt::memory {

/// `bytes` rounded up to whole pages, or kInvalidArgument where that does not fit an address space.
[[nodiscard]] Result<std::size_t> whole_pages(std::size_t bytes);

/// Owns an mmap'ed range; unmaps it on destruction. Move-only.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  /// Zeroed private memory of this process. `bytes` is a number of whole pages, here and below.
  [[nodiscard]] static Result<Mapping> anonymous(std::size_t bytes, const HeapOptions& options);
  /// The file behind `fd`, shared with everyone who maps it. Touches the pages if `populate`.
  [[nodiscard]] static Result<Mapping> shared(int fd,
                                              std::size_t bytes,
                                              const HeapOptions& options);

  [[nodiscard]] std::byte* base() const { return static_cast<std::byte*>(base_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Mapping(void* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  [[nodiscard]] Status prepare(const HeapOptions& options);

  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace shunt::memory
