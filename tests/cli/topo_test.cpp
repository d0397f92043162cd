// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The verb topo on a tree of files that stands for a machine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/command.hpp"
#include "support/fake_machine.hpp"

namespace shunt {
namespace {

using testing::FakeMachine;
using ::testing::HasSubstr;
using testing::Outcome;

Outcome topo(const FakeMachine& machine, const std::string& arguments = "") {
  return testing::run_command(
      fmt::format("{} topo --root {} {}", SHUNT_PROGRAM, machine.root(), arguments));
}

TEST(Topo, DrawsTheMatrixWithPairsAndProblemsMarked) {
  const FakeMachine machine;
  const std::string left = "pci0000:10/0000:10:01.0/0000:11:00.0";
  machine.gpu(left + "/0000:12:00.0", "0000:13:00.0", 0);
  machine.nic(left + "/0000:12:01.0", "0000:14:00.0", "mlx5_0", 0, "4: ACTIVE");
  machine.gpu("pci0000:80/0000:80:01.0", "0000:81:00.0", 1);
  const Outcome drawn = topo(machine);
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_THAT(drawn.out, HasSubstr("PIX*"));
  EXPECT_THAT(drawn.out, HasSubstr("SYS*!"));
  EXPECT_THAT(drawn.out, HasSubstr("GPU1: the nearest NIC is SYS"));
  EXPECT_THAT(drawn.out, HasSubstr("mlx5_0"));
  EXPECT_THAT(drawn.out, HasSubstr("400 Gb/s"));
  const auto json = nlohmann::json::parse(topo(machine, "--json").out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("schema"), "shunt.topology/1");
  EXPECT_EQ(json.at("devices").size(), 3U);
}

TEST(Topo, AMachineWithoutDevicesIsTold) {
  const FakeMachine machine;
  const Outcome none = topo(machine);
  EXPECT_EQ(none.status, 4);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("no GPU and no RDMA device"));
}

TEST(Topo, ADirectoryWithoutSysfsIsNamed) {
  const testing::TemporaryDirectory empty;
  const Outcome none =
      testing::run_command(fmt::format("{} topo --root {}", SHUNT_PROGRAM, empty.path()));
  EXPECT_EQ(none.status, 4);
  EXPECT_THAT(none.err, HasSubstr(empty.path()));
}

}  // namespace
}  // namespace shunt
