// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Slots of chunks as on a device, without one: memory that blocks and the fabric reach under
// addresses of their own, while every touch at the address that the host has for it is a fault.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "engine/setup.hpp"
#include "fabric/fabric.hpp"

namespace shunt::testing {

/// One memory, mapped twice: for reading and writing, and for nothing at all.
class DeviceSlots {
 public:
  DeviceSlots() = default;
  DeviceSlots(const DeviceSlots&) = delete;
  DeviceSlots& operator=(const DeviceSlots&) = delete;
  ~DeviceSlots() {
    for (void* mapped : {device_, host_}) {
      if (mapped != MAP_FAILED) ::munmap(mapped, bytes_);
    }
  }

  Status create(std::size_t bytes) {
    bytes_ = bytes;
    const UniqueFd file(::memfd_create("device slots", MFD_CLOEXEC));
    if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
      return system_error(errno, "memory of {} bytes for slots", bytes);
    }
    device_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    host_ = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file.get(), 0);
    if (device_ == MAP_FAILED || host_ == MAP_FAILED) {
      return system_error(errno, "mapping {} bytes of slots", bytes);
    }
    return {};
  }

  [[nodiscard]] std::span<std::byte> device() const {
    return {static_cast<std::byte*>(device_), bytes_};
  }
  [[nodiscard]] std::byte* host() const { return static_cast<std::byte*>(host_); }

 private:
  void* device_ = MAP_FAILED;
  void* host_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

/// The slots, for BufferHooks::place_slots. `slots` lives as long as the Buffer.
inline Result<engine::SlotMemory> place_on_device(DeviceSlots& slots, std::size_t bytes) {
  SHUNT_TRY(slots.create(bytes));
  engine::SlotMemory placed;
  placed.blocks = slots.device().data();
  placed.host = slots.host();
  placed.region = {slots.device(), fabric::Region::Kind::kCudaDevice, 0, -1};
  return placed;
}

/// A NIC whose writes into device memory stay unseen until they are flushed: what lands in the
/// slots' region waits in memory of its own. in: a mock fabric that lands data in poll() → out: the
/// same, and flush(). One thread, as any fabric.
class LateFabric final : public fabric::Fabric {
 public:
  explicit LateFabric(std::unique_ptr<fabric::Fabric> inner) : inner_(std::move(inner)) {}

  Status expose_regions(std::span<const fabric::Region> regions) override {
    if (regions.size() != 2) return usage_error("{} regions; host and device", regions.size());
    begin_ = regions[0].bytes.size();
    device_ = regions[1].bytes;
    arriving_.assign(device_.begin(), device_.end());
    seen_ = arriving_;
    const fabric::Region own[] = {regions[0], {arriving_}};
    return inner_->expose_regions(own);
  }
  Result<std::vector<std::byte>> address() const override { return inner_->address(); }
  Status connect(std::span<const std::vector<std::byte>> peers) override {
    return inner_->connect(peers);
  }
  std::size_t post(std::span<const fabric::Put> puts) override {
    for (std::size_t i = 0; i < puts.size(); ++i) {
      const fabric::Put& put = puts[i];
      if (put.bytes > 0 && put.source_offset >= begin_) {
        const std::size_t at = put.source_offset - begin_;
        std::memcpy(&arriving_[at], &device_[at], put.bytes);
        std::memcpy(&seen_[at], &device_[at], put.bytes);
      }
      if (inner_->post({&put, 1}) == 0) return i;
    }
    return puts.size();
  }
  std::size_t poll(std::span<fabric::Event> events) override { return inner_->poll(events); }
  void wait(std::uint64_t timeout_ns) override { inner_->wait(timeout_ns); }
  void wake() override { inner_->wake(); }
  Error last_error() const override { return inner_->last_error(); }
  std::string provider() const override { return inner_->provider(); }
  std::size_t depth() const override { return inner_->depth(); }

  /// Makes everything that has landed visible on the device.
  Status flush() {
    ++flushes_;
    constexpr std::size_t kLine = 64;
    for (std::size_t at = 0; at < arriving_.size(); at += kLine) {
      const std::size_t bytes = std::min(kLine, arriving_.size() - at);
      // What has not changed is not touched: blocks may be reading it.
      if (std::memcmp(&arriving_[at], &seen_[at], bytes) == 0) continue;
      std::memcpy(&device_[at], &arriving_[at], bytes);
      std::memcpy(&seen_[at], &arriving_[at], bytes);
    }
    return {};
  }
  [[nodiscard]] int flushes() const { return flushes_; }

 private:
  std::unique_ptr<fabric::Fabric> inner_;
  std::size_t begin_ = 0;
  std::span<std::byte> device_;
  std::vector<std::byte> arriving_;
  std::vector<std::byte> seen_;
  int flushes_ = 0;
};

}  // namespace shunt::testing
