// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Heaps between processes. The checks run in the ranks, so they come back as their errors.
#include <signal.h>
#include <sys/resource.h>

#include <memory>
#include <set>
#include <string>

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "bootstrap/launch.hpp"
#include "memory/heap.hpp"
#include "support/on_ranks.hpp"

namespace shunt::memory {
namespace {

using bootstrap::World;
using ::testing::HasSubstr;
using testing::launch_options;
using testing::on_ranks;
using Bytes = std::vector<std::byte>;

Status check_marks(World& world, const Heap& heap, const cluster::Shape& shape) {
  const int mine = shape.local_of(world.rank());
  for (std::size_t i = 0; i < heap.size(); ++i) {
    if (heap.base()[i] != std::byte{0}) return usage_error("byte {} is not zero", i);
  }
  SHUNT_TRY(world.barrier());
  for (int local = 0; local < shape.ranks_per_node; ++local) {
    const Window& window = heap.window(local);
    window.base[window.bytes - 1 - static_cast<std::size_t>(mine)] =
        static_cast<std::byte>(world.rank() * 16 + local + 1);
  }
  SHUNT_TRY(world.barrier());
  for (int local = 0; local < shape.ranks_per_node; ++local) {
    const int peer = shape.rank_of(shape.node_of(world.rank()), local);
    const auto expected = static_cast<std::byte>(peer * 16 + mine + 1);
    if (heap.base()[heap.size() - 1 - static_cast<std::size_t>(local)] != expected) {
      return usage_error("rank {} did not see the mark of rank {}", world.rank(), peer);
    }
  }
  return world.barrier();
}

TEST(ProcessHeap, NodePeersShareAndOthersDoNot) {
  for (const int per_node : {1, 2, 4}) {
    const auto shape = cluster::Shape::create(4, per_node).value();
    const Status status = on_ranks(4, [&shape](World& world) -> Status {
      for (const std::size_t bytes : {10'000U, 4096U, 3'000'000U}) {
        const auto heap = Heap::create(world, shape, bytes);
        if (!heap) return Unexpected(heap.error());
        if ((*heap)->size() != bytes) return usage_error("size {}", (*heap)->size());
        SHUNT_TRY(check_marks(world, **heap, shape));
      }
      return {};
    });
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(ProcessHeap, SeveralHeapsLiveSideBySide) {
  const auto shape = cluster::Shape::create(2, 2).value();
  const Status status = on_ranks(2, [&shape](World& world) -> Status {
    const auto one = Heap::create(world, shape, 4096, {.populate = false, .huge_pages = false});
    if (!one) return Unexpected(one.error());
    const auto two = Heap::create(world, shape, 8192);
    if (!two) return Unexpected(two.error());
    SHUNT_TRY(check_marks(world, **one, shape));
    return check_marks(world, **two, shape);
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(ProcessHeap, AFailureOfOneRankIsEverybodys) {
  const auto shape = cluster::Shape::create(3, 3).value();
  const Status status = on_ranks(3, [&shape](World& world) -> Status {
    if (world.rank() == 1) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{4096, 4096};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return usage_error("setrlimit failed");
    }
    const auto heap = Heap::create(world, shape, 1 << 20);
    if (heap) return usage_error("rank {} got a heap", world.rank());
    if (heap.error().code != ErrorCode::kOutOfMemory) return Unexpected(heap.error());
    const bool named = heap.error().message.find("rank 1: ") == 0;
    if (named != (world.rank() != 1)) return Unexpected(heap.error());
    return world.barrier();
  });
  EXPECT_TRUE(status) << status.error().message;
}

TEST(ProcessHeap, APeerThatDiesDuringCreationIsNamed) {
  const auto shape = cluster::Shape::create(3, 3).value();
  const Status status = on_ranks(3, [&shape](World& world) -> Status {
    if (world.rank() == 2) ::raise(SIGKILL);
    const auto heap = Heap::create(world, shape, 4096);
    if (heap) return {};
    return Unexpected(heap.error());
  });
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("rank 2: killed by signal 9"));
}

std::set<std::string> shared_memory_names() {
  std::set<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/dev/shm"), ::closedir);
  while (folder != nullptr) {
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    if (std::string(entry->d_name).find("shunt") != std::string::npos) names.insert(entry->d_name);
  }
  return names;
}

TEST(ProcessHeap, NothingHasANameEvenAfterAKill) {
  const auto shape = cluster::Shape::create(2, 2).value();
  const std::set<std::string> before = shared_memory_names();
  const Status status = on_ranks(2, [&](World& world) -> Status {
    const auto heap = Heap::create(world, shape, 1 << 20);
    if (!heap) return Unexpected(heap.error());
    if (shared_memory_names() != before) return usage_error("a name in /dev/shm");
    SHUNT_TRY(world.barrier());
    ::raise(SIGKILL);
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("killed by signal 9"));
  EXPECT_EQ(shared_memory_names(), before);
}

TEST(ProcessHeap, AWindowOutlivesItsOwnersProcess) {
  const auto shape = cluster::Shape::create(2, 2).value();
  const auto outcome =
      bootstrap::launch_local(launch_options(2), [&](World& world) -> Result<Bytes> {
        const auto heap = Heap::create(world, shape, 4096);
        if (!heap) return Unexpected(heap.error());
        (*heap)->base()[5] = std::byte{5};
        if (const Status met = world.barrier(); !met) return Unexpected(met.error());
        if (world.rank() == 1) ::raise(SIGKILL);
        const Status lost = world.barrier();
        if (lost) return usage_error("rank 1 did not die");
        return Bytes{(*heap)->window(1).base[5]};
      });
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ranks[0].result, Bytes{std::byte{5}});
}

}  // namespace
}  // namespace shunt::memory
