// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "logs/reader.hpp"

namespace shunt::logs {
namespace {

using cluster::PathKind;
using cluster::Topology;

Evidence read(std::string_view text) {
  Evidence evidence;
  gather(make_document("pasted", text), evidence);
  return evidence;
}

/// Label, then the words of its row, read back from the topology.
std::string row(const Topology& topology, std::string_view label) {
  const auto at = topology.find(label);
  if (!at) return "absent";
  std::string text;
  for (std::size_t column = 0; column < topology.devices.size(); ++column) {
    text += (column > 0 ? " " : "") + topology.cell(*at, column).to_string();
  }
  return text;
}

std::string labels(const Topology& topology) {
  std::string text;
  for (const auto& device : topology.devices) text += (text.empty() ? "" : " ") + device.label;
  return text;
}

constexpr const char* kTabs =
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV6\tPIX\tSYS\t0-11,24-35\t0\t\tN/A\n"
    "GPU1\tNV6\t X \tSYS\tPXB\t12-23,36-47\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the interconnect between NUMA nodes\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_4\n"
    "  NIC1: mlx5_bond_0\n";

TEST(ReadTopology, TabsEscapesAndLegend) {
  const Evidence evidence = read(kTabs);
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const Topology& topology = evidence.topologies[0].topology;
  EXPECT_EQ(labels(topology), "GPU0 GPU1 NIC0 NIC1");
  EXPECT_EQ(row(topology, "GPU0"), "X NV6 PIX SYS");
  EXPECT_EQ(row(topology, "NIC1"), "SYS PXB SYS X");
  EXPECT_EQ(topology.devices[0].cpus, "0-11,24-35");
  EXPECT_EQ(topology.devices[1].numa, "1");
  EXPECT_EQ(topology.devices[1].own_numa, "");
  EXPECT_EQ(topology.devices[3].name, "mlx5_bond_0");
  EXPECT_TRUE(topology.gaps.empty());
  EXPECT_TRUE(evidence.unread.empty());
  EXPECT_EQ(topology.first_line, 1U);
}

TEST(ReadTopology, BlanksForTabsAndHeaderWithoutItsFirstColumn) {
  const Topology topology = read(
                                "GPU0 GPU1 NIC0 CPU Affinity\n"
                                "GPU0  X   NV2  PHB  0-7\n"
                                "GPU1  NV2  X   SOC  8-15\n")
                                .topologies.at(0)
                                .topology;
  EXPECT_EQ(row(topology, "GPU1"), "NV2 X SYS");
  EXPECT_EQ(topology.devices[0].cpus, "0-7");
}

TEST(ReadTopology, GluedHeaderColumns) {
  const Topology topology = read(
                                "     GPU0    GPU1    NIC0   NIC1CPU Affinity   NUMA Affinity\n"
                                "GPU0  X      SYS     PIX    SYS   0-3   0\n"
                                "GPU1 SYS      X      SYS    PIX   4-7   1\n")
                                .topologies.at(0)
                                .topology;
  EXPECT_EQ(labels(topology), "GPU0 GPU1 NIC0 NIC1");
  EXPECT_EQ(topology.devices[1].numa, "1");
}

TEST(ReadTopology, OlderDriversNameTheNicsThemselves) {
  const Topology topology = read(
                                "\tGPU0\tGPU1\tmlx5_0\tmlx5_2\tCPU Affinity\n"
                                "GPU0\t X \tNV1\tPIX\tSOC\t0-9\n"
                                "GPU1\tNV1\t X \tPIX\tSOC\t0-9\n"
                                "mlx5_0\tPIX\tPIX\t X \tSOC\t\n"
                                "mlx5_2\tSOC\tSOC\tSOC\t X \t\n")
                                .topologies.at(0)
                                .topology;
  EXPECT_EQ(topology.devices[3].name, "mlx5_2");
  EXPECT_EQ(topology.devices[3].index, 2);
  EXPECT_EQ(row(topology, "mlx5_0"), "PIX PIX X SYS");
}

TEST(ReadTopology, NoHeaderColumnsFollowFromDiagonalAndLinks) {
  const Topology topology = read(
                                "GPU0  X   NV18 NV18 PIX SYS  0-3  0  N/A\n"
                                "GPU1 NV18  X   NV18 SYS PIX  0-3  0  N/A\n")
                                .topologies.at(0)
                                .topology;
  EXPECT_EQ(labels(topology), "GPU0 GPU1 GPU2 NIC0 NIC1");
  EXPECT_EQ(row(topology, "GPU1"), "NV18 X NV18 SYS PIX");
}

TEST(ReadTopology, CutRowLosesOnlyWhatCannotBeTrusted) {
  const Evidence evidence = read(
      "     GPU0 GPU1 GPU2 NIC0 CPU Affinity NUMA Affinity\n"
      "GPU0  X   NV12 NV12 PXB  0-31  0\n"
      "GPU1 NV12  X   NV1");
  const Topology& topology = evidence.topologies.at(0).topology;
  EXPECT_EQ(row(topology, "GPU1"), "NV12 X ? ?");
  EXPECT_EQ(row(topology, "GPU2"), "? ? X ?");
  ASSERT_EQ(topology.gaps.size(), 3U);
  EXPECT_EQ(topology.gaps[0], "row GPU1 is cut after 2 of 4 cells");
  EXPECT_EQ(topology.gaps[1], "no row for GPU2");
}

TEST(ReadTopology, CutAffinityIsNotAnAffinity) {
  const Topology topology = read(
                                "     GPU0 GPU1 CPU Affinity NUMA Affinity GPU NUMA ID\n"
                                "GPU0  X   PHB  0-127  0-1  N/A\n"
                                "GPU1 PHB   X   0")
                                .topologies.at(0)
                                .topology;
  EXPECT_EQ(topology.devices[0].numa, "0-1");
  EXPECT_EQ(topology.devices[1].cpus, "");
  EXPECT_EQ(topology.devices[1].numa, "");
}

TEST(ReadTopology, SeveralMatricesKeepTheirNodes) {
  const Evidence evidence = read(
      "user@alpha:~$ nvidia-smi topo -m\n"
      "     GPU0 NIC0 CPU Affinity\n"
      "GPU0  X   PIX  0-3\n"
      "NIC0 PIX   X\n"
      "topology on server 2:\n"
      "     GPU0 NIC0 CPU Affinity\n"
      "GPU0  X   SYS  0-3\n"
      "NIC0 SYS   X\n");
  ASSERT_EQ(evidence.topologies.size(), 2U);
  EXPECT_EQ(evidence.topologies[0].topology.node, "alpha");
  EXPECT_EQ(evidence.topologies[1].topology.node, "server 2");
  EXPECT_EQ(evidence.topologies[1].topology.cell(0, 1).kind, PathKind::kSys);
}

TEST(ReadTopology, PcieOnlyViewIsRemembered) {
  const Topology topology = read(
                                "$ nvidia-smi topo -mp\n"
                                "     GPU0 GPU1\n"
                                "GPU0  X   NODE\n"
                                "GPU1 NODE  X\n")
                                .topologies.at(0)
                                .topology;
  EXPECT_TRUE(topology.pcie_view);
}

TEST(ReadTopology, ProseIsNoMatrix) {
  for (const char* text : {"GPU0 and GPU1 talk over NODE, NIC0 PIX is better\n",
                           "GPU0 NODE\n",
                           "PIX SYS NODE\n",
                           "NIC0 SYS SYS\n",
                           "GPU0 GPU1 GPU2\nno rows follow here\n"}) {
    EXPECT_TRUE(read(text).topologies.empty()) << text;
  }
}

TEST(ReadTopology, RocmTables) {
  const Evidence evidence = read(
      "=========== Weight between two GPUs ===========\n"
      "       GPU0   GPU1\n"
      "GPU0   0      15\n"
      "GPU1   15     0\n"
      "============ Hops between two GPUs ============\n"
      "       GPU0   GPU1\n"
      "GPU0   0      1\n"
      "GPU1   1      0\n"
      "========== Link Type between two GPUs =========\n"
      "       GPU0   GPU1\n"
      "GPU0   0      XGMI\n"
      "GPU1   XGMI   0\n"
      "================== Numa Nodes =================\n"
      "GPU[0]\t\t: (Topology) Numa Node: 0\n"
      "GPU[0]\t\t: (Topology) Numa Affinity: 0\n"
      "GPU[1]\t\t: (Topology) Numa Node: 1\n");
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const Topology& topology = evidence.topologies[0].topology;
  EXPECT_EQ(row(topology, "GPU0"), "X XGMI");
  EXPECT_EQ(topology.cell(0, 1).weight, 15);
  EXPECT_EQ(topology.cell(1, 0).hops, 1);
  EXPECT_EQ(topology.devices[1].numa, "1");
  EXPECT_EQ(evidence.topologies[0].tool, "rocm-smi --showtopo");
}

TEST(ReadTopology, AmdSmiTables) {
  const Evidence evidence = read(
      "WEIGHT TABLE:\n"
      "             0000:0c:00.0 0000:22:00.0\n"
      "0000:0c:00.0 0            15\n"
      "0000:22:00.0 15           0\n"
      "\n"
      "LINK TYPE TABLE:\n"
      "             0000:0c:00.0 0000:22:00.0\n"
      "0000:0c:00.0 SELF         XGMI\n"
      "0000:22:00.0 XGMI         SELF\n"
      "\n"
      "NUMA BW TABLE:\n"
      "             0000:0c:00.0 0000:22:00.0\n"
      "0000:0c:00.0 N/A          50000-100000\n"
      "0000:22:00.0 50000-100000 N/A\n");
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const Topology& topology = evidence.topologies[0].topology;
  EXPECT_EQ(topology.devices[1].bdf, "0000:22:00.0");
  EXPECT_EQ(topology.cell(0, 1).kind, PathKind::kXgmi);
  EXPECT_DOUBLE_EQ(topology.cell(0, 1).gb_per_s, 100.0);
}

TEST(ReadTopology, AmdSmiJson) {
  const Evidence evidence = read(
      "[\n {\"gpu\": 0, \"bdf\": \"0000:0c:00.0\", \"links\": [\n"
      "  {\"gpu\": 0, \"weight\": 0, \"link_type\": \"SELF\"},\n"
      "  {\"gpu\": 1, \"weight\": 15, \"link_type\": \"XGMI\", \"num_hops\": 1}]},\n"
      " {\"gpu\": 1, \"bdf\": \"0000:22:00.0\", \"links\": [\n"
      "  {\"gpu\": 0, \"weight\": 15, \"link_type\": \"XGMI\", \"num_hops\": 1}]}\n]\n");
  ASSERT_EQ(evidence.topologies.size(), 1U);
  EXPECT_EQ(evidence.topologies[0].topology.cell(1, 0).hops, 1);
  EXPECT_TRUE(evidence.unread.empty());
}

TEST(ReadTopology, RocmJson) {
  const Evidence evidence = read(
      R"({"system":{"(Topology) Weight between DRM devices 0 and 1":"15",
                    "(Topology) Hops between DRM devices 0 and 1":"1",
                    "(Topology) Link type between DRM devices 0 and 1":"XGMI",
                    "(Topology) Link type between DRM devices 0 and 999999":"XGMI"},
          "card1":{"(Topology) Numa Node":"1"}})");
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const Topology& topology = evidence.topologies[0].topology;
  EXPECT_EQ(labels(topology), "GPU0 GPU1");
  EXPECT_EQ(topology.cell(1, 0).kind, PathKind::kXgmi);
  EXPECT_EQ(topology.cell(1, 0).weight, 15);
  EXPECT_EQ(topology.devices[1].numa, "1");
}

TEST(ReadTopology, AmdXgmiMetricsAreLinksAndCounters) {
  const Evidence evidence = read(
      "LINK METRIC TABLE:\n"
      "       bdf          bit_rate max_bandwidth link_type GPU0 GPU1 GPU2\n"
      "GPU0   0000:05:00.0 32 Gb/s  512 Gb/s      XGMI\n"
      " Read                                      N/A    1.5 TB   N/A\n"
      " Write                                     N/A    229.1 MB N/A\n"
      "GPU1   0000:15:00.0 32 Gb/s  512 Gb/s      XGMI\n"
      " Read                                      7 KB   N/A      N/A\n"
      " Write                                     8 KB   N/A      N/A\n"
      "GPU2   0000:25:00.0 65535 Gb/s4294967295 Gb/sN/A\n"
      " Read                                      N/A    N/A      N/A\n"
      "the end\n");
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const Topology& topology = evidence.topologies[0].topology;
  EXPECT_EQ(topology.cell(0, 1).kind, PathKind::kXgmi);
  EXPECT_DOUBLE_EQ(topology.cell(0, 1).gb_per_s, 64);
  EXPECT_EQ(topology.cell(0, 2).kind, PathKind::kNoLink);
  EXPECT_EQ(topology.cell(2, 0).kind, PathKind::kUnknown);
  ASSERT_EQ(evidence.counters.size(), 2U);
  ASSERT_NE(evidence.counters[0].find("xgmi_read_gpu1"), nullptr);
  EXPECT_EQ(evidence.counters[0].find("xgmi_read_gpu1")->value, 1'500'000'000'000U);
  EXPECT_EQ(evidence.counters[0].find("xgmi_write_gpu1")->value, 229'100'000U);
  EXPECT_EQ(evidence.counters[1].find("xgmi_write_gpu0")->value, 8000U);
  ASSERT_EQ(evidence.unread.size(), 1U);
}

TEST(ReadTopology, AmdLinkStatesOfAVirtualMachineAreUnknownNotDown) {
  const Evidence evidence = read(
      "XGMI LINK STATUS:\n       bdf           GPU0    GPU1    GPU2\n"
      "GPU0   0000:05:00.0  SELF    N/A     U\nGPU1   0000:15:00.0  N/A     SELF    D\n"
      "GPU2   0000:25:00.0  U       D       SELF\n\n* U:Up D:Down X:Disabled\n");
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const Topology& topology = evidence.topologies[0].topology;
  EXPECT_EQ(topology.cell(0, 1).kind, PathKind::kUnknown);
  EXPECT_EQ(topology.cell(0, 2).kind, PathKind::kXgmi);
  EXPECT_EQ(topology.cell(1, 2).kind, PathKind::kNoLink);
  EXPECT_TRUE(evidence.unread.empty());
}

TEST(ReadTopology, XgmiCountsOnceThoughEveryCardPrintsThem) {
  const Evidence evidence = read(
      "$ cat /sys/class/drm/card*/device/xgmi_num_links\n"
      "00 02 01\n02 00 0a\n01 0a 00\n"
      "00 02 01\n02 00 0a\n01 0a 00\n");
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const Topology& topology = evidence.topologies[0].topology;
  EXPECT_EQ(topology.cell(1, 2).links, 10);
  EXPECT_TRUE(read("00 02\n03 00\n").topologies.empty()) << "not symmetric: a hex dump";
}

TEST(ReadTopology, AnyPrefixOfAMatrixIsReadWithoutHarm) {
  const std::string whole = kTabs;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const Evidence evidence = read(whole.substr(0, length));
    for (const TopologyFact& fact : evidence.topologies) {
      const auto gpu = fact.topology.find("GPU0");
      const auto other = fact.topology.find("GPU1");
      if (gpu && other) {
        // What is stated is what the whole says: a cut never invents a path.
        const auto& path = fact.topology.cell(*gpu, *other);
        EXPECT_TRUE(path.kind == PathKind::kUnknown || path.to_string() == "NV6") << length;
      }
    }
  }
}

}  // namespace
}  // namespace shunt::logs
