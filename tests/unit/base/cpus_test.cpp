// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/cpus.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace shunt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Cpus, ListsAreRead) {
  EXPECT_THAT(*parse_cpus("0-3,8,10-11"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(*parse_cpus("5"), ElementsAre(5));
  EXPECT_THAT(*parse_cpus("7,2-3,3-4"), ElementsAre(2, 3, 4, 7));
  EXPECT_THAT(*parse_cpus(""), IsEmpty());
}

TEST(Cpus, WhatIsNoListIsNamed) {
  for (const char* text : {"a",
                           "1-",
                           "-3",
                           "3-1",
                           "1,",
                           ",1",
                           "1;2",
                           "0x3",
                           "1 - 2",
                           "1-2-3",
                           "65536",
                           "99999999999"}) {
    const auto cpus = parse_cpus(text);
    ASSERT_FALSE(cpus) << text;
    EXPECT_THAT(cpus.error().message, HasSubstr(text));
  }
}

TEST(Cpus, WrittenListsReadBack) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    Cpus cpus;
    for (int cpu = 0; cpu < 40; ++cpu) {
      if (random.below(3) != 0) cpus.push_back(cpu);
    }
    EXPECT_EQ(*parse_cpus(format_cpus(cpus)), cpus) << format_cpus(cpus);
  }
  EXPECT_EQ(format_cpus({0, 1, 2, 4, 6, 7}), "0-2,4,6-7");
}

TEST(Cpus, AThreadStaysWhereItIsBound) {
  const auto mine = allowed_cpus();
  ASSERT_TRUE(mine) << mine.error().to_string();
  ASSERT_FALSE(mine->empty());
  std::thread([&] {
    const Cpus last = {mine->back()};
    const Status bound = bind_this_thread(last);
    ASSERT_TRUE(bound) << bound.error().to_string();
    EXPECT_EQ(*allowed_cpus(), last);
  }).join();
  EXPECT_EQ(*allowed_cpus(), *mine);
}

TEST(Cpus, ACpuThatIsNotThereIsNamed) {
  std::thread([] {
    const Status bound = bind_this_thread({60000});
    ASSERT_FALSE(bound);
    EXPECT_THAT(bound.error().message, HasSubstr("60000"));
  }).join();
}

}  // namespace
}  // namespace shunt
