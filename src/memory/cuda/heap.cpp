// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda/heap.hpp"

#include <vector>

#include "bootstrap/collective.hpp"
#include "memory/cuda/device.hpp"
#include "memory/layout.hpp"

namespace shunt::memory::cuda {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr const char* kStep = "creating the device heap";

/// How node peers find a heap.
struct Address {
  std::uint64_t bytes = 0;
  std::uint64_t pointer = 0;  ///< In this process.
  std::int32_t device = 0;
  std::int32_t ranks_per_node = 0;
  cudaIpcMemHandle_t handle = {};  ///< Between processes.
};

class DeviceHeap final : public Heap {
 public:
  ~DeviceHeap() override {
    for (void* mapping : mapped_) (void)cudaIpcCloseMemHandle(mapping);
  }

  Status open(bootstrap::World& world, const cluster::Shape& shape, std::size_t bytes) {
    Address mine;
    SHUNT_TRY(bootstrap::agree(world, allocate(world, shape, bytes, &mine), kStep));
    const auto all = bootstrap::all_gather_value(world, mine);
    if (!all) return Unexpected(all.error());
    set_windows(shape, world.rank());
    return bootstrap::agree(world, map_peers(world, shape, *all, mine), kStep);
  }

 private:
  Status allocate(bootstrap::World& world,
                  const cluster::Shape& shape,
                  std::size_t bytes,
                  Address* mine) {
    int device = 0;
    SHUNT_TRY(check(cudaGetDevice(&device), "asking for the current device"));
    // A node peer's mapping of an allocation that ends inside a page gets small pages, and
    // scattered rows then wait for address translation: half the speed with 8 ranks
    // (docs/performance.md).
    auto memory = DeviceMemory::create(align_up(bytes, kLargePage));
    if (!memory) return Unexpected(std::move(memory).error());
    own_ = std::move(*memory);
    mine->bytes = bytes;
    mine->pointer = reinterpret_cast<std::uintptr_t>(own_.data());
    mine->device = device;
    mine->ranks_per_node = shape.ranks_per_node;
    if (world.one_process()) return {};
    return check(cudaIpcGetMemHandle(&mine->handle, own_.data()), "exporting the device heap");
  }

  Status map_peers(bootstrap::World& world,
                   const cluster::Shape& shape,
                   const std::vector<Address>& all,
                   const Address& mine) {
    const int node = shape.node_of(world.rank());
    for (int local = 0; local < count_; ++local) {
      const int peer = shape.rank_of(node, local);
      const Address& address = all[static_cast<std::size_t>(peer)];
      if (address.bytes != mine.bytes || address.ranks_per_node != mine.ranks_per_node) {
        return fail(ErrorCode::kProtocol,
                    ErrorScope::kUsage,
                    "rank {} asks for a device heap of {} bytes, rank {} for {}; all must agree",
                    world.rank(),
                    mine.bytes,
                    peer,
                    address.bytes);
      }
      auto base = peer == world.rank() ? Result<std::byte*>(own_.data())
                                       : map(world.one_process(), mine.device, address);
      if (!base) return Unexpected(std::move(base).error());
      windows_[static_cast<std::size_t>(local)] = {*base, mine.bytes};
    }
    return {};
  }

  Result<std::byte*> map(bool one_process, int own_device, const Address& address) {
    void* base = nullptr;
    if (!one_process) {
      SHUNT_TRY(check(
          cudaIpcOpenMemHandle(&base, address.handle, cudaIpcMemLazyEnablePeerAccess),
          "mapping a node peer's device heap (is it on this machine, on a device that this one "
          "reaches?)"));
      mapped_.push_back(base);
    } else {
      if (address.device != own_device) {
        const cudaError_t code = cudaDeviceEnablePeerAccess(address.device, 0);
        if (code != cudaErrorPeerAccessAlreadyEnabled) {
          SHUNT_TRY(check(code, "reaching a node peer's device"));
        }
        (void)cudaGetLastError();
      }
      base = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address.pointer));
    }
    return static_cast<std::byte*>(base);
  }

  DeviceMemory own_;
  std::vector<void*> mapped_;
};

}  // namespace

Result<std::unique_ptr<Heap>> create_heap(bootstrap::World& world,
                                          const cluster::Shape& shape,
                                          std::size_t bytes) {
  if (shape.world != world.size()) {
    return usage_error("the shape has {} ranks, the world has {}", shape.world, world.size());
  }
  auto heap = std::make_unique<DeviceHeap>();
  SHUNT_TRY(heap->open(world, shape, bytes));
  return heap;
}

}  // namespace shunt::memory::cuda
