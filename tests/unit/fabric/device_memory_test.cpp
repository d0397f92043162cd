// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What providers are asked about memory of devices, and that those of this machine answer.
#include "fabric/device_memory.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/ofi_hmem.hpp"

namespace shunt::fabric {
namespace {

using Answer = DeviceMemoryAnswers::Answer;
using ::testing::HasSubstr;

/// An endpoint that knows some options. `flags` of the fid that asks are those of this object.
struct FakeEndpoint {
  fid_ep handle{};
  fi_ops_ep operations{};
  int peer_to_peer = -FI_ENOPROTOOPT;  ///< What it returns,
  int cuda_calls = -FI_ENOPROTOOPT;
  int demanded = -1;  ///< and what was asked of it.
  int permitted = -1;

  FakeEndpoint() {
    operations.size = sizeof(operations);
    operations.setopt = [](fid_t id, int level, int name, const void* value, std::size_t bytes) {
      auto* self = reinterpret_cast<FakeEndpoint*>(id);
      if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
      if (name == FI_OPT_FI_HMEM_P2P && bytes == sizeof(int)) {
        self->demanded = *static_cast<const int*>(value);
        return self->peer_to_peer;
      }
      if (name == 10 && bytes == sizeof(bool)) {  // FI_OPT_CUDA_API_PERMITTED
        self->permitted = *static_cast<const bool*>(value) ? 1 : 0;
        return self->cuda_calls;
      }
      return -FI_EINVAL;
    };
    handle.ops = &operations;
  }
};

bool library_knows_cuda_option() {
  return FI_VERSION_GE(fi_version(), FI_VERSION(1, 18));
}

TEST(DeviceMemory, WhatAnEndpointReturnsIsAnAnswer) {
  EXPECT_EQ(ofi::answer_of(0), Answer::kYes);
  EXPECT_EQ(ofi::answer_of(-FI_EOPNOTSUPP), Answer::kNo);
  EXPECT_EQ(ofi::answer_of(-FI_EINVAL), Answer::kNoCuda);
  EXPECT_EQ(ofi::answer_of(-FI_ENOPROTOOPT), Answer::kUnknown);
  EXPECT_EQ(ofi::answer_of(-FI_ENOSYS), Answer::kUnknown);
}

TEST(DeviceMemory, AnEndpointIsAskedToDoWithoutCopies) {
  FakeEndpoint endpoint;
  endpoint.peer_to_peer = 0;
  endpoint.cuda_calls = -FI_EOPNOTSUPP;
  DeviceMemoryAnswers answers;
  ofi::ask_endpoint(&endpoint.handle, &answers);
  EXPECT_EQ(endpoint.demanded, FI_HMEM_P2P_REQUIRED);
  EXPECT_EQ(answers.peer_to_peer, Answer::kYes);
  // 1.17 has no such option: a number that it does not know must not reach it.
  EXPECT_EQ(endpoint.permitted, library_knows_cuda_option() ? 0 : -1);
  EXPECT_EQ(answers.without_cuda_calls,
            library_knows_cuda_option() ? Answer::kNo : Answer::kUnknown);
}

TEST(DeviceMemory, IsCarriedWhereAPromiseIsGiven) {
  DeviceMemoryAnswers answers;
  EXPECT_FALSE(carries_device_memory(answers));
  answers.offered = true;
  EXPECT_FALSE(carries_device_memory(answers));
  answers.peer_to_peer = Answer::kYes;
  EXPECT_TRUE(carries_device_memory(answers));
  answers.peer_to_peer = Answer::kNo;
  answers.without_cuda_calls = Answer::kYes;
  EXPECT_TRUE(carries_device_memory(answers));
  answers.refusal = "no room";
  EXPECT_FALSE(carries_device_memory(answers));
}

/// Nothing of a device, so a provider that believed it could be wrong: it is registered, not read.
Region pretended(std::vector<std::byte>& bytes) {
  return {bytes, Region::Kind::kCudaDevice, 0, -1};
}

TEST(DeviceMemory, ThatOfTcpIsNotOffered) {
  std::vector<std::byte> bytes(4096);
  const auto answers = ask_about_device_memory({}, {}, pretended(bytes));
  ASSERT_TRUE(answers.has_value()) << answers.error().to_string();
  EXPECT_FALSE(answers->offered);
  EXPECT_THAT(answers->provider, ::testing::AnyOf("net", "tcp"));
  EXPECT_THAT(answers->build, HasSubstr("libfabric "));
  EXPECT_FALSE(carries_device_memory(*answers));
  const auto nics = ask_about_device_memory({"127.0.0.1", "127.0.0.2"}, {}, pretended(bytes));
  ASSERT_TRUE(nics.has_value());
  EXPECT_EQ(nics->nic, "127.0.0.1");
}

TEST(DeviceMemory, AProviderThatCopiesIsNotTakenForOneThatDoesNot) {
  std::vector<std::byte> bytes(4096);
  const auto answers = ask_about_device_memory({}, {.provider = "shm"}, pretended(bytes));
  ASSERT_TRUE(answers.has_value()) << answers.error().to_string();
  if (!answers->offered) GTEST_SKIP() << "shm has no FI_HMEM here";
  EXPECT_NE(answers->peer_to_peer, Answer::kYes);
  EXPECT_NE(answers->without_cuda_calls, Answer::kYes);
  EXPECT_FALSE(carries_device_memory(*answers));
}

TEST(DeviceMemory, AProviderThatIsNotThereIsAnError) {
  std::vector<std::byte> bytes(4096);
  const auto answers = ask_about_device_memory({}, {.provider = "rocket"}, pretended(bytes));
  ASSERT_FALSE(answers.has_value());
  EXPECT_THAT(answers.error().message, HasSubstr("rocket: it is not there"));
}

TEST(DeviceMemory, IsNotExposedWhereItWasNotAskedFor) {
  std::vector<std::byte> bytes(4096);
  auto fabric = create_libfabric({});
  ASSERT_TRUE(fabric.has_value());
  const Region region = pretended(bytes);
  EXPECT_THAT((*fabric)->expose_regions({&region, 1}).error().message,
              HasSubstr("not opened for memory of devices"));
}

TEST(DeviceMemory, TcpCannotBeOpenedForIt) {
  const auto fabric = create_libfabric({.device_memory = true});
  ASSERT_FALSE(fabric.has_value());
  EXPECT_THAT(fabric.error().message, HasSubstr("it has no FI_HMEM"));
}

}  // namespace
}  // namespace shunt::fabric
