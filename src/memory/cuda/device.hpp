// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA calls as Results, and device memory that frees itself.
#pragma once

#include <cstddef>
#include <utility>

#include <cuda_runtime_api.h>

#include "base/error.hpp"

namespace shunt::memory::cuda {

/// The error of a CUDA call; `what` says what was tried, on which object.
[[nodiscard]] inline Status check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return {};
  const bool memory = code == cudaErrorMemoryAllocation;
  return fail(memory ? ErrorCode::kOutOfMemory : ErrorCode::kSystem,
              ErrorScope::kDevice,
              "{}: {} ({})",
              what,
              cudaGetErrorString(code),
              cudaGetErrorName(code));
}

/// Device memory, zeroed.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() {
    if (base_ != nullptr) (void)cudaFree(base_);
  }

  [[nodiscard]] static Result<DeviceMemory> create(std::size_t bytes) {
    DeviceMemory memory;
    memory.bytes_ = bytes > 0 ? bytes : 16;
    SHUNT_TRY(check(cudaMalloc(&memory.base_, memory.bytes_), "allocating device memory"));
    SHUNT_TRY(check(cudaMemset(memory.base_, 0, memory.bytes_), "clearing device memory"));
    SHUNT_TRY(check(cudaDeviceSynchronize(), "clearing device memory"));
    return memory;
  }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(base_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace shunt::memory::cuda
