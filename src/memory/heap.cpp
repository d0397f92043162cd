// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/heap.hpp"

#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "bootstrap/collective.hpp"
#include "memory/mapping.hpp"
#include "memory/reserve.hpp"
#include "memory/shared_file.hpp"

namespace shunt::memory {
namespace {

using bootstrap::World;
using cluster::Shape;

constexpr const char* kStep = "creating the heap";

struct Request {
  MachineId machine;
  std::uint64_t bytes = 0;
  std::int64_t ranks_per_node = 0;
};

/// Refuses requests that differ. Everyone sees the same list, hence the same verdict.
Status check_equal(const std::vector<Request>& all) {
  const Request& first = all.front();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Request& other = all[rank];
    if (other.bytes != first.bytes) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kUsage,
                  "rank 0 asks for a heap of {} bytes, rank {} for {}; all ranks must ask for the "
                  "same",
                  first.bytes,
                  rank,
                  other.bytes);
    }
    if (other.ranks_per_node != first.ranks_per_node) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kUsage,
                  "rank 0 has {} ranks per node, rank {} has {}; all ranks must agree",
                  first.ranks_per_node,
                  rank,
                  other.ranks_per_node);
    }
  }
  return {};
}

/// Whether the heaps of all ranks of this machine fit, emulated nodes included.
Status check_fits(const std::vector<Request>& all, int rank, std::size_t bytes) {
  const Result<std::size_t> pages = whole_pages(bytes);
  if (!pages) return Unexpected(pages.error());
  int here = 0;
  for (const Request& request : all) {
    if (request.machine == all[static_cast<std::size_t>(rank)].machine) ++here;
  }
  return check_available(*pages, here, available_memory());
}

/// The heaps of this process by number, so that a rank finds a peer's without a pointer into the
/// peer's stack. Holds no heap alive.
class Registry {
 public:
  // shared_ptr: a rank that fails unwinds while its peers may still load from and store into its
  // heap; between processes their own mappings keep the memory alive, here this count does.
  using Shared = std::shared_ptr<const Mapping>;

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  std::uint64_t add(const Shared& mapping) SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (auto entry = heaps_.begin(); entry != heaps_.end();) {
      entry = entry->second.expired() ? heaps_.erase(entry) : std::next(entry);
    }
    heaps_[++last_] = mapping;
    return last_;
  }

  /// Null once the owner is gone.
  Shared find(std::uint64_t number) SHUNT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto entry = heaps_.find(number);
    return entry == heaps_.end() ? nullptr : entry->second.lock();
  }

 private:
  Mutex mutex_;
  std::uint64_t last_ SHUNT_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::weak_ptr<const Mapping>> heaps_ SHUNT_GUARDED_BY(mutex_);
};

/// Private memory of one process, used by all its ranks.
class ThreadsHeap final : public Heap {
 public:
  Status open(World& world, const Shape& shape, std::size_t bytes, const HeapOptions& options) {
    Registry::Shared mine;
    SHUNT_TRY(bootstrap::agree(world, allocate(bytes, options, &mine), kStep));
    const auto all = bootstrap::all_gather_value(world, Registry::instance().add(mine));
    if (!all) return Unexpected(all.error());
    set_windows(shape, world.rank());
    // `mine` lives until all peers have found it.
    return bootstrap::agree(world, find_peers(shape, world.rank(), *all, bytes), kStep);
  }

 private:
  static Status allocate(std::size_t bytes, const HeapOptions& options, Registry::Shared* out) {
    const Result<std::size_t> pages = whole_pages(bytes);
    if (!pages) return Unexpected(pages.error());
    Result<Mapping> mapping = Mapping::anonymous(*pages, options);
    if (!mapping) return Unexpected(std::move(mapping).error());
    *out = std::make_shared<const Mapping>(std::move(*mapping));
    return {};
  }

  Status find_peers(const Shape& shape,
                    int rank,
                    const std::vector<std::uint64_t>& numbers,
                    std::size_t bytes) {
    const int node = shape.node_of(rank);
    for (int local = 0; local < count_; ++local) {
      const int peer = shape.rank_of(node, local);
      Registry::Shared heap = Registry::instance().find(numbers[static_cast<std::size_t>(peer)]);
      if (heap == nullptr) {
        return fail(ErrorCode::kPeerLost, ErrorScope::kFatal, "rank {} gave up its heap", peer);
      }
      windows_[static_cast<std::size_t>(local)] = {heap->base(), bytes};
      kept_.push_back(std::move(heap));
    }
    return {};
  }

  std::vector<Registry::Shared> kept_;
};

/// memfds of all node peers, mapped here.
class ProcessHeap final : public Heap {
 public:
  Status open(World& world, const Shape& shape, std::size_t bytes, const HeapOptions& options) {
    SharedFile mine;
    SHUNT_TRY(bootstrap::agree(world, allocate(bytes, options, &mine), kStep));
    const auto all = bootstrap::all_gather_value(world, mine.address);
    if (!all) return Unexpected(all.error());
    set_windows(shape, world.rank());
    // `mine` stays open until all peers have opened it.
    return bootstrap::agree(world, map_peers(shape, world.rank(), *all, bytes, options), kStep);
  }

 private:
  Status allocate(std::size_t bytes, const HeapOptions& options, SharedFile* out) {
    const Result<std::size_t> pages = whole_pages(bytes);
    if (!pages) return Unexpected(pages.error());
    Result<SharedFile> file = SharedFile::create(*pages);
    if (!file) return Unexpected(std::move(file).error());
    Result<Mapping> mapping = Mapping::shared(file->fd.get(), *pages, options);
    if (!mapping) return Unexpected(std::move(mapping).error());
    own_ = std::move(*mapping);
    *out = std::move(*file);
    return {};
  }

  Status map_peers(const Shape& shape,
                   int rank,
                   const std::vector<FileAddress>& addresses,
                   std::size_t bytes,
                   const HeapOptions& options) {
    const int node = shape.node_of(rank);
    for (int local = 0; local < count_; ++local) {
      const int peer = shape.rank_of(node, local);
      std::byte* base = own_.base();
      if (peer != rank) {
        const FileAddress& address = addresses[static_cast<std::size_t>(peer)];
        Result<UniqueFd> fd = open_shared(address, peer);
        if (!fd) return Unexpected(std::move(fd).error());
        Result<Mapping> mapping = Mapping::shared(fd->get(), address.bytes, options);
        if (!mapping) return Unexpected(std::move(mapping).error());
        peers_.push_back(std::move(*mapping));
        base = peers_.back().base();
      }
      windows_[static_cast<std::size_t>(local)] = {base, bytes};
    }
    return {};
  }

  Mapping own_;
  std::vector<Mapping> peers_;
};

template <typename Kind>
Result<std::unique_ptr<Heap>> open(World& world,
                                   const Shape& shape,
                                   std::size_t bytes,
                                   const HeapOptions& options) {
  auto heap = std::make_unique<Kind>();
  SHUNT_TRY(heap->open(world, shape, bytes, options));
  return heap;
}

}  // namespace

void Heap::set_windows(const cluster::Shape& shape, int rank) {
  local_ = shape.local_of(rank);
  count_ = shape.ranks_per_node;
  windows_ = std::make_unique<Window[]>(static_cast<std::size_t>(count_));
}

Result<std::unique_ptr<Heap>> Heap::create(World& world,
                                           const Shape& shape,
                                           std::size_t bytes,
                                           const HeapOptions& options) {
  if (shape.world != world.size()) {
    return usage_error("the shape has {} ranks, the world has {}", shape.world, world.size());
  }
  const auto all = bootstrap::all_gather_value(
      world, Request{this_machine(), bytes, static_cast<std::int64_t>(shape.ranks_per_node)});
  if (!all) return Unexpected(all.error());
  SHUNT_TRY(check_equal(*all));
  SHUNT_TRY(bootstrap::agree(world, check_fits(*all, world.rank(), bytes), kStep));
  return world.one_process() ? open<ThreadsHeap>(world, shape, bytes, options)
                             : open<ProcessHeap>(world, shape, bytes, options);
}

}  // namespace shunt::memory
