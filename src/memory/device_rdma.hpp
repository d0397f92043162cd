// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shunt::memory {

/// What a CUDA device says of NICs that read and write its memory. Plain values, in builds without
/// CUDA too.
struct DeviceRdma {
  /// For whom such writes are in order without being flushed, once the host has been told of them.
  enum class Ordering : std::uint8_t { kNobody, kOwner, kAllDevices };

  int device = -1;           ///< CUDA's number.
  bool peer_memory = false;  ///< NICs reach its memory by address (GPUDirect RDMA).
  bool dmabuf = false;       ///< Its memory has descriptors for the kernel.
  Ordering ordering = Ordering::kNobody;
  bool host_flush = false;  ///< The host can flush such writes.
  /// Device and host share page tables over a coherent link (Grace): a NIC's note to the host and
  /// its data to the device take paths that nothing orders.
  bool coherent_link = false;
};

}  // namespace shunt::memory
