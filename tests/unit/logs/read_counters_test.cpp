// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "logs/counters/signals.hpp"
#include "logs/reader.hpp"

namespace shunt::logs {
namespace {

Evidence read(std::string_view text) {
  Evidence evidence;
  gather(make_document("pasted", text), evidence);
  return evidence;
}

std::uint64_t value(const CounterFact& fact, std::string_view name) {
  const CounterValue* found = fact.find(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? 0 : found->value;
}

TEST(Signals, EveryNameOnceAndFoundAgain) {
  std::set<std::string_view> names;
  for (const SignalRow& row : signal_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    if (row.name.find('#') == std::string_view::npos) {
      EXPECT_EQ(find_signal(row.name), &row) << row.name;
    }
    EXPECT_TRUE(row.width == 32 || row.width == 64) << row.name;
  }
  EXPECT_EQ(find_signal("rx_prio5_pause")->signal, Signal::kPauseReceived);
  EXPECT_EQ(number_in("rx_prio5_pause"), 5);
  EXPECT_EQ(find_signal("vport_out_of_sequence")->signal, Signal::kOutOfSequence);
  EXPECT_EQ(find_signal("rx_prio_pause"), nullptr);
  EXPECT_EQ(find_signal("PortXmitData")->unit, 4);
}

TEST(ReadCounters, PerfqueryWithDots) {
  const Evidence evidence = read(
      "# Port extended counters: Lid 7 port 1 (CapMask: 0x5300)\n"
      "PortSelect:......................1\n"
      "CounterSelect:...................0x0000\n"
      "PortXmitData:....................123456\n"
      "PortXmitWait:....................9\n");
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].tool, "perfquery");
  EXPECT_EQ(evidence.counters[0].device, "lid 7 port 1");
  EXPECT_EQ(value(evidence.counters[0], "PortXmitData"), 123456U);
  EXPECT_TRUE(evidence.unread.empty());
}

TEST(ReadCounters, EthtoolBeforeAndAfter) {
  const Evidence evidence = read(
      "Before:\n$ ethtool -S ens3f0 | grep prio\n"
      "     rx_prio3_bytes: 100\n     rx_prio3_pause: 7\n     unknown_thing: 3\n"
      "After:\n"
      "     rx_prio3_bytes: 1,100\n     rx_prio3_pause: 9\n     unknown_thing: 3\n");
  ASSERT_EQ(evidence.counters.size(), 2U);
  EXPECT_EQ(evidence.counters[0].label, "before");
  EXPECT_EQ(evidence.counters[1].label, "after");
  EXPECT_EQ(evidence.counters[1].device, "ens3f0");
  EXPECT_EQ(value(evidence.counters[1], "rx_prio3_bytes"), 1100U);
  EXPECT_EQ(value(evidence.counters[1], "unknown_thing"), 3U);
}

TEST(ReadCounters, RepeatedNameStartsTheNextSnapshot) {
  const Evidence evidence = read(
      "NIC statistics:\n rx_out_of_buffer: 1\n rx_discards_phy: 2\n"
      " rx_out_of_buffer: 5\n rx_discards_phy: 2\n");
  ASSERT_EQ(evidence.counters.size(), 2U);
  EXPECT_EQ(value(evidence.counters[0], "rx_out_of_buffer"), 1U);
  EXPECT_EQ(value(evidence.counters[1], "rx_out_of_buffer"), 5U);
}

TEST(ReadCounters, SysfsPathsKeepTheirPorts) {
  const Evidence evidence = read(
      "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:40\n"
      "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:2\n"
      "/sys/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data:80\n"
      "==> /sys/class/infiniband/mlx5_2/ports/1/counters/port_rcv_data <==\n"
      "120\n");
  ASSERT_EQ(evidence.counters.size(), 3U);
  EXPECT_EQ(evidence.counters[0].device, "mlx5_0/1");
  EXPECT_EQ(evidence.counters[0].values.size(), 2U);
  EXPECT_EQ(evidence.counters[2].device, "mlx5_2/1");
  EXPECT_EQ(value(evidence.counters[2], "port_rcv_data"), 120U);
}

TEST(ReadCounters, RdmaStatisticTextAndJson) {
  const Evidence text = read("link mlx5_4/1 rx_write_requests 5 out_of_sequence 3\n");
  ASSERT_EQ(text.counters.size(), 1U);
  EXPECT_EQ(text.counters[0].device, "mlx5_4/1");
  EXPECT_EQ(value(text.counters[0], "out_of_sequence"), 3U);
  const Evidence json = read(
      "[{\"ifindex\":0,\"ifname\":\"mlx5_4\",\"port\":1,\"out_of_sequence\":3},\n"
      "{\"ifname\":\"mlx5_5\",\"port\":1,\"out_of_sequence\":4}]\n");
  ASSERT_EQ(json.counters.size(), 2U);
  EXPECT_EQ(json.counters[1].device, "mlx5_5/1");
  EXPECT_EQ(json.counters[1].values.size(), 1U);
}

TEST(ReadCounters, BracketsNvlinkAndRates) {
  const Evidence sum = read(
      " GUID 0x00aa port ALL: [LinkDownedCounter == 3 (3.000)] [PortXmitWait == 2048 (2.000K)]\n");
  ASSERT_EQ(sum.counters.size(), 1U);
  EXPECT_TRUE(sum.counters[0].aggregated);
  EXPECT_EQ(value(sum.counters[0], "PortXmitWait"), 2048U);
  const Evidence nvlink = read(
      "GPU 0: Some Model (UUID: GPU-1)\n\t Link 0: Data Tx: 1024 KiB\n\t Link 0: Data Rx: 7 KiB\n");
  ASSERT_EQ(nvlink.counters.size(), 1U);
  EXPECT_EQ(nvlink.counters[0].device, "GPU 0 link 0");
  const Evidence rates = read("   tx_prio3_bytes: 22,000,000,000 Bps  = 176,000 Mbps\n");
  ASSERT_EQ(rates.counters.size(), 1U);
  EXPECT_TRUE(rates.counters[0].rates);
}

TEST(ReadCounters, TwoColumnsAreTwoSnapshots) {
  const Evidence evidence = read("port_xmit_data 100 350 250\nport_xmit_wait 1 2 1\n");
  ASSERT_EQ(evidence.counters.size(), 2U);
  EXPECT_EQ(value(evidence.counters[0], "port_xmit_data"), 100U);
  EXPECT_EQ(value(evidence.counters[1], "port_xmit_data"), 350U);
  EXPECT_EQ(evidence.counters[1].label, "after");
}

TEST(ReadCounters, SleepBetweenSnapshotsIsTheirDistance) {
  const Evidence evidence = read("port_xmit_data: 100\nsleep 10\nport_xmit_data: 350\n");
  ASSERT_EQ(evidence.counters.size(), 2U);
  EXPECT_DOUBLE_EQ(*evidence.counters[1].seconds - *evidence.counters[0].seconds, 10.0);
}

TEST(ReadCounters, OrdinaryTextIsNoCounter) {
  for (const char* text : {"num_tokens: 4096\nhidden: 7168\n",
                           "epoch 3\nstep 17\n",
                           "00:00:00:00:00:00:00:00:00:00:255:255:00:00:00:01\n",
                           "local_rank 3\n"}) {
    EXPECT_TRUE(read(text).counters.empty()) << text;
  }
}

TEST(ReadCounters, LastNumberOfACutFileIsNotTrusted) {
  const Evidence evidence = read("port_xmit_data: 100\nport_rcv_data: 12");
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].find("port_rcv_data"), nullptr);
  EXPECT_EQ(evidence.truncated.size(), 1U);
}

}  // namespace
}  // namespace shunt::logs
