// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "logs/links/speeds.hpp"
#include "logs/reader.hpp"

namespace shunt::logs {
namespace {

Evidence read(std::string_view text) {
  Evidence evidence;
  gather(make_document("pasted", text), evidence);
  return evidence;
}

TEST(Speeds, LineCodingIsRemoved) {
  EXPECT_DOUBLE_EQ(infiniband_gbit(4, 25.78125), 100.0);
  EXPECT_DOUBLE_EQ(infiniband_gbit(4, 53.125), 200.0);
  EXPECT_DOUBLE_EQ(infiniband_gbit(4, 106.25), 400.0);
  EXPECT_DOUBLE_EQ(infiniband_gbit(4, 10.0), 32.0);
  EXPECT_EQ(infiniband_name(53.125), "HDR");
  EXPECT_EQ(printed_gbit("400 Gb/sec (4X NDR)"), 400.0);
  EXPECT_EQ(printed_gbit("100000Mb/s"), 100.0);
  EXPECT_EQ(printed_gbit("200"), 200.0);
  EXPECT_FALSE(printed_gbit("Unknown!"));
}

TEST(ReadLinks, IbstatWithTwoPorts) {
  const Evidence evidence = read(
      "CA 'mlx5_1'\n\tCA type: MT4129\n\tNumber of ports: 2\n"
      "\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
      "\t\tLink layer: InfiniBand\n"
      "\tPort 2:\n\t\tState: Down\n\t\tRate: 10\n");
  ASSERT_EQ(evidence.links.size(), 2U);
  EXPECT_TRUE(evidence.links[0].is_up());
  EXPECT_EQ(evidence.links[0].gbit_per_s, 400.0);
  EXPECT_EQ(evidence.links[0].fabric, "InfiniBand");
  EXPECT_EQ(evidence.links[1].number, 2);
  EXPECT_EQ(evidence.links[1].state, "down");
  EXPECT_EQ(evidence.links[1].owner, "mlx5_1");
  EXPECT_TRUE(evidence.unread.empty());
}

TEST(ReadLinks, IbstatusDevinfoAndOneLiners) {
  const Evidence evidence = read(
      "Infiniband device 'mlx5_2' port 1 status:\n\tstate:\t\t 4: ACTIVE\n"
      "\trate:\t\t 200 Gb/sec (4X HDR)\n\tlink_layer:\t Ethernet\n"
      "hca_id:\tmlx5_3\n\tphys_port_cnt:\t1\n\t\tport:\t1\n\t\t\tstate:\tPORT_DOWN (1)\n"
      "mlx5_4 port 1 ==> ens7 (Up)\n"
      "link mlx5_5/1 state ACTIVE physical_state LINK_UP netdev eth5\n");
  ASSERT_EQ(evidence.links.size(), 4U);
  EXPECT_EQ(evidence.links[0].speed, "4X HDR");
  EXPECT_EQ(evidence.links[0].fabric, "Ethernet");
  EXPECT_EQ(evidence.links[1].state, "down");
  EXPECT_EQ(evidence.links[2].netdev, "ens7");
  EXPECT_EQ(evidence.links[3].netdev, "eth5");
}

TEST(ReadLinks, IblinkinfoSaysWhatItCouldBe) {
  const Evidence evidence = read(
      "Switch: 0x01 leaf:\n"
      "   3  1[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  1  1[  ] \"a HCA-1\" ( Could be "
      "53.125 "
      "Gbps)\n"
      "   3  2[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n");
  ASSERT_EQ(evidence.links.size(), 2U);
  EXPECT_EQ(evidence.links[0].gbit_per_s, 100.0);
  EXPECT_EQ(evidence.links[0].possible_gbit_per_s, 200.0);
  EXPECT_EQ(evidence.links[0].peer, "a HCA-1");
  EXPECT_EQ(evidence.links[1].state, "down");
  EXPECT_EQ(evidence.links[1].number, 2);
}

TEST(ReadLinks, NvlinkStatus) {
  const Evidence evidence =
      read("GPU 1: Some GPU (UUID: GPU-2)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n");
  ASSERT_EQ(evidence.links.size(), 2U);
  EXPECT_EQ(evidence.links[0].owner, "GPU 1");
  EXPECT_EQ(evidence.links[0].model, "Some GPU");
  EXPECT_EQ(evidence.links[0].gb_per_s, 26.562);
  EXPECT_EQ(evidence.links[1].state, "inactive");
}

TEST(ReadLinks, PcieCapabilityAndStatus) {
  const Evidence evidence = read(
      "3b:00.0 Infiniband controller: made up\n"
      "\t\tLnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported\n"
      "\t\tLnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)\n");
  ASSERT_EQ(evidence.links.size(), 1U);
  EXPECT_EQ(evidence.links[0].owner, "3b:00.0");
  EXPECT_NEAR(*evidence.links[0].possible_gbit_per_s / *evidence.links[0].gbit_per_s, 4.0, 1e-9);
}

TEST(ReadLinks, FieldsOfSomethingElseAreLeftAlone) {
  const Evidence evidence = read("State: done\nRate: 17\nSpeed: fast\n");
  EXPECT_TRUE(evidence.links.empty());
  EXPECT_EQ(evidence.unread.size(), 3U);
}

}  // namespace
}  // namespace shunt::logs
