// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Congestion marks, pauses, loss, receivers without buffers, and the health of links.
#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/counter_rules.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Signal;
using logs::SignalClass;

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
  const double marked = counted(c, Signal::kEcnMarked);
  const double sent = counted(c, Signal::kCnpSent);
  const double handled = counted(c, Signal::kCnpHandled);
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
  if (const double ignored = counted(c, Signal::kCnpIgnored); ignored > 0) {
    signs.push_back(fmt::format(
        "{} notifications were ignored: the reaction point is off, or not for that priority",
        count(ignored)));
  }
  const double stopped = counted(c, Signal::kPauseReceived);
  const double stopped_us = counted(c, Signal::kPauseReceivedUs);
  if (stopped > 0 || stopped_us > 0) {
    std::string sign =
        fmt::format("the network told this host to stop ({} pause frames", count(stopped));
    if (stopped_us > 0) sign += fmt::format(", {:.4g} ms not sending", stopped_us / 1000);
    if (stopped_us > 0 && c.seconds) {
      sign += fmt::format(", {} of the time", percent(stopped_us / 1e6 / *c.seconds));
    }
    signs.push_back(sign + ")");
  }
  if (const double pushed = counted(c, Signal::kPauseSent); pushed > 0) {
    signs.push_back(
        fmt::format("this host told the network to stop ({} pause frames): its PCIe, NUMA or "
                    "memory path drains "
                    "too slowly",
                    count(pushed)));
  }
  if (counted(c, Signal::kPauseStorm) > 0) signs.emplace_back("a pause storm was detected");
  if (const double lost = counted(c, Signal::kOutOfSequence) + counted(c, Signal::kSequenceError);
      lost > 0) {
    signs.push_back(fmt::format(
        "{} out-of-sequence events: packets were lost, or reordered by adaptive routing",
        count(lost)));
  }
  if (const double resent = counted(c, Signal::kRetransmit); resent > 0) {
    signs.push_back(fmt::format("{} retransmissions", count(resent)));
  }
  if (const double timeouts = counted(c, Signal::kAckTimeout); timeouts > 0) {
    signs.push_back(fmt::format(
        "{} ACK time-outs: each stalls its queue pair for the time-out; ACKs lost or peer gone",
        count(timeouts)));
  }
  if (const double dropped = counted(c, Signal::kDiscard); dropped > 0) {
    signs.push_back(fmt::format("{} packets discarded", count(dropped)));
  }
  if (const double rnr = counted(c, Signal::kRnr) + counted(c, Signal::kOutOfBuffer); rnr > 0) {
    signs.push_back(
        fmt::format("{} times a receiver had no buffer posted: not the fabric", count(rnr)));
  }
  return signs;
}

}  // namespace

void judge_congestion(const Situation& s, const DeviceChange& change, Findings& findings) {
  const std::vector<std::string> signs = congestion_signs(change);
  if (!change.paired() || signs.empty()) return;
  const bool loss = counted(change, Signal::kAckTimeout) + counted(change, Signal::kSequenceError) +
                        counted(change, Signal::kOutOfSequence) +
                        counted(change, Signal::kDiscard) +
                        counted(change, Signal::kRetriesExceeded) >
                    0;
  const double packets = counted(change, Signal::kTxPackets) + counted(change, Signal::kRxPackets);
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

void judge_lost_notifications(const std::vector<DeviceChange>& changes, Findings& findings) {
  double sent = 0;
  double handled = 0;
  std::size_t watching = 0;
  for (const DeviceChange& change : changes) {
    if (!change.paired()) continue;
    sent += counted(change, Signal::kCnpSent);
    handled += counted(change, Signal::kCnpHandled);
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
  const double downs = counted(change, Signal::kLinkDowned);
  const double discards = counted(change, Signal::kDiscard);
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

}  // namespace shunt::verdict::foreign
