// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// NIC counters around a log that gives rates and no total: what the counters moved must fit what
// the log's operations can have put on the NIC in that time.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/counter_rules.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Signal;

/// What a log's own figures put on one NIC, one direction.
struct Stated {
  double gbs = 0;    ///< By its fastest operation: no mean over a time can exceed it.
  std::string what;  ///< "dispatch (bf16)"
  const logs::Source* source = nullptr;
  double least_bytes = 0;  ///< Of the operation that moves least, once; 0 where no time is known.
  std::string least;
  double gpus_per_nic = 1;
  bool nics_known = false;  ///< Stated; else one NIC a GPU is assumed.
};

void take_rate(double gbs, const std::string& what, const logs::Source& source, Stated& stated) {
  if (gbs <= stated.gbs) return;
  stated.gbs = gbs;
  stated.what = what;
  stated.source = &source;
}

/// Operations between nodes of EP benchmarks, and sweeps of collectives over several nodes.
std::optional<Stated> stated_by(const Situation& s) {
  Stated stated;
  for (const Op& op : s.ops) {
    if (!op.wire || !op.rdma || *op.wire <= 0) continue;
    const double share = s.shapes[static_cast<std::size_t>(op.file)].gpus_per_nic();
    stated.gpus_per_nic = share;
    stated.nics_known = s.shapes[static_cast<std::size_t>(op.file)].nics_per_node.has_value();
    const logs::Source& source = op.rdma->sample->source;
    take_rate(*op.wire * share, op.name(), source, stated);
    const double bytes = op.time_us ? *op.wire * share * *op.time_us * 1e3 : 0;
    if (bytes > 0 && (stated.least_bytes == 0 || bytes < stated.least_bytes)) {
      stated.least_bytes = bytes;
      stated.least = op.name();
    }
  }
  for (const logs::Sweep& sweep : s.evidence.sweeps) {
    const logs::SweepRow* best = sweep.format == "nccl-tests" ? best_row(sweep) : nullptr;
    const Shape& shape = s.shapes[static_cast<std::size_t>(sweep.source.file)];
    if (best == nullptr || !shape.nodes || shape.nodes->value < 2) continue;
    const double rate = std::max(best->bus_gbs.value_or(0), best->rate_gbs.value_or(0));
    const double nics = shape.nics_per_node ? std::max(1.0, shape.nics_per_node->value) : 1;
    stated.gpus_per_nic = shape.gpus_per_nic();
    stated.nics_known = shape.nics_per_node.has_value();
    // All-to-all: each GPU through its own NIC, less what stays inside the node. Rings: a node's
    // NICs together carry busbw.
    const double on_nic = sweep.operation == logs::Operation::kAllToAll
                              ? rate * logs::remote_share(shape.nodes->value) * stated.gpus_per_nic
                              : rate / nics;
    take_rate(on_nic, title(s, sweep), best->source, stated);
  }
  return stated.gbs > 0 ? std::optional(stated) : std::nullopt;
}

double moved(const DeviceChange& change) {
  return std::max(counted(change, Signal::kTxBytes), counted(change, Signal::kRxBytes));
}

void too_much(const Situation& s,
              const DeviceChange& change,
              double seconds,
              const Stated& stated,
              Findings& findings) {
  const double rate = moved(change) / seconds / 1e9;
  if (rate <= stated.gbs * 1.05) return;
  findings.push_back(
      Build("counters-disagree",
            stated.nics_known ? Severity::kWarning : Severity::kNotice,
            stated.nics_known ? Confidence::kMedium : Confidence::kLow,
            change.name())
          .say(fmt::format("The NIC moved {} in the mean over {:.4g} s, idle time included, where "
                           "the log's fastest operation ({}) puts {} on it: other traffic on the "
                           "port, retransmission, or several GPUs behind this NIC.",
                           gbs(rate),
                           seconds,
                           stated.what,
                           gbs(stated.gbs)))
          .fact("counters",
                fmt::format("{} B in the busier direction", count(moved(change))),
                place(s, change.last->source))
          .fact("log", stated.source->text, place(s, *stated.source))
          .because(fmt::format("{} B / {:.4g} s = {}; a mean cannot exceed the fastest part; {:g} "
                               "GPU{} a NIC assumed",
                               count(moved(change)),
                               seconds,
                               gbs(rate),
                               stated.gpus_per_nic,
                               stated.gpus_per_nic > 1 ? "s" : ""))
          .act("Repeat with the port otherwise idle; read the retransmission counters; give "
               "--set nics_per_node if GPUs share NICs.")
          .confirm("both directions of this port with no job running"));
}

/// All ports that were watched together moved less than one operation needs.
void too_little(const Situation& s,
                const std::vector<const DeviceChange*>& watched,
                const Stated& stated,
                Findings& findings) {
  double most = 0;
  for (const DeviceChange* change : watched) most = std::max(most, moved(*change));
  if (stated.least_bytes <= 0 || most >= 0.95 * stated.least_bytes) return;
  Finding finding = Build(
      "counters-disagree",
      Severity::kWarning,
      Confidence::kMedium,
      watched.size() == 1 ? watched.front()->name() : fmt::format("{} ports", watched.size()));
  finding.sentence = fmt::format(
      "The counters moved {:.4g} MB at most, less than a single {} needs on a NIC ({:.4g} MB): "
      "the run used {} port{}, or the counters do not see RDMA traffic.",
      most / 1e6,
      stated.least,
      stated.least_bytes / 1e6,
      watched.size() == 1 ? "another" : "other",
      watched.size() == 1 ? "" : "s");
  for (const DeviceChange* change : watched) {
    finding.evidence.push_back(
        {change->name(), count(moved(*change)) + " B", place(s, change->last->source)});
  }
  finding.derivation = fmt::format("wire rate of {} × its time × {:g} GPUs a NIC = {:.4g} B",
                                   stated.least,
                                   stated.gpus_per_nic,
                                   stated.least_bytes);
  finding.action = "Read the counters of the NICs that the ranks print at start.";
  finding.confirm = "port_xmit_data (sysfs) of every port before and after";
  findings.push_back(std::move(finding));
}

}  // namespace

void judge_counters_beside_rates(const Situation& s,
                                 const std::vector<DeviceChange>& changes,
                                 Findings& findings) {
  const auto stated = stated_by(s);
  if (!stated) return;
  std::vector<const DeviceChange*> watched;
  for (const DeviceChange& change : changes) {
    const bool nic = change.tool != "nvidia-smi nvlink" && change.tool != "amd-smi xgmi";
    if (!nic || !change.paired() || change.last->aggregated ||
        !(change.sum(Signal::kTxBytes) || change.sum(Signal::kRxBytes))) {
      continue;
    }
    watched.push_back(&change);
    const auto seconds = change.seconds ? change.seconds : s.evidence.number("interval");
    if (seconds && *seconds > 0) too_much(s, change, *seconds, *stated, findings);
  }
  if (!watched.empty()) too_little(s, watched, *stated, findings);
}

}  // namespace shunt::verdict::foreign
