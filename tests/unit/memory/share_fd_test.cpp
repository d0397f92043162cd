// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/share_fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/on_ranks.hpp"

namespace shunt::memory {
namespace {

using bootstrap::World;
using testing::on_ranks;

TEST(ShareFd, EveryNodePeerGetsTheDescriptorOfEveryOther) {
  const Status status = on_ranks(6, [](World& world) -> Status {
    const cluster::Shape shape{6, 3, 2};
    const UniqueFd own(::memfd_create("test", MFD_CLOEXEC));
    const std::string text = fmt::format("memory of rank {}", world.rank());
    if (::pwrite(own.get(), text.data(), text.size(), 0) < 0) return system_error(errno, "pwrite");
    const auto fds = share_fd(world, shape, own.get());
    if (!fds) return Unexpected(fds.error());
    for (int local = 0; local < 3; ++local) {
      const int peer = shape.rank_of(shape.node_of(world.rank()), local);
      const UniqueFd& fd = (*fds)[static_cast<std::size_t>(local)];
      if (fd.valid() == (peer == world.rank())) {
        return usage_error("rank {}: descriptor {} valid: {}", world.rank(), local, fd.valid());
      }
      if (!fd.valid()) continue;
      char read[64] = {};
      if (::pread(fd.get(), read, sizeof(read) - 1, 0) < 0) return system_error(errno, "pread");
      const std::string expected = fmt::format("memory of rank {}", peer);
      if (read != expected) return usage_error("'{}' in place of '{}'", read, expected);
      if ((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) == 0) return usage_error("not close-on-exec");
    }
    return {};
  });
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(ShareFd, FailsEverywhereWhereOneRankHasNothingToGive) {
  const Status status = on_ranks(2, [](World& world) -> Status {
    const UniqueFd own(world.rank() == 1 ? -1 : ::memfd_create("test", MFD_CLOEXEC));
    // A rank that has nothing does not send; its peer must not wait for it until the deadline.
    const auto fds = share_fd(world, {2, 2, 1}, own.get());
    if (fds) return usage_error("rank {} got something", world.rank());
    if (fds.error().message.find("rank 1") == std::string::npos && world.rank() == 0) {
      return usage_error("'{}' does not name rank 1", fds.error().message);
    }
    return {};
  });
  EXPECT_TRUE(status) << status.error().to_string();
}

}  // namespace
}  // namespace shunt::memory
