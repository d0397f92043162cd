// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// GPU to NIC: the map, far and shared NICs, the index trap, order of NUMA nodes.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cluster/assess.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/topology_words.hpp"

namespace shunt::verdict::foreign {
namespace {

using cluster::DeviceKind;
using cluster::GpuNics;
using cluster::Pairing;
using cluster::PathKind;
using cluster::Topology;

struct Node {
  const Topology& topology;
  const Pairing& pairing;
  std::string where;  ///< "server 2: " or nothing.
  std::string lines;

  [[nodiscard]] const std::string& label(std::size_t device) const {
    return topology.devices[device].label;
  }
};

/// "GPU0–NIC0 (PIX), GPU1–NIC3 (PIX)" over the GPUs with a near NIC.
std::string near_map(const Node& node) {
  std::string text;
  for (const GpuNics& gpu : node.pairing.gpus) {
    if (!gpu.assigned || !cluster::is_near(gpu.kind)) continue;
    const auto& nic = node.topology.devices[*gpu.assigned];
    text += fmt::format("{}{}–{}{} ({})",
                        text.empty() ? "" : ", ",
                        node.label(gpu.gpu),
                        nic.label,
                        nic.name.empty() || nic.name == nic.label ? "" : " " + nic.name,
                        cluster::to_string(gpu.kind));
  }
  return text;
}

std::string nic_list(const Node& node) {
  std::vector<std::string> names;
  for (const GpuNics& gpu : node.pairing.gpus) {
    if (!gpu.assigned || !cluster::is_near(gpu.kind)) continue;
    const std::string& name = node.topology.devices[*gpu.assigned].list_name();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ","));
}

bool is_one_to_one(const Node& node) {
  return std::all_of(
      node.pairing.gpus.begin(), node.pairing.gpus.end(), [&node](const GpuNics& gpu) {
        return !gpu.assigned ||
               (node.topology.devices[gpu.gpu].index == node.topology.devices[*gpu.assigned].index);
      });
}

void map_of(const Node& node, Findings& findings) {
  const std::string map = near_map(node);
  if (map.empty()) return;
  Finding finding = Build("nic-map",
                          Severity::kInfo,
                          node.topology.gaps.empty() ? Confidence::kHigh : Confidence::kMedium,
                          node.where + "GPU–NIC map");
  finding.sentence = fmt::format("Nearest NICs: {}.", map);
  if (is_one_to_one(node))
    finding.sentence += " GPU i and NIC i belong together: the affinity is right.";
  if (!node.pairing.spare.empty() && node.topology.gaps.empty()) {
    finding.sentence += fmt::format(" {} serve{} no GPU (storage or management?).",
                                    list_labels(node.topology, node.pairing.spare),
                                    node.pairing.spare.size() == 1 ? "s" : "");
  }
  std::vector<std::size_t> unknown;
  for (const GpuNics& gpu : node.pairing.gpus) {
    if (gpu.kind == PathKind::kUnknown) unknown.push_back(gpu.gpu);
  }
  if (!unknown.empty()) {
    finding.sentence += fmt::format(" Nothing can be said of {}: their rows are cut or missing.",
                                    list_labels(node.topology, unknown));
  }
  if (cluster::looks_virtual(node.topology)) {
    finding.sentence +=
        " One CPU range over several NUMA nodes for every GPU: probably a virtual machine, where "
        "GPUDirect RDMA needs ACS and ATS set up by the host and IBGDA may be unavailable.";
  }
  for (const std::string& gap : node.topology.gaps) {
    finding.evidence.push_back({"missing", gap, node.lines});
  }
  finding.evidence.push_back({"NIC list in GPU order", nic_list(node), node.lines});
  finding.action = fmt::format(
      "Give each rank its GPU's NIC, in GPU order: {}. The names are the matrix's; the NIC legend "
      "or ibstat translates them.",
      nic_list(node));
  finding.confirm = "NCCL_DEBUG=INFO or NVSHMEM_DEBUG=INFO: the NIC that each rank picked";
  findings.push_back(std::move(finding));
}

void index_trap(const Node& node, Findings& findings) {
  std::vector<std::string> bad;
  for (const cluster::IndexTrap& trap : cluster::index_traps(node.topology, node.pairing)) {
    bad.push_back(fmt::format("{}–{} is {} where {} is {}",
                              node.label(trap.gpu->gpu),
                              node.label(trap.nic),
                              cluster::to_string(trap.kind),
                              node.label(*trap.gpu->assigned),
                              cluster::to_string(trap.gpu->kind)));
  }
  if (bad.empty()) return;
  findings.push_back(
      Build("nic-index-trap", Severity::kNotice, Confidence::kHigh, node.where + "GPU–NIC map")
          .say(fmt::format("Taking NIC i for GPU i would pick far NICs: {}. The right pairs: {}.",
                           fmt::join(bad, "; "),
                           near_map(node)))
          .fact("pairs that the index gets wrong", fmt::format("{}", bad.size()), node.lines)
          .act(fmt::format("List the NICs explicitly, in GPU order: {}.", nic_list(node)))
          .confirm("the NIC that each rank prints at start"));
}

/// `beside_a_run`: the input also holds a measured run, whose verdict comes first; the map is then
/// one of its possible causes.
void far(const Node& node, bool virtual_machine, bool beside_a_run, Findings& findings) {
  std::map<PathKind, std::vector<std::size_t>> by_kind;
  std::size_t known = 0;
  std::size_t distant = 0;
  for (const GpuNics& gpu : node.pairing.gpus) {
    if (gpu.kind == PathKind::kUnknown) continue;
    ++known;
    if (cluster::is_near(gpu.kind)) continue;
    by_kind[gpu.kind].push_back(gpu.gpu);
    ++distant;
  }
  if (by_kind.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [kind, gpus] : by_kind) {
    parts.push_back(
        fmt::format("{} {}", list_labels(node.topology, gpus), cluster::to_string(kind)));
  }
  const bool uniform = distant == known && by_kind.size() == 1;
  const bool hidden = virtual_machine || uniform;
  Finding finding = Build("nic-far",
                          hidden || beside_a_run ? Severity::kNotice : Severity::kWarning,
                          hidden ? Confidence::kMedium : Confidence::kHigh,
                          node.where + "GPU–NIC paths");
  finding.sentence = fmt::format(
      "{} NIC within PCIe bridges (PIX or PXB); the nearest is: {}. GPUDirect RDMA then crosses "
      "the CPU's host bridge{}: expect less than line rate even for one GPU.",
      distant == known ? "No GPU has a" : fmt::format("{} of {} GPUs have no", distant, known),
      fmt::join(parts, "; "),
      by_kind.count(PathKind::kSys) != 0 ? " and, where it says SYS, the link between sockets"
                                         : "");
  if (hidden) {
    finding.sentence +=
        " All GPUs look alike, which is also what a virtual machine or a flat PCIe tree shows.";
  }
  finding.evidence.push_back(
      {"GPUs without a near NIC", fmt::format("{} of {}", distant, known), node.lines});
  finding.action =
      "Bind ranks to GPUs that are near a NIC first; let far GPUs send through a near one (PXN, "
      "proxy rank) or through host memory; ask for NICs on the GPUs' PCIe switches.";
  finding.confirm = "ib_write_bw --use_cuda on a near and on a far pair";
  findings.push_back(std::move(finding));
}

/// NICs with PIX between them: ports of one card, or cards behind one bridge.
std::string twins(const Node& node) {
  const auto nics = node.topology.of_kind(DeviceKind::kNic);
  std::string text;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    for (std::size_t j = i + 1; j < nics.size(); ++j) {
      if (node.topology.path(nics[i], nics[j]).kind != PathKind::kPix) continue;
      text += fmt::format(
          "{}{}–{}", text.empty() ? "" : ", ", node.label(nics[i]), node.label(nics[j]));
    }
  }
  return text;
}

void shared(const Node& node, Findings& findings) {
  const cluster::NicUse use = cluster::nic_use(node.pairing);
  const std::size_t most = use.most();
  if (most < 2) return;
  std::vector<std::string> parts;
  for (const auto& [nic, gpus] : use.users) {
    if (gpus.size() > 1) {
      parts.push_back(fmt::format("{}: {}", node.label(nic), list_labels(node.topology, gpus)));
    }
  }
  const std::string pairs = twins(node);
  Finding finding = Build("nic-shared",
                          most > 2 ? Severity::kWarning : Severity::kNotice,
                          Confidence::kHigh,
                          node.where + "NICs");
  finding.sentence = fmt::format(
      "{}{} GPUs share one NIC ({}): each gets 1/{} of its rate, {:.4g} GB/s of a 400 Gb/s "
      "port.",
      use.all_far
          ? fmt::format("{} GPUs have {} NICs to share; at best up to ", use.gpus, use.users.size())
          : std::string("Up to "),
      most,
      fmt::join(parts, "; "),
      most,
      50.0 / static_cast<double>(most));
  if (!pairs.empty()) {
    finding.sentence +=
        fmt::format(" {} PIX to each other: two ports of one card, or cards behind one bridge.",
                    pairs + " are");
  }
  finding.evidence.push_back({"GPUs per NIC", fmt::format("{}", most), node.lines});
  finding.derivation =
      fmt::format("50 GB/s / {} = {:.4g} GB/s", most, 50.0 / static_cast<double>(most));
  finding.action =
      "Rate each GPU at its share of the NIC, not at the NIC's rate; spread ranks so that "
      "neighbours use different ports.";
  finding.confirm = "port counters of each NIC while all ranks run";
  findings.push_back(std::move(finding));
}

/// Ranks bound in index order (rank / k → NUMA node) would sit on the wrong node.
void numa_order(const Node& node, Findings& findings) {
  std::vector<std::string> order;
  bool sorted = true;
  long last = -1;
  std::set<std::string> distinct;
  for (const std::size_t gpu : node.topology.of_kind(DeviceKind::kGpu)) {
    const std::string& numa = node.topology.devices[gpu].numa;
    if (numa.empty() || numa.find_first_not_of("0123456789") != std::string::npos ||
        numa.size() > 4) {
      return;
    }
    const long value = std::stol(numa);
    sorted = sorted && value >= last;
    last = value;
    order.push_back(numa);
    distinct.insert(numa);
  }
  if (sorted || distinct.size() < 2) return;
  findings.push_back(
      Build("numa-order", Severity::kNotice, Confidence::kHigh, node.where + "NUMA nodes")
          .say(fmt::format("The GPUs' NUMA nodes are {} in GPU order: binding rank i to node "
                           "i / {} would put ranks on the wrong node.",
                           fmt::join(order, ", "),
                           order.size() / distinct.size()))
          .fact("NUMA order", fmt::format("{}", fmt::join(order, ",")), node.lines)
          .act("Bind each rank to its GPU's own CPU affinity, not by arithmetic on the rank.")
          .confirm("numactl --show in each rank"));
}

}  // namespace

void judge_nics(const Situation& s, Findings& findings) {
  const bool beside_a_run = !s.evidence.samples.empty() || !s.evidence.sweeps.empty();
  for (const logs::TopologyFact* fact : distinct_topologies(s)) {
    const Topology& topology = fact->topology;
    const Pairing pairing = cluster::pair_nics(topology);
    const Node node{topology, pairing, where_prefix(topology), lines_of(s, *fact)};
    if (!topology.of_kind(DeviceKind::kNic).empty()) {
      index_trap(node, findings);
      if (!cluster::is_coherent(topology))
        far(node, cluster::looks_virtual(topology), beside_a_run, findings);
      shared(node, findings);
      map_of(node, findings);
    }
    numa_order(node, findings);
  }
}

}  // namespace shunt::verdict::foreign
