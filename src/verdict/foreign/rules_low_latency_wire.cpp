// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Low-latency logs: what the wire may carry, with each assumption said.
#include <algorithm>

#include <fmt/format.h>

#include "logs/ratings.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/low_latency.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

/// Without the pair each phase may contain waiting: its rate is a lower bound.
void phases_only(const Situation& s, const LowLatency& ll, Findings& findings) {
  if (!ll.has_phases() || ll.dispatch_bytes <= 0 || ll.combine_bytes <= 0) return;
  const Shape& shape = s.shapes[static_cast<std::size_t>(ll.file)];
  const Rating& rating = s.ratings[static_cast<std::size_t>(ll.file)];
  const double nic = shape.gpus_per_nic();
  const double limit = rating.known() ? rating.gbs * nic : 50;
  const double share = logs::remote_share(*ll.nodes) * nic;
  const double dispatch = ll.dispatch_bytes / ll.dispatch_us / 1e3;
  const double combine = ll.combine_bytes / ll.combine_us / 1e3;
  const double high = std::max(dispatch, combine) * share;
  const bool under = high < 0.795 * limit;
  const Shape* known = shape.nodes ? &shape : nullptr;
  Finding finding = Build(
      under ? "underused" : "own-node-counted", Severity::kNotice, Confidence::kMedium, "wire");
  finding.sentence = fmt::format(
      "{}ispatch {} and combine {} count every selection; if NVLink serves the own node the wire "
      "carries {} and {} per GPU, {} and {} of {}{}. There is no dispatch + combine pair: each "
      "phase may contain waiting, so these are lower bounds.",
      under ? "The phases do not show a full NIC: d" : "D",
      gbs(dispatch),
      gbs(combine),
      gbs(dispatch * share / nic),
      gbs(combine * share / nic),
      percent(dispatch * share / limit),
      percent(combine * share / limit),
      gbs(limit),
      rating.known() ? "" : ", one 400 Gb/s NIC assumed");
  finding.derivation = fmt::format("remote share of uniform selections with {:g} nodes: {:.3g}{}",
                                   *ll.nodes,
                                   logs::remote_share(*ll.nodes),
                                   known == nullptr ? " (nodes from the rank numbers)" : "");
  add_low_latency_bytes(s, ll, finding);
  finding.action = "Paste the \"Dispatch + combine\" lines too.";
  findings.push_back(std::move(finding));
}

/// One node: what the scale-up links carried, and whether the ranks use them at all.
bool one_node(const Situation& s, const LowLatency& ll, Findings& findings) {
  if (!ll.nodes || *ll.nodes != 1 || ll.pair_us <= 0) return false;
  const Shape& shape = s.shapes[static_cast<std::size_t>(ll.file)];
  const double rate = ll.pair_bytes / ll.pair_us / 1e3;
  const double link = rate * (ll.per_node - 1) / ll.per_node;
  const auto* gpu = s.evidence.find("gpu", ll.file);
  const logs::Rated* rated =
      gpu == nullptr ? nullptr : logs::find_rating(logs::RatedPart::kGpu, gpu->value);
  const double nvlink = rated == nullptr ? 0 : rated->gbs;
  Finding finding = Build("unrated", Severity::kInfo, Confidence::kMedium, "one node");
  finding.sentence = fmt::format(
      "One node, so nothing leaves it: the printed {} counts every selection, own ones included; "
      "between the GPUs go {} each{}.",
      gbs(rate),
      gbs(link),
      nvlink > 0
          ? fmt::format(", {} of {} ({} one way)", percent(link / nvlink), rated->name, gbs(nvlink))
          : "");
  finding.derivation =
      fmt::format("(W − 1) / W of uniform selections with W = {:g} ranks", ll.per_node);
  if (shape.nodes) finding.evidence.push_back({"nodes", "1", shape.nodes->from});
  // Both phases at one rate, whatever their bytes, is a link's rate; which one, only the rate says.
  const double dispatch = ll.has_phases() ? ll.dispatch_bytes / ll.dispatch_us / 1e3 : 0;
  const double combine = ll.has_phases() ? ll.combine_bytes / ll.combine_us / 1e3 : 0;
  const bool flat =
      ll.has_phases() && std::max(dispatch, combine) < 1.06 * std::min(dispatch, combine);
  for (const double limit : {25.0, 50.0}) {
    if (!flat || rate < 0.85 * limit || rate > 1.03 * limit || link > 0.25 * nvlink) continue;
    finding.id = "pcie-bound";
    finding.severity = Severity::kWarning;
    finding.sentence = fmt::format(
        "The ranks of this node do not seem to use NVLink: dispatch ({}) and combine ({}) run at "
        "one rate whatever their bytes, {} of {}, and it is what a {:.0f} Gb/s NIC or a PCIe Gen{} "
        "x16 slot carries. Low-latency kernels of older versions reach node peers through the NIC.",
        gbs(dispatch),
        gbs(combine),
        percent(link / nvlink),
        rated->name,
        limit * 8,
        limit < 30 ? 4 : 5);
    finding.action = "A version with NVLink in low-latency mode, and allow_nvlink on.";
    finding.confirm = "port_xmit_data of the NICs, or nvidia-smi nvlink -gt d, during the run";
    break;
  }
  add_low_latency_bytes(s, ll, finding);
  findings.push_back(std::move(finding));
  return true;
}

}  // namespace

void judge_low_latency_wire(const Situation& s,
                            const LowLatency& ll,
                            bool explained,
                            Findings& findings) {
  if (!ll.nodes || *ll.nodes < 2) {
    if (ll.pair_us <= 0 && !ll.has_phases()) return;
    if (one_node(s, ll, findings)) return;
    const double rate = ll.pair_us > 0
                            ? ll.pair_bytes / ll.pair_us / 1e3
                            : (ll.dispatch_bytes + ll.combine_bytes) / ll.phase_sum() / 1e3;
    findings.push_back(
        Build("ranks-missing", Severity::kInfo, Confidence::kMedium, "number of nodes")
            .say(fmt::format(
                "No statement on RDMA: {}, so nothing says how much left the node. The "
                "printed {} counts every selection, local ones included.",
                ll.nodes ? "one node"
                : ll.highest_rank >= 0 && ll.highest_rank < 8
                    ? fmt::format("only ranks 0-{} are shown and no node count", ll.highest_rank)
                    : std::string("the number of nodes is not in the input"),
                gbs(rate)))
            .act("Say it: --set nodes=2."));
    return;
  }
  if (ll.pair_us <= 0) {
    if (!explained) phases_only(s, ll, findings);
    return;
  }
  const Shape& shape = s.shapes[static_cast<std::size_t>(ll.file)];
  const Rating& rating = s.ratings[static_cast<std::size_t>(ll.file)];
  const double world = *ll.nodes * ll.per_node;
  const double rate = ll.pair_bytes / ll.pair_us / 1e3;
  const double low = rate * logs::remote_share(*ll.nodes);
  const double high = rate * (world - 1) / world;
  const double nic = shape.gpus_per_nic();
  const double limit = rating.known() ? rating.gbs * nic : 50;
  const double share = low * nic / limit;
  const double pure = high * nic / limit;
  // A reading that no link allows leaves the other one.
  const bool excluded = pure > 1.03;
  const double decisive = excluded ? share : pure;
  const std::string basis =
      fmt::format("{}{}", gbs(limit), rating.known() ? "" : ", one 400 Gb/s NIC assumed");
  std::string id = "own-node-counted";
  if (decisive < 0.795) id = "underused";
  if (decisive >= 0.85 && excluded) id = "saturated";
  if (decisive > 1.03) id = "exceeds-link";
  Severity severity = explained ? Severity::kInfo : Severity::kNotice;
  if (id == "exceeds-link" && rating.known()) severity = Severity::kWarning;
  Finding finding = Build(id, severity, Confidence::kMedium, "wire");
  const std::string head = id == "underused" ? "NIC not saturated: the" : "The";
  finding.sentence = excluded
                         ? fmt::format(
                               "{} pair's {} counts every selection. If NVLink serves the own node "
                               "the wire carries {} per GPU, {} "
                               "of {}; all by RDMA would be {}, more than that link carries.",
                               head,
                               gbs(rate),
                               gbs(low),
                               percent(share),
                               basis,
                               gbs(high))
                         : fmt::format(
                               "{} pair's {} counts every selection; the wire carries {} per GPU "
                               "if NVLink serves the own node, {} "
                               "if all peers go by RDMA (depends on the version): {} or {} of {}.",
                               head,
                               gbs(rate),
                               gbs(low),
                               gbs(high),
                               percent(share),
                               percent(pure),
                               basis);
  finding.derivation = fmt::format(
      "remote share of uniform selections: {:g}/{:g} with NVLink, {:g}/{:g} "
      "without",
      world - ll.per_node,
      world,
      world - 1,
      world);
  if (nic > 1)
    finding.evidence.push_back(
        {"GPUs per NIC", fmt::format("{:g}", nic), shape.nics_per_node->from});
  add_low_latency_bytes(s, ll, finding);
  findings.push_back(std::move(finding));
}

}  // namespace shunt::verdict::foreign
