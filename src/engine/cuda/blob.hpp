// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Many arrays in one allocation. in: arrays, or room for some → out: offsets; then one piece of
// memory that holds them.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "memory/cuda/device.hpp"
#include "memory/layout.hpp"

namespace shunt::engine::cuda {

/// Lays arrays out one behind the other, each at a multiple of 256 bytes.
class Blob {
 public:
  template <typename T>
  std::size_t add(const std::vector<T>& values) {
    return add(values.data(), values.size());
  }
  template <typename T>
  std::size_t add(const T* values, std::size_t count) {
    const std::size_t at = take<T>(count);
    if (count > 0) std::memcpy(bytes_.data() + at, values, count * sizeof(T));
    return at;
  }
  /// Room for `count` values, zeroed.
  template <typename T>
  std::size_t take(std::size_t count) {
    const std::size_t at = memory::align_up(bytes_.size(), 256);
    bytes_.resize(at + count * sizeof(T));
    return at;
  }
  /// A copy on the device.
  [[nodiscard]] Result<memory::cuda::DeviceMemory> upload() const {
    auto memory = memory::cuda::DeviceMemory::create(bytes_.size());
    if (!memory) return memory;
    SHUNT_TRY(memory::cuda::check(
        cudaMemcpy(memory->data(), bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice),
        "copying arrays to the device"));
    return memory;
  }

 private:
  std::vector<std::byte> bytes_;
};

template <typename T>
[[nodiscard]] T* pointer(const memory::cuda::DeviceMemory& memory, std::size_t offset) {
  return reinterpret_cast<T*>(memory.data() + offset);
}

}  // namespace shunt::engine::cuda
