// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which priority the traffic of a port rides in, and what size its packets have.
#include <map>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/counter_rules.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Signal;
using logs::SignalClass;

struct Priorities {
  std::map<int, double> bytes;
  double rx_bytes = 0;
  double tx_bytes = 0;
  double rx_packets = 0;
  double tx_packets = 0;
};

Priorities priorities_of(const DeviceChange& change) {
  Priorities found;
  for (const CounterDelta& delta : change.counters) {
    const Signal signal = delta.signal();
    if (signal < Signal::kPriorityTxBytes || signal > Signal::kPriorityRxPackets ||
        (change.paired() && !delta.grown)) {
      continue;
    }
    const double amount = delta.amount(change.paired());
    if (signal == Signal::kPriorityTxBytes || signal == Signal::kPriorityRxBytes) {
      found.bytes[logs::number_in(delta.name).value_or(0)] += amount;
    }
    (signal == Signal::kPriorityTxBytes     ? found.tx_bytes
     : signal == Signal::kPriorityRxBytes   ? found.rx_bytes
     : signal == Signal::kPriorityTxPackets ? found.tx_packets
                                            : found.rx_packets) += amount;
  }
  return found;
}

/// The RoCE MTU that an average packet size points to, 0 if none.
int mtu_of(double bytes_per_packet) {
  for (const int mtu : {512, 1024, 2048, 4096}) {
    if (bytes_per_packet > mtu + 20 && bytes_per_packet < mtu + 100) return mtu;
  }
  return 0;
}

}  // namespace

void judge_priorities(const DeviceChange& change, Findings& findings) {
  const Priorities p = priorities_of(change);
  double total = 0;
  for (const auto& [priority, bytes] : p.bytes) total += bytes;
  const auto zero = p.bytes.find(0);
  if (p.bytes.size() < 2 || zero == p.bytes.end() || total < 1e7 || zero->second < 0.99 * total) {
    return;
  }
  Finding finding = Build("traffic-class",
                          Severity::kWarning,
                          change.paired() ? Confidence::kHigh : Confidence::kMedium,
                          change.name());
  finding.sentence = fmt::format(
      "All traffic is in priority 0: {} {} of received and {} of sent bytes, nothing in the {} "
      "other "
      "priorities shown. If PFC is on for another priority (often 3), RoCE runs lossy.",
      change.paired() ? "between the snapshots" : "since the counters started",
      count(p.rx_bytes),
      count(p.tx_bytes),
      p.bytes.size() - 1);
  finding.evidence.push_back({"rx bytes, all priorities", count(p.rx_bytes), change.name()});
  finding.evidence.push_back({"tx bytes, all priorities", count(p.tx_bytes), change.name()});
  if (p.rx_packets > 0) {
    const double size = p.rx_bytes / p.rx_packets;
    finding.evidence.push_back({"rx packets", count(p.rx_packets), change.name()});
    finding.evidence.push_back({"tx packets", count(p.tx_packets), change.name()});
    finding.evidence.push_back({"bytes per packet", fmt::format("{:.1f}", size), change.name()});
    if (const int mtu = mtu_of(size); mtu != 0 && mtu < 4096) {
      finding.sentence += fmt::format(
          " {:.1f} bytes a packet means RoCE MTU {}, which costs about {:.0f} % in headers; 4096 "
          "costs 1.5.",
          size,
          mtu,
          100.0 * (size - mtu) / size);
    }
    finding.derivation =
        fmt::format("{} B / {} packets = {:.1f} B", count(p.rx_bytes), count(p.rx_packets), size);
  }
  finding.action =
      "Set the traffic class (RoCE ToS or DSCP; NVSHMEM_IB_TRAFFIC_CLASS, NCCL_IB_TC, "
      "UCX_IB_TRAFFIC_CLASS) to the lossless priority of the fabric.";
  finding.confirm = "the same counters during a run with the class set; pause and discard counters";
  findings.push_back(std::move(finding));
}

}  // namespace shunt::verdict::foreign
