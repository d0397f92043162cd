// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Device memory that NICs reach: what the device offers, descriptors for the kernel, and the flush
// of what they have written.
#pragma once

#include <cstddef>

#include "base/fd.hpp"
#include "memory/device_rdma.hpp"
#include "shunt/result.hpp"

namespace shunt::memory::cuda {

/// Of the current device. Attributes that the driver does not know count as not given.
[[nodiscard]] Result<DeviceRdma> device_rdma();

/// A dmabuf of device memory that cudaMalloc gave, all of it or whole pages. REQUIRES:
/// DeviceRdma::dmabuf.
[[nodiscard]] Result<UniqueFd> export_dmabuf(const void* memory, std::size_t bytes);

/// Returns once what NICs have written into the memory of `device`, and the host has been told
/// of, is visible to kernels that run there. Any thread. REQUIRES: DeviceRdma::host_flush.
[[nodiscard]] Status flush_writes(int device);

}  // namespace shunt::memory::cuda
