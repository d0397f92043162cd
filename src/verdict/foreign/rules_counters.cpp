// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Counters of a device: what they say alone, what between two snapshots, in reading order.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/counter_rules.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Signal;
using logs::SignalClass;

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
  if (counted(change, Signal::kXmitWait) > 0) {
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

/// Many devices of one tool, read once and unremarkable, are one statement.
void judge_singles(const Situation& s,
                   const std::vector<DeviceChange>& changes,
                   Findings& findings) {
  constexpr std::size_t kMany = 4;
  std::map<std::string, std::size_t> alike;
  const auto plain = [](const DeviceChange& change) {
    return change.first == change.last && !change.last->rates && highlights(change).empty() &&
           !all_zero(change);
  };
  for (const DeviceChange& change : changes) alike[change.tool] += plain(change) ? 1 : 0;
  std::set<std::string> told;
  for (const DeviceChange& change : changes) {
    const std::size_t count = alike[change.tool];
    if (count < kMany || !plain(change)) {
      judge_single(s, change, findings);
    } else if (told.insert(change.tool).second) {
      judge_single(s, change, findings);
      findings.back().where = fmt::format("{}, {} devices", change.tool, count);
    }
  }
}

/// Bytes between two snapshots: a rate where the time is known, and its absence where it is not.
void judge_traffic(const Situation& s, const DeviceChange& change, Findings& findings) {
  if (!change.paired() && !change.last->rates) return;
  double tx = counted(change, Signal::kTxBytes);
  double rx = counted(change, Signal::kRxBytes);
  if (tx + rx == 0) {
    tx = counted(change, Signal::kPriorityTxBytes);
    rx = counted(change, Signal::kPriorityRxBytes);
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

double counted(const DeviceChange& change, Signal signal) {
  return change.sum(signal).value_or(0);
}

std::string count(double value) {
  return fmt::format("{:.0f}", value);
}

void judge_counters(const Situation& s, Findings& findings) {
  const std::vector<DeviceChange> changes = counter_changes(s.evidence);
  for (const DeviceChange& change : changes) {
    judge_link_errors(s, change, findings);
    judge_congestion(s, change, findings);
    judge_priorities(change, findings);
    judge_reset(change, findings);
    judge_traffic(s, change, findings);
  }
  judge_singles(s, changes, findings);
  judge_lost_notifications(changes, findings);
}

}  // namespace shunt::verdict::foreign
