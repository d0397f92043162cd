// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Device memory by the virtual-memory interface of the driver: physical memory with a descriptor
// that other processes map. The driver is found at run time; nothing links it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "shunt/result.hpp"

namespace shunt::memory::cuda {

/// Memory of one device, mapped into the current device's view of this process.
class VirtualMemory {
 public:
  VirtualMemory() = default;
  VirtualMemory(VirtualMemory&& other) noexcept { *this = std::move(other); }
  VirtualMemory& operator=(VirtualMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~VirtualMemory();

  /// Zeroed memory of the current device: at least `bytes`, whole large pages.
  [[nodiscard]] static Result<VirtualMemory> create(std::size_t bytes);
  /// The memory that another process, or this, has exported, `bytes` as VirtualMemory::bytes says
  /// there. It lives on until all who map it have gone.
  [[nodiscard]] static Result<VirtualMemory> import(int fd, std::size_t bytes);

  [[nodiscard]] Result<UniqueFd> export_fd() const;
  [[nodiscard]] std::byte* data() const { return reinterpret_cast<std::byte*>(base_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  /// Reserves addresses for handle_ and lets the current device use them.
  Status map(std::size_t bytes);

  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
  unsigned long long handle_ = 0;
};

}  // namespace shunt::memory::cuda
