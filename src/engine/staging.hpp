// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the records of a rank with a device lie on their way between nodes. in: what was asked for,
// what the device and the fabric say → out: a choice and its reason. Pure.
#pragma once

#include <optional>
#include <string>

#include "fabric/device_memory.hpp"
#include "memory/device_rdma.hpp"
#include "shunt/device.hpp"

namespace shunt::engine {

struct StagingChoice {
  bool device = false;  ///< In memory of the device; else in pinned memory of the host.
  bool flush = false;   ///< Arrivals are flushed before blocks hear of them.
  std::string reason;

  /// "pinned host memory (provider tcp has no FI_HMEM)"
  [[nodiscard]] std::string text() const;
};

/// What is known when the choice is made.
struct StagingFacts {
  memory::DeviceRdma device;
  /// Why no device memory could be had for it; empty: it could, or was not tried.
  std::string no_memory;
  /// Absent: not asked, as there is a reason already, or as the fabric is not libfabric's alone.
  std::optional<fabric::DeviceMemoryAnswers> fabric;
};

/// Why the device alone rules it out; empty: it does not.
[[nodiscard]] std::string device_obstacle(const memory::DeviceRdma& device);

/// kAuto: on the device where the NIC is promised to reach it without copies, and its writes can be
/// put in order for the kernels; else on the host. kDevice: also where a provider makes no promise;
/// an error that names what is missing where it cannot be.
[[nodiscard]] Result<StagingChoice> choose_staging(Staging wanted, const StagingFacts& facts);

}  // namespace shunt::engine
