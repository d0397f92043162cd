// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda/rdma.hpp"

#include <cuda.h>

#include "memory/cuda/device.hpp"
#include "memory/cuda/driver.hpp"

namespace shunt::memory::cuda {
namespace {

/// 0 where the driver is older than the attribute.
int attribute_of(cudaDeviceAttr attribute, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess) return value;
  (void)cudaGetLastError();
  return 0;
}

DeviceRdma::Ordering ordering_of(int value) {
  if (value >= cudaGPUDirectRDMAWritesOrderingAllDevices) return DeviceRdma::Ordering::kAllDevices;
  if (value >= cudaGPUDirectRDMAWritesOrderingOwner) return DeviceRdma::Ordering::kOwner;
  return DeviceRdma::Ordering::kNobody;
}

/// The runtime has no name for this one.
int dmabuf_attribute(int device) {
  decltype(&cuDeviceGetAttribute) ask = nullptr;
  Status status;
  find_in_driver("cuDeviceGetAttribute", &ask, "", &status);
  int value = 0;
  if (!status || ask(&value, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device) != CUDA_SUCCESS) {
    return 0;
  }
  return value;
}

}  // namespace

Result<DeviceRdma> device_rdma() {
  DeviceRdma rdma;
  SHUNT_TRY(check(cudaGetDevice(&rdma.device), "asking for the current device"));
  const int device = rdma.device;
  rdma.peer_memory = attribute_of(cudaDevAttrGPUDirectRDMASupported, device) != 0;
  rdma.dmabuf = dmabuf_attribute(device) != 0;
  rdma.ordering = ordering_of(attribute_of(cudaDevAttrGPUDirectRDMAWritesOrdering, device));
  rdma.host_flush = (attribute_of(cudaDevAttrGPUDirectRDMAFlushWritesOptions, device) &
                     cudaFlushGPUDirectRDMAWritesOptionHost) != 0;
  rdma.coherent_link = attribute_of(cudaDevAttrPageableMemoryAccessUsesHostPageTables, device) != 0;
  return rdma;
}

Result<UniqueFd> export_dmabuf(const void* memory, std::size_t bytes) {
  decltype(&cuMemGetHandleForAddressRange) get = nullptr;
  Status status;
  find_in_driver("cuMemGetHandleForAddressRange", &get, "its memory has no dmabuf", &status);
  if (!status) return Unexpected(std::move(status).error());
  int fd = -1;
  const CUresult code = get(
      &fd, reinterpret_cast<CUdeviceptr>(memory), bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (code != CUDA_SUCCESS) {
    return fail(ErrorCode::kUnsupported,
                ErrorScope::kDevice,
                "device memory has no dmabuf (CUDA driver error {})",
                static_cast<int>(code));
  }
  return UniqueFd(fd);
}

Status flush_writes(int device) {
  // Its context has to be this thread's; asked for once, as the call is on the path of every
  // arrival.
  thread_local int current = -1;
  if (current != device) {
    SHUNT_TRY(check(cudaSetDevice(device), "opening the device to flush writes of the NIC"));
    current = device;
  }
  return check(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                                  cudaFlushGPUDirectRDMAWritesToOwner),
               "flushing what the NIC has written into the device");
}

}  // namespace shunt::memory::cuda
