// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Counters in reading order: congestion marks, pauses, loss, receivers, link health, priorities.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/counter_change.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Signal;
using logs::SignalClass;

double of(const DeviceChange& change, Signal signal) {
  return change.sum(signal).value_or(0);
}

std::string count(double value) {
  return fmt::format("{:.0f}", value);
}

std::string source_of(const Situation& s, const DeviceChange& change, const CounterDelta& delta) {
  logs::Source source = change.last->source;
  source.line = delta.line;
  return place(s, source);
}

/// Evidence lines for every counter of `group` that moved (or is not zero, with one snapshot).
void add_evidence(const Situation& s,
                  const DeviceChange& change,
                  SignalClass group,
                  Finding& finding) {
  for (const CounterDelta& delta : change.counters) {
    if (delta.row == nullptr || logs::class_of(delta.signal()) != group) continue;
    const std::uint64_t moved = change.paired() ? delta.grown.value_or(0) : delta.value;
    if (moved == 0) continue;
    finding.evidence.push_back(
        {delta.name,
         fmt::format(
             "{}{}{}", change.paired() ? "+" : "", moved, delta.wrapped ? " (wrapped)" : ""),
         source_of(s, change, delta)});
  }
}

/// Sentences on a pair of snapshots in the order in which congestion is read; empty if all is calm.
std::vector<std::string> congestion_signs(const DeviceChange& c) {
  std::vector<std::string> signs;
  const double marked = of(c, Signal::kEcnMarked);
  const double sent = of(c, Signal::kCnpSent);
  const double handled = of(c, Signal::kCnpHandled);
  if (marked > 0 || sent > 0) {
    signs.push_back(fmt::format(
        "{} packets arrived with the congestion mark and {} notifications went out: the path to "
        "this receiver is congested",
        count(marked),
        count(sent)));
  }
  if (handled > 0) {
    signs.push_back(fmt::format("{} notifications slowed this sender down", count(handled)));
  }
  if (const double ignored = of(c, Signal::kCnpIgnored); ignored > 0) {
    signs.push_back(fmt::format(
        "{} notifications were ignored: the reaction point is off, or not for that priority",
        count(ignored)));
  }
  const double stopped = of(c, Signal::kPauseReceived);
  const double stopped_us = of(c, Signal::kPauseReceivedUs);
  if (stopped > 0 || stopped_us > 0) {
    std::string sign =
        fmt::format("the network told this host to stop ({} pause frames", count(stopped));
    if (stopped_us > 0) sign += fmt::format(", {:.4g} ms not sending", stopped_us / 1000);
    if (stopped_us > 0 && c.seconds) {
      sign += fmt::format(", {} of the time", percent(stopped_us / 1e6 / *c.seconds));
    }
    signs.push_back(sign + ")");
  }
  if (const double pushed = of(c, Signal::kPauseSent); pushed > 0) {
    signs.push_back(
        fmt::format("this host told the network to stop ({} pause frames): its PCIe, NUMA or "
                    "memory path drains "
                    "too slowly",
                    count(pushed)));
  }
  if (of(c, Signal::kPauseStorm) > 0) signs.emplace_back("a pause storm was detected");
  if (const double lost = of(c, Signal::kOutOfSequence) + of(c, Signal::kSequenceError); lost > 0) {
    signs.push_back(fmt::format(
        "{} out-of-sequence events: packets were lost, or reordered by adaptive routing",
        count(lost)));
  }
  if (const double resent = of(c, Signal::kRetransmit); resent > 0) {
    signs.push_back(fmt::format("{} retransmissions", count(resent)));
  }
  if (const double timeouts = of(c, Signal::kAckTimeout); timeouts > 0) {
    signs.push_back(fmt::format(
        "{} ACK time-outs: each stalls its queue pair for the time-out; ACKs lost or peer gone",
        count(timeouts)));
  }
  if (const double dropped = of(c, Signal::kDiscard); dropped > 0) {
    signs.push_back(fmt::format("{} packets discarded", count(dropped)));
  }
  if (const double rnr = of(c, Signal::kRnr) + of(c, Signal::kOutOfBuffer); rnr > 0) {
    signs.push_back(
        fmt::format("{} times a receiver had no buffer posted: not the fabric", count(rnr)));
  }
  return signs;
}

void judge_congestion(const Situation& s, const DeviceChange& change, Findings& findings) {
  const std::vector<std::string> signs = congestion_signs(change);
  if (!change.paired() || signs.empty()) return;
  const bool loss = of(change, Signal::kAckTimeout) + of(change, Signal::kSequenceError) +
                        of(change, Signal::kOutOfSequence) + of(change, Signal::kDiscard) +
                        of(change, Signal::kRetriesExceeded) >
                    0;
  const double packets = of(change, Signal::kTxPackets) + of(change, Signal::kRxPackets);
  Finding finding = Build("congestion",
                          loss ? Severity::kWarning : Severity::kNotice,
                          Confidence::kMedium,
                          change.name());
  finding.sentence = fmt::format("{}.", fmt::join(signs, "; "));
  if (finding.sentence[0] >= 'a' && finding.sentence[0] <= 'z') {
    finding.sentence[0] = static_cast<char>(finding.sentence[0] - 'a' + 'A');
  }
  for (const SignalClass group : {SignalClass::kCongestion,
                                  SignalClass::kPressure,
                                  SignalClass::kLoss,
                                  SignalClass::kReceiver}) {
    add_evidence(s, change, group, finding);
  }
  if (packets > 0) {
    finding.evidence.push_back({"packets in the same time", count(packets), change.name()});
  }
  finding.action =
      "RoCE: set the traffic class, check that PFC and ECN are configured for that priority on "
      "every "
      "hop, use adaptive routing or more paths. InfiniBand: look at the incast pattern first.";
  finding.confirm =
      "the same counters of the peers in the same window: marks at receivers, handled "
      "notifications at senders";
  findings.push_back(std::move(finding));
}

/// Marks at receivers without any sender that reacts.
void judge_lost_notifications(const std::vector<DeviceChange>& changes, Findings& findings) {
  double sent = 0;
  double handled = 0;
  std::size_t watching = 0;
  for (const DeviceChange& change : changes) {
    if (!change.paired()) continue;
    sent += of(change, Signal::kCnpSent);
    handled += of(change, Signal::kCnpHandled);
    watching += change.sum(Signal::kCnpHandled) ? 1 : 0;
  }
  if (sent < 100 || handled > 0 || watching < 2) return;
  findings.push_back(
      Build("congestion", Severity::kWarning, Confidence::kMedium, "notifications")
          .say(fmt::format(
              "{} congestion notifications were sent and none was handled by any of the "
              "{} ports shown: they are lost or mis-prioritised.",
              count(sent),
              watching))
          .act("Give CNPs their own strict priority and DSCP on hosts and switches.")
          .confirm("rp_cnp_handled at the senders of this traffic"));
}

void judge_link_errors(const Situation& s, const DeviceChange& change, Findings& findings) {
  double errors = 0;
  for (const CounterDelta& delta : change.counters) {
    if (logs::class_of(delta.signal()) == SignalClass::kLinkHealth) {
      errors += delta.amount(change.paired());
    }
  }
  if (errors <= 0) return;
  const double downs = of(change, Signal::kLinkDowned);
  const double discards = of(change, Signal::kDiscard);
  Finding finding = Build("link-errors",
                          Severity::kWarning,
                          change.paired() ? Confidence::kHigh : Confidence::kMedium,
                          change.name());
  finding.sentence = fmt::format(
      "Link-level errors {}{}: a cable, a transceiver or a slot, not congestion.",
      change.paired() ? "grew between the snapshots" : "since the counters were last cleared",
      downs > 0 ? fmt::format(" (the link went down {} times)", count(downs)) : std::string());
  if (discards > 0) {
    finding.sentence += fmt::format(
        " {} packets were discarded on top: on a lossless fabric that makes time-outs plausible.",
        count(discards));
  }
  if (change.last->aggregated) {
    finding.sentence += " The figures are sums over all ports: no single link can be named.";
  }
  add_evidence(s, change, SignalClass::kLinkHealth, finding);
  add_evidence(s, change, SignalClass::kLoss, finding);
  finding.action =
      change.last->aggregated
          ? "Read the counters port by port (ibqueryerrors without summing), then check "
            "the cable of the port that counts."
          : "Reseat or swap the cable or transceiver, clear the counters, watch again.";
  finding.confirm = "a second snapshot under load: still growing or old history";
  findings.push_back(std::move(finding));
}

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

std::string highlights(const DeviceChange& change) {
  std::vector<std::string> parts;
  double acks = 0;
  for (const CounterDelta& delta : change.counters) {
    if (delta.name == "RcAcks") acks = static_cast<double>(delta.value);
  }
  for (const CounterDelta& delta : change.counters) {
    const SignalClass group = logs::class_of(delta.signal());
    if (delta.row == nullptr || delta.value == 0 || group == SignalClass::kTraffic ||
        group == SignalClass::kInfo) {
      continue;
    }
    std::string part = fmt::format("{} {}", delta.name, delta.value);
    if (delta.signal() == Signal::kRetransmit && acks > 0) {
      part += fmt::format(" ({:.4f} % of RcAcks)", 100.0 * static_cast<double>(delta.value) / acks);
    }
    parts.push_back(part);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool all_zero(const DeviceChange& change) {
  return std::all_of(change.counters.begin(), change.counters.end(), [](const CounterDelta& delta) {
    return delta.value == 0 || delta.row == nullptr || delta.signal() == Signal::kInfo;
  });
}

bool has_traffic_counter(const DeviceChange& change) {
  return std::any_of(change.counters.begin(), change.counters.end(), [](const auto& delta) {
    return logs::class_of(delta.signal()) == SignalClass::kTraffic && delta.row != nullptr;
  });
}

void judge_single(const Situation& s, const DeviceChange& change, Findings& findings) {
  if (change.first != change.last || change.last->rates) return;
  Finding finding =
      Build("counters-inconclusive", Severity::kNotice, Confidence::kHigh, change.name());
  const std::string noted = highlights(change);
  if (all_zero(change) && has_traffic_counter(change)) {
    finding.sentence =
        "All counters are zero: the port is idle, was just reset, or is not the one in use. One "
        "snapshot gives no rate, and error counters of 0 prove nothing without traffic.";
  } else {
    finding.sentence = "One snapshot: no rate and no verdict follow from it, only history.";
    if (!noted.empty()) finding.sentence += fmt::format(" Not zero: {}.", noted);
  }
  if (of(change, Signal::kXmitWait) > 0) {
    finding.sentence +=
        " xmit_wait counts ticks of the device without credit: a share needs the time between two "
        "snapshots.";
  }
  std::vector<std::string> strangers;
  for (const CounterDelta& delta : change.counters) {
    if (delta.row == nullptr) strangers.push_back(delta.name);
  }
  if (!strangers.empty()) {
    finding.evidence.push_back({"names not in the table",
                                fmt::format("{}", fmt::join(strangers, ", ")),
                                place(s, change.last->source)});
  }
  finding.evidence.push_back(
      {"counters", fmt::format("{}", change.counters.size()), place(s, change.last->source)});
  finding.action =
      "Take two snapshots around the run, with the time of each, of the port that carries it.";
  finding.confirm = "the same counters before and after, and --interval";
  findings.push_back(std::move(finding));
}

/// Bytes between two snapshots: a rate where the time is known, and its absence where it is not.
void judge_traffic(const Situation& s, const DeviceChange& change, Findings& findings) {
  if (!change.paired() && !change.last->rates) return;
  double tx = of(change, Signal::kTxBytes);
  double rx = of(change, Signal::kRxBytes);
  if (tx + rx == 0) {
    tx = of(change, Signal::kPriorityTxBytes);
    rx = of(change, Signal::kPriorityRxBytes);
  }
  if (change.last->rates) {
    if (tx + rx == 0) return;
    findings.push_back(
        Build("counter-rate", Severity::kInfo, Confidence::kHigh, change.name())
            .say(fmt::format(
                "The counters moved at {} out and {} in.", gbs(tx / 1e9), gbs(rx / 1e9)))
            .fact("line", change.last->source.text, place(s, change.last->source)));
    return;
  }
  std::optional<double> seconds = change.seconds;
  if (!seconds) seconds = s.evidence.number("interval");
  if (tx + rx == 0) {
    if (!has_traffic_counter(change)) return;
    findings.push_back(
        Build("counters-inconclusive", Severity::kNotice, Confidence::kHigh, change.name())
            .say("No byte moved between the snapshots: the port was idle or is not the one in use.")
            .act("Read the port that the run used.")
            .confirm("the NIC that each rank prints at start"));
    return;
  }
  Finding finding = Build(seconds ? "counter-rate" : "counters-inconclusive",
                          Severity::kInfo,
                          Confidence::kHigh,
                          change.name());
  if (seconds) {
    finding.sentence = fmt::format("{} out and {} in, mean over {:.4g} s, idle time included.",
                                   gbs(tx / 1e9 / *seconds),
                                   gbs(rx / 1e9 / *seconds),
                                   *seconds);
    finding.derivation =
        fmt::format("{:.0f} B / {:.4g} s and {:.0f} B / {:.4g} s", tx, *seconds, rx, *seconds);
  } else {
    finding.sentence = fmt::format(
        "{:.0f} bytes out and {:.0f} in between the snapshots; the time between them is missing, "
        "so "
        "no rate follows.",
        tx,
        rx);
    finding.action = "Give the time: --interval, or snapshots with a date each.";
  }
  finding.evidence.push_back({"bytes out", count(tx), change.name()});
  finding.evidence.push_back({"bytes in", count(rx), change.name()});
  findings.push_back(std::move(finding));
}

void judge_reset(const DeviceChange& change, Findings& findings) {
  if (!change.reset) return;
  findings.push_back(
      Build("counters-inconclusive", Severity::kNotice, Confidence::kHigh, change.name())
          .say(
              "Most counters are lower in the second snapshot: they were cleared or the device was "
              "reset in between, so differences mean nothing.")
          .act("Take both snapshots without a reset between them.")
          .confirm("two fresh snapshots"));
}

}  // namespace

void judge_counters(const Situation& s, Findings& findings) {
  const std::vector<DeviceChange> changes = counter_changes(s.evidence);
  for (const DeviceChange& change : changes) {
    judge_link_errors(s, change, findings);
    judge_congestion(s, change, findings);
    judge_priorities(change, findings);
    judge_reset(change, findings);
    judge_single(s, change, findings);
    judge_traffic(s, change, findings);
  }
  judge_lost_notifications(changes, findings);
}

}  // namespace shunt::verdict::foreign
