// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The choice of where records lie between nodes, over made-up devices and providers.
#include "engine/staging.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::engine {
namespace {

using Answer = fabric::DeviceMemoryAnswers::Answer;
using Ordering = memory::DeviceRdma::Ordering;
using ::testing::HasSubstr;
using ::testing::Not;

/// A device and a provider that can.
StagingFacts able() {
  StagingFacts facts;
  facts.device = {.device = 3,
                  .peer_memory = true,
                  .dmabuf = true,
                  .ordering = Ordering::kOwner,
                  .host_flush = true,
                  .coherent_link = false};
  facts.fabric.emplace();
  facts.fabric->provider = "rocket";
  facts.fabric->build = "libfabric 9.1";
  facts.fabric->offered = true;
  facts.fabric->peer_to_peer = Answer::kYes;
  facts.fabric->without_cuda_calls = Answer::kYes;
  facts.fabric->dmabuf = true;
  return facts;
}

enum class Auto { kDevice, kHost };
enum class Asked { kDevice, kError };

struct Case {
  const char* name;
  std::function<void(StagingFacts&)> change;
  Auto by_itself;
  Asked asked;
  const char* reason;  ///< Of what kAuto chooses.
};

std::vector<Case> cases() {
  return {
      {"both can", [](StagingFacts&) {}, Auto::kDevice, Asked::kDevice, "by dmabuf without copies"},
      {"by address",
       [](StagingFacts& f) { f.fabric->dmabuf = f.device.dmabuf = false; },
       Auto::kDevice,
       Asked::kDevice,
       "provider rocket reaches it by address"},
      {"dmabuf alone",
       [](StagingFacts& f) { f.device.peer_memory = false; },
       Auto::kDevice,
       Asked::kDevice,
       "by dmabuf"},
      {"one promise is enough: peer to peer",
       [](StagingFacts& f) { f.fabric->without_cuda_calls = Answer::kUnknown; },
       Auto::kDevice,
       Asked::kDevice,
       "without copies"},
      {"one promise is enough: no calls of CUDA",
       [](StagingFacts& f) { f.fabric->peer_to_peer = Answer::kNo; },
       Auto::kDevice,
       Asked::kDevice,
       "without copies"},
      {"writes in order for all",
       [](StagingFacts& f) { f.device.ordering = Ordering::kAllDevices; },
       Auto::kDevice,
       Asked::kDevice,
       "in order for the device"},
      {"writes to be flushed",
       [](StagingFacts& f) { f.device.ordering = Ordering::kNobody; },
       Auto::kDevice,
       Asked::kDevice,
       "flushed by the host"},
      {"writes that cannot be flushed",
       [](StagingFacts& f) {
         f.device.ordering = Ordering::kNobody;
         f.device.host_flush = false;
       },
       Auto::kHost,
       Asked::kError,
       "device 3 are in no order and cannot be flushed"},
      {"a device out of reach",
       [](StagingFacts& f) { f.device.peer_memory = f.device.dmabuf = false; },
       Auto::kHost,
       Asked::kError,
       "device 3 has no GPUDirect RDMA"},
      {"a coherent link",
       [](StagingFacts& f) { f.device.coherent_link = true; },
       Auto::kHost,
       Asked::kDevice,
       "shares page tables with the host"},
      {"no memory left",
       [](StagingFacts& f) {
         f.no_memory = "allocating device memory: out of memory";
         f.fabric.reset();
       },
       Auto::kHost,
       Asked::kError,
       "out of memory"},
      {"a fabric that is not asked",
       [](StagingFacts& f) { f.fabric.reset(); },
       Auto::kHost,
       Asked::kError,
       "not plain libfabric"},
      {"a provider without",
       [](StagingFacts& f) { f.fabric->offered = false; },
       Auto::kHost,
       Asked::kError,
       "provider rocket has no FI_HMEM for CUDA"},
      {"a provider that copies",
       [](StagingFacts& f) {
         f.fabric->peer_to_peer = Answer::kUnknown;
         f.fabric->without_cuda_calls = Answer::kNo;
       },
       Auto::kHost,
       Asked::kError,
       "provider rocket moves device memory by calls of CUDA"},
      {"a library without CUDA",
       [](StagingFacts& f) {
         f.fabric->peer_to_peer = Answer::kUnknown;
         f.fabric->without_cuda_calls = Answer::kNoCuda;
       },
       Auto::kHost,
       Asked::kError,
       "libfabric 9.1 was built without CUDA"},
      {"a provider without peer to peer",
       [](StagingFacts& f) {
         f.fabric->peer_to_peer = Answer::kNo;
         f.fabric->without_cuda_calls = Answer::kUnknown;
       },
       Auto::kHost,
       Asked::kError,
       "does not reach device memory from peer to peer"},
      {"a provider that makes no promise",
       [](StagingFacts& f) {
         f.fabric->peer_to_peer = f.fabric->without_cuda_calls = Answer::kUnknown;
       },
       Auto::kHost,
       Asked::kDevice,
       "provider rocket of libfabric 9.1 does not say whether it copies"},
      {"a registration that fails",
       [](StagingFacts& f) { f.fabric->refusal = "provider rocket: 4 MiB cannot be registered"; },
       Auto::kHost,
       Asked::kError,
       "4 MiB cannot be registered"},
      {"one NIC of several",
       [](StagingFacts& f) {
         f.fabric->offered = false;
         f.fabric->nic = "rocket_2";
       },
       Auto::kHost,
       Asked::kError,
       "provider rocket on NIC rocket_2 has no FI_HMEM"},
  };
}

TEST(Staging, FollowsFromWhatDeviceAndProviderCan) {
  for (const Case& c : cases()) {
    StagingFacts facts = able();
    c.change(facts);
    const auto chosen = choose_staging(Staging::kAuto, facts);
    ASSERT_TRUE(chosen) << c.name << ": " << chosen.error().to_string();
    EXPECT_EQ(chosen->device, c.by_itself == Auto::kDevice) << c.name;
    EXPECT_THAT(chosen->text(), HasSubstr(c.reason)) << c.name;
    EXPECT_THAT(chosen->text(),
                ::testing::StartsWith(chosen->device ? "device memory (" : "pinned host memory ("))
        << c.name;
    EXPECT_EQ(chosen->flush, chosen->device && facts.device.ordering == Ordering::kNobody)
        << c.name;

    const auto asked = choose_staging(Staging::kDevice, facts);
    EXPECT_EQ(asked.has_value(), c.asked == Asked::kDevice) << c.name;
    if (asked) {
      EXPECT_TRUE(asked->device) << c.name;
      // What it was asked to do in spite of a doubt, it says.
      EXPECT_EQ(asked->reason.find("as asked, although") != std::string::npos, !chosen->device)
          << c.name << ": " << asked->reason;
    } else {
      EXPECT_EQ(asked.error().code, ErrorCode::kUnsupported) << c.name;
      EXPECT_THAT(asked.error().message, HasSubstr(c.reason)) << c.name;
      EXPECT_THAT(asked.error().message, HasSubstr("use staging auto or host")) << c.name;
    }
  }
}

TEST(Staging, OnTheHostNeedsNothing) {
  for (const Case& c : cases()) {
    StagingFacts facts = able();
    c.change(facts);
    const auto chosen = choose_staging(Staging::kHost, facts);
    ASSERT_TRUE(chosen) << c.name;
    EXPECT_FALSE(chosen->device) << c.name;
    EXPECT_FALSE(chosen->flush) << c.name;
    EXPECT_EQ(chosen->text(), "pinned host memory (as asked)");
  }
  EXPECT_TRUE(choose_staging(Staging::kHost, {}));
}

TEST(Staging, TheDeviceAloneIsAskedFirst) {
  EXPECT_EQ(device_obstacle(able().device), "");
  EXPECT_NE(device_obstacle({.device = 1}), "");
  // Nothing of the fabric is known then; the device's reason stands.
  const auto chosen = choose_staging(Staging::kAuto, {.device = {.device = 1}, .fabric = {}});
  ASSERT_TRUE(chosen);
  EXPECT_THAT(chosen->text(), HasSubstr("device 1 has no GPUDirect RDMA"));
}

}  // namespace
}  // namespace shunt::engine
