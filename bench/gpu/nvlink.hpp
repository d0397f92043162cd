// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace shunt::bench::gpu {

/// Payload bytes over all NVLinks of a device.
struct LinkBytes {
  double sent = -1;
  double received = -1;
};

/// What `nvidia-smi nvlink -gt d` says of a device; nothing where it has no links or no counters.
/// The counters run in KiB.
[[nodiscard]] std::optional<LinkBytes> read_nvlink(int device);

}  // namespace shunt::bench::gpu
