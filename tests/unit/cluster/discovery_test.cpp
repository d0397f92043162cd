// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Discovery on a tree of files that stands for a machine.
#include "cluster/discovery.hpp"

#include <string>

#include <gtest/gtest.h>

#include "support/fake_machine.hpp"

namespace shunt::cluster {
namespace {

using testing::FakeMachine;

TEST(PciPath, CountsBridges) {
  const std::string root = "/sys/devices/pci0000:10/0000:10:01.0";
  const std::string up = root + "/0000:11:00.0";
  EXPECT_EQ(pci_path(up + "/0000:12:00.0/0000:13:00.0", up + "/0000:12:01.0/0000:14:00.0", true),
            PathKind::kPix);
  EXPECT_EQ(pci_path(up + "/0000:12:00.0/0000:13:00.0",
                     up + "/0000:12:01.0/0000:14:00.0/0000:15:00.0/0000:16:00.0",
                     true),
            PathKind::kPxb);
  EXPECT_EQ(
      pci_path(root + "/0000:11:00.0", "/sys/devices/pci0000:10/0000:10:02.0/0000:20:00.0", true),
      PathKind::kPhb);
  EXPECT_EQ(pci_path(root + "/0000:11:00.0", root + "/0000:11:00.1", true), PathKind::kPix);
  EXPECT_EQ(pci_path(root, "/sys/devices/pci0000:30/0000:30:01.0", true), PathKind::kNode);
  EXPECT_EQ(pci_path(root, "/sys/devices/pci0000:30/0000:30:01.0", false), PathKind::kSys);
  EXPECT_EQ(pci_path("", root, true), PathKind::kUnknown);
}

TEST(Discovery, GpusNicsPathsAndPorts) {
  const FakeMachine machine;
  const std::string left = "pci0000:10/0000:10:01.0/0000:11:00.0";
  machine.gpu(left + "/0000:12:00.0", "0000:13:00.0", 0);
  machine.nic(left + "/0000:12:01.0", "0000:14:00.0", "mlx5_10", 0, "4: ACTIVE");
  machine.nic("pci0000:80/0000:80:01.0", "0000:81:00.0", "mlx5_2", 1, "1: DOWN");
  machine.pci("pci0000:00/0000:00:02.0", "0000:02:00.0", "0x1a03", "0x030000", 0);  // server VGA
  const auto topology = discover({machine.root(), false});
  ASSERT_TRUE(topology) << topology.error().to_string();
  ASSERT_EQ(topology->devices.size(), 3U);
  EXPECT_EQ(topology->devices[0].label, "GPU0");
  EXPECT_EQ(topology->devices[0].bdf, "0000:13:00.0");
  EXPECT_EQ(topology->devices[0].cpus, "0-7");
  EXPECT_EQ(topology->devices[1].name, "mlx5_2") << "2 before 10";
  EXPECT_EQ(topology->devices[1].state, "DOWN");
  EXPECT_EQ(topology->devices[2].netdev, "net_mlx5_10");
  EXPECT_DOUBLE_EQ(topology->devices[2].rating_bytes_per_s, 50e9);
  EXPECT_EQ(topology->path(0, 2).kind, PathKind::kPix);
  EXPECT_EQ(topology->path(0, 1).kind, PathKind::kSys);
  EXPECT_TRUE(topology->pcie_view) << "NVLinks were not asked for";
}

TEST(Discovery, XgmiFromTheDriver) {
  const FakeMachine machine;
  machine.pci("pci0000:20/0000:20:01.0", "0000:21:00.0", "0x1002", "0x120000", 0);
  machine.pci("pci0000:40/0000:40:01.0", "0000:41:00.0", "0x1002", "0x120000", 1);
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  machine.write(nodes + "0/properties", "cpu_cores_count 8\nsimd_count 0");
  machine.write(nodes + "1/properties", "simd_count 4\nlocation_id 8448\ndomain 0");
  machine.write(nodes + "2/properties", "simd_count 4\nlocation_id 16640\ndomain 0");
  machine.write(nodes + "1/io_links/0/properties", "type 11\nnode_from 1\nnode_to 2\nweight 15");
  machine.write(nodes + "1/io_links/1/properties", "type 2\nnode_from 1\nnode_to 0\nweight 20");
  const auto topology = discover({machine.root(), false});
  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->devices.size(), 2U);
  EXPECT_EQ(topology->cell(0, 1).kind, PathKind::kXgmi);
  EXPECT_EQ(topology->cell(0, 1).weight, 15);
}

TEST(Discovery, EmptyMachineAndNoSysfs) {
  const FakeMachine machine;
  const auto topology = discover({machine.root(), false});
  ASSERT_TRUE(topology);
  EXPECT_TRUE(topology->devices.empty());
  const auto missing = discover({machine.root() + "/nowhere", false});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no sysfs under"), std::string::npos);
}

}  // namespace
}  // namespace shunt::cluster
