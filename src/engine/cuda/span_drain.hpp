// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Spans of the blocks of a device, and the clock that they are stamped with. in: rings in device
// memory → out: records in the rank's Recorder, on the clock of the host.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include "exec/cuda/context.hpp"
#include "memory/cuda/device.hpp"
#include "record/lane.hpp"

namespace shunt::engine::cuda {

/// The device's global timer against now_ns(). Measured by asking a kernel for the time.
class DeviceClock {
 public:
  /// Asks `kAsks` times and keeps the answer that came soonest. The stream must be free of work
  /// that waits for others. Moves offset() on; spans between two measurements are interpolated.
  [[nodiscard]] Status measure(cudaStream_t stream);
  /// To be added to a device time.
  [[nodiscard]] std::int64_t offset() const { return offset_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t to_host(std::uint64_t device_ns) const;
  /// Smallest step that the timer was seen to make, ns.
  [[nodiscard]] std::uint64_t step_ns() const { return step_ns_; }
  /// Half of the latest measurement's round trip: bound of the offset's error, ns.
  [[nodiscard]] std::uint64_t error_ns() const { return error_ns_; }
  [[nodiscard]] std::uint64_t measured_ns() const { return new_.host_ns; }

 private:
  static constexpr int kAsks = 64;
  struct Sample {
    std::uint64_t device_ns = 0;
    std::uint64_t host_ns = 0;
    std::int64_t offset_ns = 0;
  };
  memory::cuda::PinnedMemory page_;
  Sample old_;
  Sample new_;
  std::uint64_t step_ns_ = 0;
  std::uint64_t error_ns_ = 0;
  std::atomic<std::int64_t> offset_{0};
};

/// Rings for the blocks of a launch, and a lane of the recorder for each.
class SpanDrain {
 public:
  /// Spans that a block may write between two drains.
  static constexpr std::uint32_t kCapacity = 1U << 13;

  [[nodiscard]] Status create(record::Recorder& recorder, int blocks);
  [[nodiscard]] const exec::cuda::SpanRings& rings() const { return rings_; }
  [[nodiscard]] DeviceClock& clock() { return clock_; }
  [[nodiscard]] const DeviceClock& clock() const { return clock_; }
  /// Moves what there is to the recorder. No kernel of this rank runs.
  [[nodiscard]] Status drain(cudaStream_t stream);
  /// Spans that found their ring full.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  exec::cuda::SpanRings rings_;
  memory::cuda::DeviceMemory memory_;
  std::vector<record::Lane*> lanes_;
  std::vector<std::uint32_t> written_;
  std::vector<record::Span> spans_;
  DeviceClock clock_;
  std::uint64_t dropped_ = 0;
};

}  // namespace shunt::engine::cuda
