// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What libfabric is asked for when memory is registered: its call is replaced by one that writes
// down what it gets.
#include "fabric/ofi_registration.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::fabric::ofi {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kDmabuf = std::uint64_t{1} << 40;

/// A registration that can be closed.
struct FakeMr {
  fid_mr handle{};
  fi_ops operations{};
  int closed = 0;

  FakeMr() {
    operations.size = sizeof(operations);
    operations.close = [](fid* id) {
      ++reinterpret_cast<FakeMr*>(id)->closed;
      return 0;
    };
    handle.fid.ops = &operations;
  }
};

/// Answers the calls in turn and keeps what they asked for.
struct Library {
  struct Call {
    fi_mr_attr attributes{};
    iovec memory{};
    DmabufRange dmabuf;
    std::uint64_t flags = 0;
    bool zeros_behind = true;
  };
  std::vector<int> answers;
  std::vector<Call> calls;
  FakeMr made;

  RegisterCall call() {
    return [this](fid_domain*, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** mr) {
      Call seen;
      seen.attributes = *attributes;
      seen.flags = flags;
      if ((flags & kDmabuf) != 0) {
        seen.dmabuf = *reinterpret_cast<const DmabufRange*>(attributes->mr_iov);
      } else {
        seen.memory = *attributes->mr_iov;
      }
      // A newer library's structure ends 64 bytes further on.
      std::uint64_t behind[8];
      std::memcpy(behind, reinterpret_cast<const std::byte*>(attributes) + sizeof(*attributes), 64);
      for (const std::uint64_t word : behind) seen.zeros_behind &= word == 0;
      calls.push_back(seen);
      const int answer = answers.at(calls.size() - 1);
      if (answer == 0) *mr = &made.handle;
      return answer;
    };
  }
  Result<Registration> register_it(const Region& region, bool dmabuf_allowed = true) {
    return register_region(nullptr, region, 7, "rocket", dmabuf_allowed, call());
  }
};

Region device_region(std::span<std::byte> bytes, int dmabuf) {
  return {bytes, Region::Kind::kCudaDevice, 3, dmabuf};
}

TEST(OfiRegistration, HostMemoryGoesByItsAddress) {
  std::vector<std::byte> bytes(4096);
  Library library{.answers = {0}};
  const auto made = library.register_it({bytes});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->way, Way::kHostAddress);
  ASSERT_EQ(library.calls.size(), 1U);
  const Library::Call& call = library.calls[0];
  EXPECT_EQ(call.attributes.iface, FI_HMEM_SYSTEM);
  EXPECT_EQ(call.attributes.device.reserved, 0U);
  EXPECT_EQ(call.attributes.iov_count, 1U);
  EXPECT_EQ(call.attributes.access, FI_WRITE | FI_REMOTE_WRITE);
  EXPECT_EQ(call.attributes.requested_key, 7U);
  EXPECT_EQ(call.flags, 0U);
  EXPECT_EQ(call.memory.iov_base, bytes.data());
  EXPECT_EQ(call.memory.iov_len, 4096U);
}

TEST(OfiRegistration, DeviceMemoryNamesItsDevice) {
  std::vector<std::byte> bytes(4096);
  Library library{.answers = {0}};
  const auto made = library.register_it(device_region(bytes, -1));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->way, Way::kDeviceAddress);
  ASSERT_EQ(library.calls.size(), 1U);
  const Library::Call& call = library.calls[0];
  EXPECT_EQ(call.attributes.iface, FI_HMEM_CUDA);
  EXPECT_EQ(call.attributes.device.cuda, 3);
  EXPECT_EQ(call.flags, 0U);
  EXPECT_EQ(call.memory.iov_base, bytes.data());
  EXPECT_TRUE(call.zeros_behind);
}

TEST(OfiRegistration, ADmabufComesFirst) {
  std::vector<std::byte> bytes(4096);
  Library library{.answers = {0}};
  const auto made = library.register_it(device_region(bytes, 42));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->way, Way::kDmabuf);
  ASSERT_EQ(library.calls.size(), 1U);
  const Library::Call& call = library.calls[0];
  EXPECT_EQ(call.flags, kDmabuf);
  EXPECT_EQ(call.attributes.iface, FI_HMEM_CUDA);
  EXPECT_EQ(call.attributes.device.cuda, 3);
  EXPECT_EQ(call.attributes.iov_count, 1U);
  EXPECT_EQ(call.dmabuf.fd, 42);
  EXPECT_EQ(call.dmabuf.offset, 0U);
  EXPECT_EQ(call.dmabuf.bytes, 4096U);
  EXPECT_EQ(call.dmabuf.base, bytes.data());
  EXPECT_TRUE(call.zeros_behind);
}

TEST(OfiRegistration, TheAddressIsTriedWhereTheDmabufIsRefused) {
  std::vector<std::byte> bytes(4096);
  Library library{.answers = {-FI_ENOSYS, 0}};
  const auto made = library.register_it(device_region(bytes, 42));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->way, Way::kDeviceAddress);
  ASSERT_EQ(library.calls.size(), 2U);
  EXPECT_EQ(library.calls[1].flags, 0U);
  EXPECT_EQ(library.calls[1].attributes.iface, FI_HMEM_CUDA);
}

TEST(OfiRegistration, AnOlderLibraryIsGivenNoDmabuf) {
  std::vector<std::byte> bytes(4096);
  Library library{.answers = {0}};
  const auto made = library.register_it(device_region(bytes, 42), false);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->way, Way::kDeviceAddress);
  EXPECT_EQ(library.calls[0].flags, 0U);
}

TEST(OfiRegistration, TheErrorSaysWhatEachWayCameTo) {
  std::vector<std::byte> bytes(4096);
  Library both{.answers = {-FI_ENOSYS, -FI_ENOMEM}};
  const auto refused = both.register_it(device_region(bytes, 42));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("provider rocket: 4 KiB of device 3"));
  EXPECT_THAT(refused.error().message,
              HasSubstr(std::string("by dmabuf: ") + fi_strerror(FI_ENOSYS)));
  EXPECT_THAT(refused.error().message, HasSubstr("nvidia_peermem loaded?): Cannot allocate"));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("ulimit")));
  Library host{.answers = {-FI_ENOMEM}};
  EXPECT_THAT(host.register_it({bytes}).error().message, HasSubstr("`ulimit -l unlimited`"));
}

TEST(OfiRegistration, ARegistrationIsClosedOnce) {
  std::vector<std::byte> bytes(64);
  Library library{.answers = {0}};
  {
    const auto made = library.register_it({bytes});
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(library.made.closed, 0);
  }
  EXPECT_EQ(library.made.closed, 1);
}

}  // namespace
}  // namespace shunt::fabric::ofi
