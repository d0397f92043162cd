// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// device.hpp where there is no device, as on most machines that build it: an answer on every rank,
// and a sentence that says what is missing. Where there is one, ranks without tokens get through.
#include "shunt/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt {
namespace {

Status empty_round_trip(DeviceBuffer& buffer, World& world) {
  auto handle = buffer.plan({});
  if (!handle) return Unexpected(handle.error());
  auto rows = buffer.allocate(1024);
  if (!rows) return Unexpected(rows.error());
  if (auto s = buffer.dispatch(*handle, nullptr, {.rows = *rows, .capacity = 1}, nullptr); !s) {
    return s;
  }
  if (auto s = buffer.combine(*handle, {.rows = *rows}, nullptr); !s) return s;
  auto planned = buffer.make_handle(0);
  if (!planned) return Unexpected(planned.error());
  if (auto s = buffer.plan_on_device(*planned, {}, nullptr); !s) return s;
  if (auto s = buffer.dispatch(*planned, nullptr, {.rows = *rows, .capacity = 1}, nullptr); !s) {
    return s;
  }
  if (auto s = buffer.wait(nullptr); !s) return s;
  return world.barrier();
}

TEST(DeviceBuffer, AnswersOnEveryRank) {
  std::vector<std::string> messages(2);
  const Status status = World::run_threads(2, [&](World& world) -> Status {
    auto buffer = DeviceBuffer::create(
        world, {.ranks_per_node = 2, .experts = 2, .topk = 1, .hidden = 64}, {.sms = 2});
    if (buffer) return empty_round_trip(*buffer, world);
    messages[static_cast<std::size_t>(world.rank())] = buffer.error().to_string();
    EXPECT_THAT(buffer.error().code, ::testing::AnyOf(ErrorCode::kUnsupported, ErrorCode::kSystem));
    return {};
  });
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(messages[0].empty(), messages[1].empty());
  EXPECT_THAT(messages[0], ::testing::AnyOf(::testing::IsEmpty(), ::testing::HasSubstr("device")));
}

}  // namespace
}  // namespace shunt
