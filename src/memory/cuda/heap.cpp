// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda/heap.hpp"

#include <vector>

#include "bootstrap/collective.hpp"
#include "memory/cuda/device.hpp"
#include "memory/cuda/virtual_memory.hpp"
#include "memory/layout.hpp"
#include "memory/share_fd.hpp"

namespace shunt::memory::cuda {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr const char* kStep = "creating the device heap";

const char* name_of(HeapKind kind) {
  return kind == HeapKind::kVirtual ? "virtual memory" : "cudaMalloc";
}

/// How node peers find a heap.
struct Address {
  std::uint64_t bytes = 0;
  std::uint64_t pointer = 0;  ///< In this process.
  std::int32_t device = 0;
  std::int32_t ranks_per_node = 0;
  HeapKind kind = HeapKind::kAllocated;
  cudaIpcMemHandle_t handle = {};  ///< Between processes.
};

Status check_alike(int rank, const Address& mine, int peer, const Address& address) {
  if (address.bytes == mine.bytes && address.ranks_per_node == mine.ranks_per_node &&
      address.kind == mine.kind) {
    return {};
  }
  return fail(
      ErrorCode::kProtocol,
      ErrorScope::kUsage,
      "rank {} asks for a device heap of {} bytes ({}), rank {} for {} ({}); all must agree",
      rank,
      mine.bytes,
      name_of(mine.kind),
      peer,
      address.bytes,
      name_of(address.kind));
}

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
      SHUNT_TRY(check_alike(world.rank(), mine, peer, address));
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

/// Of HeapKind::kVirtual.
class VirtualHeap final : public Heap {
 public:
  Status open(bootstrap::World& world, const cluster::Shape& shape, std::size_t bytes) {
    Address mine;
    mine.bytes = bytes;
    mine.ranks_per_node = shape.ranks_per_node;
    mine.kind = HeapKind::kVirtual;
    UniqueFd exported;
    SHUNT_TRY(bootstrap::agree(world, allocate(bytes, &exported), kStep));
    const auto all = bootstrap::all_gather_value(world, mine);
    if (!all) return Unexpected(all.error());
    set_windows(shape, world.rank());
    const auto fds = share_fd(world, shape, exported.get());
    if (!fds) return Unexpected(fds.error());
    return bootstrap::agree(world, map_peers(world, shape, *all, *fds), kStep);
  }

 private:
  Status allocate(std::size_t bytes, UniqueFd* exported) {
    auto memory = VirtualMemory::create(bytes);
    if (!memory) return Unexpected(std::move(memory).error());
    own_ = std::move(*memory);
    auto fd = own_.export_fd();
    if (!fd) return Unexpected(std::move(fd).error());
    *exported = std::move(*fd);
    return {};
  }

  Status map_peers(const bootstrap::World& world,
                   const cluster::Shape& shape,
                   const std::vector<Address>& all,
                   const std::vector<UniqueFd>& fds) {
    const Address& mine = all[static_cast<std::size_t>(world.rank())];
    const int node = shape.node_of(world.rank());
    for (int local = 0; local < count_; ++local) {
      const int peer = shape.rank_of(node, local);
      const auto at = static_cast<std::size_t>(local);
      windows_[at] = {own_.data(), mine.bytes};
      if (peer == world.rank()) continue;
      SHUNT_TRY(check_alike(world.rank(), mine, peer, all[static_cast<std::size_t>(peer)]));
      // Equal requests take equal whole pages: on devices of one kind.
      auto memory = VirtualMemory::import(fds[at].get(), own_.bytes());
      if (!memory) return Unexpected(std::move(memory).error());
      windows_[at].base = memory->data();
      peers_.push_back(std::move(*memory));
    }
    return {};
  }

  VirtualMemory own_;
  std::vector<VirtualMemory> peers_;
};

template <typename Made>
Result<std::unique_ptr<Heap>> open_heap(bootstrap::World& world,
                                        const cluster::Shape& shape,
                                        std::size_t bytes) {
  auto heap = std::make_unique<Made>();
  SHUNT_TRY(heap->open(world, shape, bytes));
  return heap;
}

}  // namespace

Result<std::unique_ptr<Heap>> create_heap(bootstrap::World& world,
                                          const cluster::Shape& shape,
                                          std::size_t bytes,
                                          HeapKind kind) {
  if (shape.world != world.size()) {
    return usage_error("the shape has {} ranks, the world has {}", shape.world, world.size());
  }
  return kind == HeapKind::kVirtual ? open_heap<VirtualHeap>(world, shape, bytes)
                                    : open_heap<DeviceHeap>(world, shape, bytes);
}

}  // namespace shunt::memory::cuda
