// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/shared_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/mapping.hpp"

namespace shunt::memory {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = 8192;

TEST(SharedFile, AnotherProcessSeesTheSameMemory) {
  const SharedFile file = SharedFile::create(kBytes).value();
  const Mapping mine = Mapping::shared(file.fd.get(), kBytes, {}).value();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto fd = open_shared(file.address, 0);
    if (!fd) ::_exit(1);
    const auto theirs = Mapping::shared(fd->get(), kBytes, {});
    if (!theirs || theirs->base()[100] != std::byte{0}) ::_exit(2);
    theirs->base()[100] = std::byte{77};
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(mine.base()[100], std::byte{77});
}

TEST(SharedFile, AReusedDescriptorIsNotMistakenForIt) {
  SharedFile file = SharedFile::create(kBytes).value();
  const FileAddress announced = file.address;
  SharedFile other = SharedFile::create(kBytes).value();
  ASSERT_EQ(::dup2(other.fd.get(), announced.fd), announced.fd);
  const auto fd = open_shared(announced, 3);
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(fd.error().message, HasSubstr("not the memory that rank 3 announced"));
}

TEST(SharedFile, AClosedDescriptorIsALostPeer) {
  FileAddress address;
  {
    const SharedFile file = SharedFile::create(kBytes).value();
    address = file.address;
  }
  const auto fd = open_shared(address, 5);
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(fd.error().message, HasSubstr("rank 5"));
}

TEST(SharedFile, AnotherMachineOrNamespaceIsSaidSo) {
  const SharedFile file = SharedFile::create(kBytes).value();
  FileAddress elsewhere = file.address;
  elsewhere.machine.low ^= 1;
  const auto other_machine = open_shared(elsewhere, 1);
  ASSERT_FALSE(other_machine);
  EXPECT_THAT(other_machine.error().message, HasSubstr("rank 1 runs on another machine"));
  FileAddress contained = file.address;
  contained.pid_namespace += 1;
  const auto other_namespace = open_shared(contained, 1);
  ASSERT_FALSE(other_namespace);
  EXPECT_EQ(other_namespace.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(other_namespace.error().message, HasSubstr("another pid namespace"));
}

TEST(SharedFile, AFileSizeLimitIsOutOfMemoryNotASignal) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    const auto file = SharedFile::create(std::size_t{1} << 20);
    ::_exit(!file && file.error().code == ErrorCode::kOutOfMemory ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Mapping, SizesAreRoundedUpToPages) {
  EXPECT_EQ(whole_pages(1).value() % 4096, 0U);
  EXPECT_GE(whole_pages(4097).value(), 8192U);
  EXPECT_FALSE(whole_pages(0));
}

}  // namespace
}  // namespace shunt::memory
