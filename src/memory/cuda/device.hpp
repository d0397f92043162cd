// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA calls as Results, and memory that frees itself: of the device, and of the host as the device
// reaches it too.
#pragma once

#include <cstddef>
#include <cstring>
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

/// Host memory that never moves and that the device loads and stores through, zeroed.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory&& other) noexcept { *this = std::move(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PinnedMemory() {
    if (host_ != nullptr) (void)cudaFreeHost(host_);
  }

  [[nodiscard]] static Result<PinnedMemory> create(std::size_t bytes) {
    PinnedMemory memory;
    memory.bytes_ = bytes > 0 ? bytes : 16;
    SHUNT_TRY(check(
        cudaHostAlloc(&memory.host_, memory.bytes_, cudaHostAllocMapped | cudaHostAllocPortable),
        "allocating pinned host memory"));
    std::memset(memory.host_, 0, memory.bytes_);
    SHUNT_TRY(check(cudaHostGetDevicePointer(&memory.device_, memory.host_, 0),
                    "mapping pinned host memory into the device"));
    return memory;
  }

  [[nodiscard]] std::byte* host() const { return static_cast<std::byte*>(host_); }
  [[nodiscard]] std::byte* device() const { return static_cast<std::byte*>(device_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* host_ = nullptr;
  void* device_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace shunt::memory::cuda
