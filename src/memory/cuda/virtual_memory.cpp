// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda/virtual_memory.hpp"

#include <cuda.h>

#include "memory/cuda/device.hpp"
#include "memory/cuda/driver.hpp"
#include "memory/layout.hpp"

namespace shunt::memory::cuda {
namespace {

/// The driver's functions, as of CUDA 12.
struct Driver {
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&cuMemImportFromShareableHandle) import_handle = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
};

template <typename Function>
void find(const char* name, Function* function, Status* status) {
  find_in_driver(name, function, "use a heap by cudaMalloc", status);
}

Result<Driver> find_driver() {
  Driver d;
  Status status;
  find("cuMemCreate", &d.create, &status);
  find("cuMemRelease", &d.release, &status);
  find("cuMemAddressReserve", &d.reserve, &status);
  find("cuMemAddressFree", &d.free, &status);
  find("cuMemMap", &d.map, &status);
  find("cuMemUnmap", &d.unmap, &status);
  find("cuMemSetAccess", &d.set_access, &status);
  find("cuMemExportToShareableHandle", &d.export_handle, &status);
  find("cuMemImportFromShareableHandle", &d.import_handle, &status);
  find("cuMemGetAllocationGranularity", &d.granularity, &status);
  find("cuDeviceGetAttribute", &d.attribute, &status);
  find("cuGetErrorString", &d.error_string, &status);
  if (!status) return Unexpected(std::move(status).error());
  return d;
}

const Result<Driver>& driver() {
  static const Result<Driver> found = find_driver();
  return found;
}

Status check_driver(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  (void)driver()->error_string(code, &text);
  return fail(code == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::kOutOfMemory : ErrorCode::kSystem,
              ErrorScope::kDevice,
              "{}: {}",
              what,
              text != nullptr ? text : "unknown error");
}

/// The current device, its context in place.
Result<int> current_device() {
  int device = 0;
  SHUNT_TRY(check(cudaGetDevice(&device), "asking for the current device"));
  SHUNT_TRY(check(cudaFree(nullptr), "opening the device"));
  return device;
}

CUmemAllocationProp properties_of(const Driver& d, int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  // Where NICs may reach device memory, they may reach this.
  int rdma = 0;
  constexpr auto kRdma = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED;
  if (d.attribute(&rdma, kRdma, device) == CUDA_SUCCESS && rdma != 0) {
    properties.allocFlags.gpuDirectRDMACapable = 1;
  }
  return properties;
}

}  // namespace

VirtualMemory::~VirtualMemory() {
  if (handle_ == 0) return;
  const Driver& d = *driver();
  if (base_ != 0) {
    (void)d.unmap(base_, bytes_);
    (void)d.free(base_, bytes_);
  }
  (void)d.release(handle_);
}

Status VirtualMemory::map(std::size_t bytes) {
  const Driver& d = *driver();
  const auto device = current_device();
  if (!device) return Unexpected(device.error());
  CUdeviceptr base = 0;
  SHUNT_TRY(check_driver(d.reserve(&base, bytes, 0, 0, 0), "reserving device addresses"));
  if (Status mapped = check_driver(d.map(base, bytes, 0, handle_, 0), "mapping device memory");
      !mapped) {
    (void)d.free(base, bytes);
    return mapped;
  }
  base_ = base;
  bytes_ = bytes;
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, *device};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return check_driver(
      d.set_access(base, bytes, &access, 1),
      "giving the device access to mapped memory (does it reach the other device?)");
}

Result<VirtualMemory> VirtualMemory::create(std::size_t bytes) {
  if (!driver()) return Unexpected(driver().error());
  const Driver& d = *driver();
  const auto device = current_device();
  if (!device) return Unexpected(device.error());
  const CUmemAllocationProp properties = properties_of(d, *device);
  std::size_t page = 0;
  SHUNT_TRY(check_driver(d.granularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                         "asking for the size of the device's pages"));
  const std::size_t whole = align_up(bytes > 0 ? bytes : 1, page);
  VirtualMemory memory;
  SHUNT_TRY(
      check_driver(d.create(&memory.handle_, whole, &properties, 0), "allocating device memory"));
  SHUNT_TRY(memory.map(whole));
  SHUNT_TRY(check(cudaMemset(memory.data(), 0, whole), "clearing device memory"));
  SHUNT_TRY(check(cudaDeviceSynchronize(), "clearing device memory"));
  return memory;
}

Result<VirtualMemory> VirtualMemory::import(int fd, std::size_t bytes) {
  if (!driver()) return Unexpected(driver().error());
  VirtualMemory memory;
  SHUNT_TRY(
      check_driver(driver()->import_handle(&memory.handle_,
                                           reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                   "opening a node peer's device memory"));
  SHUNT_TRY(memory.map(bytes));
  return memory;
}

Result<UniqueFd> VirtualMemory::export_fd() const {
  int fd = -1;
  SHUNT_TRY(check_driver(
      driver()->export_handle(&fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      "exporting device memory"));
  return UniqueFd(fd);
}

}  // namespace shunt::memory::cuda
