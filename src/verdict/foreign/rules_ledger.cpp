// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// NIC counters around a benchmark against the bytes that the benchmark says it moved.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/counter_rules.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Signal;

std::string setting(const logs::Sweep& sweep, const char* name) {
  const auto found = sweep.settings.find(name);
  return found == sweep.settings.end() ? std::string() : found->second;
}

/// Bytes on the wire for a byte of payload: headers of one packet of the path MTU.
double header_factor(const logs::Sweep& sweep) {
  const auto mtu = logs::number_at(setting(sweep, "mtu"), 0);
  const double payload = mtu && mtu->value >= 256 && mtu->value <= 9000 ? mtu->value : 4096;
  // RoCE v2: Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4, RETH 16 in the first packet only.
  // InfiniBand counts LRH 8, BTH 12 and ICRC 4.
  const double headers = setting(sweep, "link_type") == "Ethernet" ? 62 : 24;
  return (payload + headers) / payload;
}

/// The device whose counters frame the sweep: by name, else the only one that was watched.
const DeviceChange* counters_of(const logs::Sweep& sweep,
                                const std::vector<DeviceChange>& changes) {
  const DeviceChange* only = nullptr;
  const std::string device = setting(sweep, "device");
  for (const DeviceChange& change : changes) {
    if (!change.paired()) continue;
    if (!device.empty() && change.device.rfind(device, 0) == 0) return &change;
    if (only != nullptr) return nullptr;
    only = &change;
  }
  return only;
}

/// A perftest run between the snapshots: Σ iterations × size is known.
void judge_perftest(const Situation& s,
                    const std::vector<DeviceChange>& changes,
                    Findings& findings) {
  const logs::Sweep* sweep = nullptr;
  for (const logs::Sweep& candidate : s.evidence.sweeps) {
    if (candidate.format != "perftest" || best_row(candidate) == nullptr) continue;
    if (sweep != nullptr) return;  // Several runs between two snapshots: which, cannot be told.
    sweep = &candidate;
  }
  if (sweep == nullptr) return;
  double payload = 0;
  for (const logs::SweepRow& row : sweep->rows) {
    payload += row.iterations.value_or(0) * row.size_bytes;
  }
  const DeviceChange* change = counters_of(*sweep, changes);
  if (change == nullptr || payload < 1e8 || !std::isfinite(payload)) return;
  const double counted = std::max(change->sum(Signal::kTxBytes).value_or(0),
                                  change->sum(Signal::kRxBytes).value_or(0));
  const double expected = payload * header_factor(*sweep);
  if (counted <= 0) return;
  const double ratio = counted / expected;
  const bool agrees = std::fabs(ratio - 1) <= 0.05;
  Finding finding = Build(agrees ? "counter-rate" : "counters-disagree",
                          agrees ? Severity::kInfo : Severity::kWarning,
                          Confidence::kMedium,
                          change->name());
  finding.sentence =
      agrees ? fmt::format(
                   "The NIC's counters confirm the benchmark: {:.4g} GB counted, {:.4g} GB "
                   "expected with headers ({}).",
                   counted / 1e9,
                   expected / 1e9,
                   percent(ratio))
      : ratio > 1
          ? fmt::format(
                "The NIC counted {:.4g} GB where the benchmark moved {:.4g} GB with "
                "headers ({}): other traffic on the port, retransmission, or snapshots "
                "wider than the run.",
                counted / 1e9,
                expected / 1e9,
                percent(ratio))
          : fmt::format(
                "The NIC counted {:.4g} GB where the benchmark moved {:.4g} GB with headers "
                "({}): the rest went through another port (second port, bond member), or "
                "the counters are of the wrong device.",
                counted / 1e9,
                expected / 1e9,
                percent(ratio));
  finding.derivation =
      fmt::format("Σ iterations × size = {:.5g} B; × {:.4f} for the headers of each packet",
                  payload,
                  header_factor(*sweep));
  finding.evidence.push_back({"benchmark", title(s, *sweep), place(s, sweep->source)});
  finding.evidence.push_back(
      {"counters", fmt::format("{:.0f} B", counted), place(s, change->last->source)});
  if (!agrees) {
    finding.action = ratio > 1
                         ? "Read retransmission counters; repeat with the port otherwise idle."
                         : "Read the counters of every port of the card before and after.";
  }
  findings.push_back(std::move(finding));
}

}  // namespace

void judge_ledger(const Situation& s, Findings& findings) {
  const std::vector<DeviceChange> changes = counter_changes(s.evidence);
  if (changes.empty()) return;
  judge_perftest(s, changes, findings);
  judge_counters_beside_rates(s, changes, findings);
}

}  // namespace shunt::verdict::foreign
