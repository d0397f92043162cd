// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules on topologies, counters and link states: each fires on its evidence and stays silent
// without it.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "logs/reader.hpp"
#include "verdict/foreign.hpp"
#include "verdict/foreign/counter_change.hpp"

namespace shunt::verdict {
namespace {

std::vector<Finding> judge(const std::vector<std::string>& files) {
  logs::Evidence evidence;
  for (const std::string& text : files) {
    logs::gather(logs::make_document("file", text), evidence);
  }
  return judge_foreign(evidence);
}

const Finding* find(const std::vector<Finding>& findings, std::string_view id) {
  const auto at = std::find_if(
      findings.begin(), findings.end(), [id](const Finding& finding) { return finding.id == id; });
  return at == findings.end() ? nullptr : &*at;
}

bool fires(const std::string& text, std::string_view id) {
  return find(judge({text}), id);
}

/// A matrix of GPUs all joined by `link`; `replace` (row, column, word) on both sides.
std::string matrix(int gpus,
                   const std::string& link,
                   const std::vector<std::tuple<int, int, std::string>>& replace = {}) {
  std::string text = " ";
  for (int i = 0; i < gpus; ++i) text += " GPU" + std::to_string(i);
  text += " CPU Affinity\n";
  for (int i = 0; i < gpus; ++i) {
    text += "GPU" + std::to_string(i);
    for (int j = 0; j < gpus; ++j) {
      std::string word = i == j ? "X" : link;
      for (const auto& [a, b, other] : replace) {
        if ((a == i && b == j) || (a == j && b == i)) word = other;
      }
      text += " " + word;
    }
    text += " 0-7\n";
  }
  return text;
}

TEST(GpuLinks, FullMeshIsSilent) {
  EXPECT_FALSE(fires(matrix(8, "NV18"), "nvlink-missing"));
  EXPECT_FALSE(fires(matrix(8, "NV18"), "gpu-links-uneven"));
  EXPECT_FALSE(fires(matrix(1, "X"), "nvlink-missing"));
}

TEST(GpuLinks, LoneGpuIsAFault) {
  const auto findings = judge({matrix(4, "NV12", {{0, 3, "SYS"}, {1, 3, "SYS"}, {2, 3, "NODE"}})});
  const Finding* finding = find(findings, "nvlink-missing");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kCritical);
  EXPECT_NE(finding->sentence.find("GPU3"), std::string::npos);
  EXPECT_NE(finding->sentence.find("3 of 6 pairs (50.0 %)"), std::string::npos);
  EXPECT_EQ(findings.front().id, "nvlink-missing");
}

TEST(GpuLinks, BridgedPairsAreByDesign) {
  const auto findings = judge({matrix(4, "SYS", {{0, 1, "NV4"}, {2, 3, "NV4"}})});
  EXPECT_EQ(find(findings, "nvlink-missing"), nullptr);
  const Finding* finding = find(findings, "gpu-links-uneven");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kNotice);
  EXPECT_NE(finding->sentence.find("4 of 6 pairs have no direct NVLink"), std::string::npos);
}

TEST(GpuLinks, OneGpuWithFewerLinksIsAFault) {
  const auto findings =
      judge({matrix(4, "NV18", {{0, 2, "NV16"}, {1, 2, "NV16"}, {3, 2, "NV16"}})});
  const Finding* finding = find(findings, "gpu-links-uneven");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NE(finding->sentence.find("GPU2 has 16 links"), std::string::npos);
}

TEST(GpuLinks, PcieViewProvesNothing) {
  EXPECT_TRUE(fires(matrix(2, "PHB"), "nvlink-missing"));
  EXPECT_FALSE(fires("$ nvidia-smi topo -mp\n" + matrix(2, "PHB"), "nvlink-missing"));
}

constexpr const char* kTrap =
    "      GPU0 GPU1 NIC0 NIC1 NIC2 CPU Affinity NUMA Affinity\n"
    "GPU0   X   NV18 PIX  NODE SYS  0-3 0\n"
    "GPU1  NV18  X   SYS  SYS  PXB  4-7 1\n";

TEST(Nics, IndexTrapAndMap) {
  const auto findings = judge({kTrap});
  ASSERT_NE(find(findings, "nic-index-trap"), nullptr);
  const Finding* map = find(findings, "nic-map");
  ASSERT_NE(map, nullptr);
  EXPECT_NE(map->sentence.find("GPU0–NIC0 (PIX), GPU1–NIC2 (PXB)"), std::string::npos);
  EXPECT_NE(map->action.find("NIC0,NIC2"), std::string::npos);
  EXPECT_EQ(find(findings, "nic-far"), nullptr);
}

TEST(Nics, StraightMapIsNoTrap) {
  const std::string text =
      "      GPU0 GPU1 NIC0 NIC1 CPU Affinity\n"
      "GPU0   X   NV18 PIX  NODE 0-3\n"
      "GPU1  NV18  X   NODE PIX  0-3\n";
  EXPECT_FALSE(fires(text, "nic-index-trap"));
  EXPECT_FALSE(fires(text, "nic-shared"));
  EXPECT_FALSE(fires(text, "numa-order"));
}

TEST(Nics, SharedAndFar) {
  const std::string shared =
      "      GPU0 GPU1 NIC0 CPU Affinity\n"
      "GPU0   X   NV18 PIX  0-3\n"
      "GPU1  NV18  X   PIX  0-3\n";
  const auto findings = judge({shared});
  ASSERT_NE(find(findings, "nic-shared"), nullptr);
  EXPECT_NE(find(findings, "nic-shared")->sentence.find("25 GB/s"), std::string::npos);
  const std::string far =
      "      GPU0 GPU1 NIC0 NIC1 CPU Affinity\n"
      "GPU0   X   NV18 PIX  SYS 0-3\n"
      "GPU1  NV18  X   SYS  SYS 0-3\n";
  const auto distant = judge({far});
  ASSERT_NE(find(distant, "nic-far"), nullptr);
  EXPECT_NE(find(distant, "nic-far")->sentence.find("1 of 2 GPUs"), std::string::npos);
}

TEST(Nics, CoherentCpuIsNoFarNic) {
  EXPECT_FALSE(
      fires("      GPU0 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID\n"
            "GPU0   X   NODE 0-71 0 2\n",
            "nic-far"));
}

TEST(Nics, NumaOrder) {
  EXPECT_TRUE(
      fires("      GPU0 GPU1 GPU2 CPU Affinity NUMA Affinity\n"
            "GPU0   X   NV4 NV4 0-3 1\nGPU1 NV4 X NV4 4-7 0\nGPU2 NV4 NV4 X 0-3 1\n",
            "numa-order"));
}

TEST(CounterChange, WrapsAndResets) {
  using foreign::grown_by;
  EXPECT_EQ(grown_by(5, 9, 64), 4U);
  EXPECT_EQ(grown_by(4294967290U, 4, 32), 10U);
  EXPECT_FALSE(grown_by(9, 5, 32)) << "cleared, not wrapped";
  EXPECT_FALSE(grown_by(9, 5, 64));
}

TEST(Counters, CongestionOnlyWhereCountersGrew) {
  const std::string calm =
      "np_ecn_marked_roce_packets: 500\nnp_cnp_sent: 70\n"
      "np_ecn_marked_roce_packets: 500\nnp_cnp_sent: 70\n";
  EXPECT_FALSE(fires(calm, "congestion"));
  const std::string busy =
      "np_ecn_marked_roce_packets: 500\nnp_cnp_sent: 70\n"
      "np_ecn_marked_roce_packets: 900\nnp_cnp_sent: 90\n";
  const auto findings = judge({busy});
  ASSERT_NE(find(findings, "congestion"), nullptr);
  EXPECT_NE(find(findings, "congestion")->sentence.find("400 packets"), std::string::npos);
  EXPECT_EQ(find(findings, "congestion")->severity, Severity::kNotice);
}

TEST(Counters, TwoFilesAreOnePair) {
  const auto findings = judge({"out_of_sequence: 5\nduplicate_request: 1\n",
                               "out_of_sequence: 25\nduplicate_request: 1\n"});
  ASSERT_NE(find(findings, "congestion"), nullptr);
  EXPECT_NE(find(findings, "congestion")->sentence.find("20 out-of-sequence"), std::string::npos);
  EXPECT_EQ(find(findings, "congestion")->severity, Severity::kWarning);
}

TEST(Counters, SnapshotAloneIsInconclusive) {
  const auto findings = judge({"np_cnp_sent: 70\nport_xmit_data: 1000\n"});
  EXPECT_NE(find(findings, "counters-inconclusive"), nullptr);
  EXPECT_EQ(find(findings, "congestion"), nullptr);
  EXPECT_EQ(find(findings, "counter-rate"), nullptr);
}

TEST(Counters, RateCountsWordsAndNeedsTime) {
  const auto findings =
      judge({"port_xmit_data: 0\nport_rcv_data: 0\nsleep 2\nport_xmit_data: 25000000000\n"
             "port_rcv_data: 0\n"});
  const Finding* rate = find(findings, "counter-rate");
  ASSERT_NE(rate, nullptr);
  EXPECT_NE(rate->sentence.find("50.00 GB/s out"), std::string::npos) << rate->sentence;
  EXPECT_FALSE(fires("port_xmit_data: 1\nport_xmit_data: 9\n", "counter-rate"));
}

TEST(Counters, ResetIsSaid) {
  const auto findings =
      judge({"port_xmit_data: 900\nport_rcv_data: 800\nport_xmit_packets: 7\n"
             "port_xmit_data: 5\nport_rcv_data: 3\nport_xmit_packets: 1\n"});
  ASSERT_NE(find(findings, "counters-inconclusive"), nullptr);
  EXPECT_NE(find(findings, "counters-inconclusive")->sentence.find("cleared"), std::string::npos);
}

TEST(Counters, TrafficClassNeedsOtherPrioritiesToBeShown) {
  const std::string zero =
      "rx_prio0_bytes: 0\ntx_prio0_bytes: 0\nrx_prio3_bytes: 0\ntx_prio3_bytes: 0\n";
  EXPECT_TRUE(fires(zero + "rx_prio0_bytes: 99000000\ntx_prio0_bytes: 99000000\n"
                           "rx_prio3_bytes: 0\ntx_prio3_bytes: 0\n",
                    "traffic-class"));
  EXPECT_FALSE(fires(zero + "rx_prio0_bytes: 9000\ntx_prio0_bytes: 9000\n"
                            "rx_prio3_bytes: 99000000\ntx_prio3_bytes: 99000000\n",
                     "traffic-class"));
}

TEST(Counters, LinkErrorsAreNotCongestion) {
  const auto findings =
      judge({"symbol_error: 1\nlink_downed: 0\nsymbol_error: 40\nlink_downed: 1\n"});
  ASSERT_NE(find(findings, "link-errors"), nullptr);
  EXPECT_EQ(find(findings, "congestion"), nullptr);
  EXPECT_FALSE(
      fires("rx_corrected_bits_phy: 1\nrx_bytes_phy: 1\nrx_corrected_bits_phy: 900\n"
            "rx_bytes_phy: 9\n",
            "link-errors"));
}

TEST(Ports, DowngradedOnlyWhereMoreIsPossible) {
  const std::string line =
      "   3  1[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  1  1[  ] \"a HCA-1\" ";
  EXPECT_FALSE(fires(line + "( )\n", "link-downgraded"));
  EXPECT_TRUE(fires(line + "( Could be 53.125 Gbps)\n", "link-downgraded"));
  EXPECT_TRUE(fires(line + "( )\n", "link-state"));
}

TEST(Ports, BondHasTwoReadings) {
  const std::string bond = "CA 'mlx5_bond_1'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n";
  const auto findings = judge({bond});
  ASSERT_NE(find(findings, "rating-ambiguous"), nullptr);
  EXPECT_NE(find(findings, "rating-ambiguous")->sentence.find("25 GB/s, or 50 GB/s"),
            std::string::npos);
  EXPECT_FALSE(
      fires("CA 'mlx5_1'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n", "rating-ambiguous"));
}

TEST(Ports, InactiveNvlinksDependOnTheModel) {
  const std::string links = "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n";
  const auto severity = [&](const std::string& model) {
    const auto findings = judge({"GPU 0: " + model + " (UUID: GPU-1)\n" + links});
    const Finding* finding = find(findings, "nvlink-missing");
    return finding == nullptr ? Severity::kInfo : finding->severity;
  };
  EXPECT_EQ(severity("NVIDIA H100 PCIe"), Severity::kInfo);
  EXPECT_EQ(severity("NVIDIA H100 80GB HBM3"), Severity::kCritical);
  EXPECT_EQ(severity("Some GPU"), Severity::kNotice);
}

TEST(NicLists, NamesAPortThatIsDownOrAbsent) {
  const std::string ports = "mlx5_0 port 1 ==> eth0 (Up)\nmlx5_1 port 1 ==> eth1 (Down)\n";
  EXPECT_TRUE(fires(ports + "NCCL_IB_HCA=mlx5_0,mlx5_1\n", "nic-list-mismatch"));
  EXPECT_TRUE(fires(ports + "NCCL_IB_HCA=mlx5_0,mlx5_7\n", "nic-list-mismatch"));
  EXPECT_FALSE(fires(ports + "NCCL_IB_HCA=mlx5_0\n", "nic-list-mismatch"));
  EXPECT_FALSE(fires("NCCL_IB_HCA=mlx5_0,mlx5_7\n", "nic-list-mismatch"));
}

/// A Kineto trace of one rank with all-to-all kernels (begin, end in µs).
std::string kineto(int rank, const std::vector<std::pair<int, int>>& kernels) {
  std::string text = R"({"distributedInfo":{"rank":)" + std::to_string(rank) +
                     R"(,"world_size":4},"traceEvents":[)";
  for (const auto& [begin, end] : kernels) {
    text += R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","ts":)" +
            std::to_string(begin) + R"(,"dur":)" + std::to_string(end - begin) + "},";
  }
  return text + "]}";
}

TEST(Traces, SkewIsReadFromEndsThatAgree) {
  const auto findings = judge({kineto(0, {{1000, 9000}, {20000, 26000}}),
                               kineto(1, {{5000, 9010}, {22000, 26100}, {50000, 51000}})});
  const Finding* skew = find(findings, "skew");
  ASSERT_NE(skew, nullptr);
  EXPECT_NE(skew->sentence.find("rank 1 enters later in all, by up to 4000 µs"), std::string::npos)
      << skew->sentence;
  EXPECT_NE(skew->sentence.find("50.0 %"), std::string::npos);
  EXPECT_NE(skew->sentence.find("1 of 3 kernels"), std::string::npos);
  EXPECT_NE(skew->sentence.find("other 2 ranks"), std::string::npos);
}

TEST(Traces, NoSkewBetweenRunsThatDoNotAlign) {
  EXPECT_EQ(find(judge({kineto(0, {{1000, 9000}, {20000, 26000}}),
                        kineto(1, {{100000, 108000}, {200000, 206000}})}),
                 "skew"),
            nullptr);
  EXPECT_EQ(find(judge({kineto(0, {{1000, 9000}}), kineto(0, {{3000, 9000}})}), "skew"), nullptr)
      << "one rank twice";
}

std::string mori(double send_us, double recv_us, double sync_us) {
  std::string text = R"({"traceEvents":[)";
  const auto span = [&text](const char* name, double begin, double end) {
    for (const auto& [phase, ts] : {std::pair{'B', begin}, std::pair{'E', end}}) {
      text += std::string(R"({"name":")") + name + R"(","cat":"gpu_kernel","ph":")" + phase +
              R"(","tid":1,"ts":)" + std::to_string(ts) + "},";
    }
  };
  for (double base : {0.0, 10000.0}) {
    span("ep_dispatch_copy_to_staging", base, base + 5);
    span("dispatch_inter_node_send", base + 5, base + 5 + send_us);
    span("dispatch_inter_node_recv", base + 100, base + 100 + recv_us);
    span("dispatch_sync", base + 1000, base + 1000 + sync_us);
    span("ep_combine_all", base + 1000 + sync_us, base + 1010 + sync_us);
  }
  return text + "]}";
}

TEST(Traces, SpansAloneDecideBetweenBarrierAndReceiver) {
  EXPECT_TRUE(fires(mori(20, 300, 5), "receiver-waits"));
  EXPECT_FALSE(fires(mori(200, 300, 5), "receiver-waits"));
  EXPECT_TRUE(fires(mori(20, 300, 2000), "barrier-bound"));
  EXPECT_FALSE(fires(mori(20, 300, 5), "barrier-bound"));
}

TEST(Traces, CutFileIsSaid) {
  const std::string whole = kineto(0, {{1000, 9000}, {20000, 26000}});
  EXPECT_FALSE(fires(whole, "trace-cut"));
  EXPECT_TRUE(fires(whole.substr(0, whole.size() - 20), "trace-cut"));
}

/// Found by a fuzzer: 400 000 000 nodes of 8 ranks are more ranks than an int holds.
TEST(KernelTimeouts, AFigureThatNoClusterHasIsLeftOut) {
  const auto line = [](const std::string& node, const std::string& source) {
    return "DeepEP dispatch forwarder timeout (RDMA meta), channel: 2, RDMA: " + node +
           ", nvl: 2, src RDMA lane: " + source + ", dst NVL: 1, meta: 0, 0, 0, 0\n";
  };
  const auto findings = judge({line("2", "400000000") + line("2", "1")});
  const Finding* finding = find(findings, "timeout");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->sentence.find("10"), std::string::npos) << finding->sentence;
  EXPECT_EQ(finding->sentence.find("-"), std::string::npos) << finding->sentence;
  // With nothing but such lines there is nobody to name; it must not be a made-up rank.
  for (const Finding& only : judge({line("400000000", "400000000")})) {
    EXPECT_EQ(only.sentence.find('-'), std::string::npos) << only.sentence;
  }
}

}  // namespace
}  // namespace shunt::verdict
