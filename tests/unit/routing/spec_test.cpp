// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "routing/spec.hpp"

#include <gtest/gtest.h>

namespace shunt::routing {
namespace {

TEST(RoutingSpec, TextAndValueAgree) {
  const auto zipf = RoutingSpec::parse("zipf:1.25,drop=0.1").value();
  EXPECT_EQ(zipf.pattern, Pattern::kZipf);
  EXPECT_DOUBLE_EQ(zipf.exponent, 1.25);
  EXPECT_DOUBLE_EQ(zipf.drop, 0.1);

  const auto group = RoutingSpec::parse("group:8/4").value();
  EXPECT_EQ(group.groups, 8);
  EXPECT_EQ(group.top_groups, 4);

  const auto file = RoutingSpec::parse("file:a,b/{rank}.npy,weights=w.npy,drop=0.5").value();
  EXPECT_EQ(file.path, "a,b/{rank}.npy");
  EXPECT_EQ(file.weights_path, "w.npy");
  EXPECT_DOUBLE_EQ(file.drop, 0.5);
}

TEST(RoutingSpec, ToStringParsesBackToTheSameValue) {
  for (const char* text : {"uniform",
                           "uniform,drop=0.25",
                           "zipf:0",
                           "zipf:1.3",
                           "group:16/4",
                           "hot:0.7",
                           "all-to-one",
                           "all-to-one,drop=1",
                           "file:x.csv",
                           "file:x=1,y.csv",
                           "file:x.npy,weights=y.npy,drop=0.125"}) {
    const auto spec = RoutingSpec::parse(text);
    ASSERT_TRUE(spec) << text << ": " << spec.error().message;
    EXPECT_EQ(spec->to_string(), text);
  }
}

TEST(RoutingSpec, WhatIsNotARoutingIsRefusedByName) {
  for (const char* text : {"",
                           "unifrom",
                           "uniform:1",
                           "all-to-one:3",
                           "zipf",
                           "zipf:",
                           "zipf:-1",
                           "zipf:17",
                           "zipf:nan",
                           "zipf:1x",
                           "group:4",
                           "group:4/5",
                           "group:4/0",
                           "group:/",
                           "group:4/2/1",
                           "hot",
                           "hot:1.1",
                           "hot:-0.1",
                           "file:",
                           "uniform,drop=2",
                           "uniform,drop=",
                           "uniform,drip=1",
                           "uniform,weights=w.npy",
                           "file:x,weights="}) {
    const auto spec = RoutingSpec::parse(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::kInvalidArgument) << text;
    EXPECT_NE(spec.error().message.find(std::string("'") + text + "'"), std::string::npos)
        << spec.error().message;
  }
}

}  // namespace
}  // namespace shunt::routing
