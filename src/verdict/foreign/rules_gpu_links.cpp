// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// GPU to GPU: pairs without NVLink or xGMI, links that differ, by design or by fault.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cluster/gpu_pairs.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/topology_words.hpp"

namespace shunt::verdict::foreign {
namespace {

using cluster::is_regular;
using cluster::isolated;
using cluster::PathKind;
using cluster::Topology;
using cluster::usual_links;
using cluster::weak;
using Pairs = cluster::GpuPairs;
using Pair = Pairs::Pair;

/// "NV18 (450 GB/s one way on NVLink 4, 900 on NVLink 5)", "4 xGMI links (200 GB/s)".
std::string bundle(const Pairs& pairs, int links) {
  if (links <= 0) return pairs.link();
  if (pairs.amd) {
    return fmt::format(
        "{} xGMI link{} ({} GB/s one way at 50 a link)", links, links > 1 ? "s" : "", links * 50);
  }
  return links == 18 ? "NV18 (18 × 25 = 450 GB/s one way on H100/H200, 18 × 50 = 900 GB/s on B200)"
                     : fmt::format("NV{} ({} GB/s one way at 25 a link)", links, links * 25);
}

void pcie_only(const Topology& topology,
               const Pairs& pairs,
               const std::string& where,
               const std::string& lines,
               Findings& findings) {
  std::set<std::string> kinds;
  int hops = 0;
  int weight = 0;
  for (const auto& [a, b] : pairs.bare) {
    kinds.insert(topology.path(a, b).to_string());
    hops = std::max(hops, topology.path(a, b).hops);
    weight = std::max(weight, topology.path(a, b).weight);
  }
  Finding finding = Build("nvlink-missing", Severity::kNotice, Confidence::kHigh, where);
  finding.sentence = fmt::format(
      "No pair of the {} GPUs has {}: all {} known pairs are PCIe only ({}). Traffic inside the "
      "node gets about 25 GB/s one way on PCIe Gen4 x16 (50 on Gen5), shared by all peers of a "
      "GPU.",
      pairs.gpus.size(),
      pairs.amd ? "an xGMI link" : "NVLink",
      pairs.bare.size(),
      fmt::join(kinds, ", "));
  if (hops > 2) {
    finding.sentence += fmt::format(" {} hops between them: each pair crosses NUMA nodes.", hops);
  }
  finding.evidence.push_back({"GPU pairs without a link",
                              fmt::format("{} of {}", pairs.bare.size(), pairs.total()),
                              lines});
  if (weight > 0) {
    finding.evidence.push_back({"weight", fmt::format("{}", weight), lines});
    finding.derivation =
        "AMD's rule: 20 per PCIe segment plus the weight between CPUs; one xGMI hop is 15";
  }
  finding.action =
      "By design for PCIe cards without bridges. On a board that should have links (SXM, OAM, "
      "bridged cards) look for the bridge, the driver and, with NVSwitch, the fabric manager.";
  finding.confirm =
      pairs.amd ? "amd-smi xgmi, and the GPU model" : "nvidia-smi nvlink -s, and the GPU model";
  findings.push_back(std::move(finding));
}

void missing_links(const Topology& topology,
                   const Pairs& pairs,
                   const std::vector<std::size_t>& lost,
                   const std::string& where,
                   const std::string& lines,
                   Findings& findings) {
  std::set<Pair> affected;
  std::size_t seen_by_others = 0;
  for (const auto& [a, b] : pairs.bare) {
    const bool first = std::find(lost.begin(), lost.end(), a) != lost.end();
    const bool second = std::find(lost.begin(), lost.end(), b) != lost.end();
    if (first || second) affected.insert({a, b});
    const std::size_t other = first ? b : a;
    const std::size_t own = first ? a : b;
    if (first != second && topology.cell(other, own).kind != PathKind::kUnknown) ++seen_by_others;
  }
  const int usual = usual_links(pairs);
  const std::string names = list_labels(topology, lost);
  Finding finding = Build("nvlink-missing", Severity::kCritical, Confidence::kHigh, where + names);
  finding.sentence = fmt::format(
      "{} {} no {} to any peer, where the other pairs have {}: {} of {} pairs ({}) go over PCIe at "
      "about 50 GB/s (Gen5 x16; 25 on Gen4), so {} the straggler of every all-to-all inside the "
      "node.",
      names,
      lost.size() > 1 ? "have" : "has",
      pairs.link(),
      bundle(pairs, usual),
      affected.size(),
      pairs.total(),
      percent(static_cast<double>(affected.size()) / static_cast<double>(pairs.total())),
      lost.size() > 1 ? "these are" : "it is");
  finding.evidence.push_back(
      {"pairs without a link", fmt::format("{} of {}", affected.size(), pairs.total()), lines});
  finding.evidence.push_back(
      {"confirmed by the partner's row", fmt::format("{}", seen_by_others), lines});
  finding.evidence.push_back({"pairs with a link", fmt::format("{}", pairs.linked.size()), lines});
  if (pairs.unknown > 0) {
    finding.evidence.push_back({"pairs not in the paste", fmt::format("{}", pairs.unknown), lines});
  }
  finding.derivation = fmt::format("{} GPUs make {} pairs; a pair counts as linked by either row",
                                   pairs.gpus.size(),
                                   pairs.total());
  finding.action = pairs.amd
                       ? "A fault: read the xGMI link state and errors, reseat or reset the GPU."
                       : "A fault, not a design: read the GPU's links, the fabric manager's log, "
                         "then reset the GPU. Until then leave it out of EP groups.";
  finding.confirm = pairs.amd ? "amd-smi xgmi -m"
                              : fmt::format(
                                    "nvidia-smi nvlink -s -i {}; systemctl status "
                                    "nvidia-fabricmanager; dmesg | grep -i xid",
                                    topology.devices[lost.front()].index);
  findings.push_back(std::move(finding));
}

void uneven(const Topology& topology,
            const Pairs& pairs,
            const std::string& where,
            const std::string& lines,
            Findings& findings) {
  const bool regular = is_regular(pairs);
  Finding finding = Build("gpu-links-uneven",
                          regular ? Severity::kNotice : Severity::kWarning,
                          regular ? Confidence::kHigh : Confidence::kMedium,
                          where + "GPU links");
  std::vector<std::string> sizes;
  for (auto it = pairs.bundle_sizes.rbegin(); it != pairs.bundle_sizes.rend(); ++it) {
    sizes.push_back(fmt::format(
        "{} pair{} with {}", it->second, it->second > 1 ? "s" : "", bundle(pairs, it->first)));
  }
  finding.sentence = fmt::format(
      "GPU pairs are not alike: {}{}. ",
      fmt::join(sizes, ", "),
      pairs.bare.empty() ? std::string()
                         : fmt::format("; {} of {} pairs have no direct {} and need routing over "
                                       "other GPUs or PCIe",
                                       pairs.bare.size(),
                                       pairs.total(),
                                       pairs.link()));
  const int least = pairs.bundle_sizes.begin()->first;
  if (least > 0) {
    finding.sentence += fmt::format(
        "An all-to-all runs at the pace of its slowest pair: {} GB/s one way for the worst direct "
        "pair{}.",
        least * (pairs.amd ? 50 : 25),
        pairs.bare.empty() ? "" : ", less for those without a link");
  }
  finding.sentence += regular ? " Every GPU has the same number of partners, as boards without a "
                                "switch are built: by design."
                              : " GPUs differ in their number of partners: by design or by fault, "
                                "which the board's model decides.";
  for (const std::size_t gpu : pairs.gpus) {
    const auto sum = pairs.links_of.find(gpu);
    if (!regular && pairs.complete.at(gpu) && sum != pairs.links_of.end()) {
      finding.evidence.push_back(
          {topology.devices[gpu].label + " links in all", fmt::format("{}", sum->second), lines});
    }
  }
  finding.evidence.push_back(
      {"direct pairs", fmt::format("{} of {}", pairs.linked.size(), pairs.total()), lines});
  finding.action = regular ? "Place expert groups inside well-linked sets of GPUs, or expect the "
                             "slowest pair's rate."
                           : "Read the link state of the GPUs with fewer links.";
  finding.confirm = pairs.amd ? "amd-smi topology" : "nvidia-smi nvlink -s; nvidia-smi nvlink -e";
  findings.push_back(std::move(finding));
}

void weak_links(const Topology& topology,
                const Pairs& pairs,
                const std::vector<std::size_t>& gpus,
                const std::string& where,
                const std::string& lines,
                Findings& findings) {
  const int usual = usual_links(pairs);
  const int has = pairs.most_of.at(gpus.front());
  const std::string names = list_labels(topology, gpus);
  findings.push_back(
      Build("gpu-links-uneven", Severity::kWarning, Confidence::kHigh, where + names)
          .say(
              fmt::format("{} {} {} links where the other GPUs have {}: {} of its {} rate is gone, "
                          "and every all-to-all waits for it.",
                          names,
                          gpus.size() > 1 ? "have" : "has",
                          has,
                          usual,
                          percent(1.0 - static_cast<double>(has) / usual),
                          pairs.link()))
          .fact("links", fmt::format("{} instead of {}", has, usual), lines)
          .because(fmt::format("1 − {}/{}", has, usual))
          .act("Links are down: read their state and errors, reset the GPU or have it exchanged.")
          .confirm("nvidia-smi nvlink -s; nvidia-smi nvlink -e"));
}

void judge_matrix(const Topology& topology,
                  const std::string& where,
                  const std::string& lines,
                  Findings& findings) {
  const Pairs pairs = cluster::sort_gpu_pairs(topology);
  if (topology.pcie_view || pairs.gpus.size() < 2 || (pairs.linked.empty() && pairs.bare.empty())) {
    return;
  }
  if (pairs.linked.empty()) {
    pcie_only(topology, pairs, where.empty() ? "GPUs" : where + "GPUs", lines, findings);
    return;
  }
  const std::vector<std::size_t> lost = isolated(pairs);
  if (!lost.empty() && pairs.gpus.size() > 2) {
    missing_links(topology, pairs, lost, where, lines, findings);
    return;
  }
  if (!pairs.bare.empty()) {
    uneven(topology, pairs, where, lines, findings);
    return;
  }
  if (pairs.bundle_sizes.size() < 2) return;
  if (const auto gpus = weak(pairs); !gpus.empty() && gpus.size() * 2 <= pairs.gpus.size()) {
    weak_links(topology, pairs, gpus, where, lines, findings);
  } else {
    uneven(topology, pairs, where, lines, findings);
  }
}

/// GPUs whose links all run slower than those of most others, where the tool printed rates.
void slower_gpus(const logs::TopologyFact& fact,
                 const std::string& where,
                 const std::string& lines,
                 Findings& findings) {
  const Topology& topology = fact.topology;
  if (fact.tool != "amd-smi xgmi") return;
  std::map<std::size_t, double> rate_of;
  std::map<double, std::size_t> gpus_at;
  for (const std::size_t gpu : topology.of_kind(cluster::DeviceKind::kGpu)) {
    double rate = 0;
    for (const std::size_t peer : topology.of_kind(cluster::DeviceKind::kGpu)) {
      rate = std::max(rate, topology.cell(gpu, peer).gb_per_s);
    }
    if (rate <= 0) continue;
    rate_of[gpu] = rate;
    ++gpus_at[rate];
  }
  for (const auto& [gpu, rate] : rate_of) {
    const auto usual = std::ranges::max_element(
        gpus_at, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (usual->second * 2 <= rate_of.size() || rate >= usual->first) continue;
    const std::string& label = topology.devices[gpu].label;
    findings.push_back(
        Build("link-downgraded", Severity::kWarning, Confidence::kHigh, where + label)
            .say(fmt::format("{}'s xGMI links run at {:g} GB/s each way, those of {} other GPUs at "
                             "{:g}: it is the straggler of every all-to-all inside the node.",
                             label,
                             rate,
                             usual->second,
                             usual->first))
            .fact("max_bandwidth",
                  fmt::format("{:g} against {:g} Gb/s", rate * 8, usual->first * 8),
                  lines)
            .because("max_bandwidth / 8, one direction of one link")
            .act(
                "Retrain the links (GPU reset, power cycle); if it stays, have the module checked.")
            .confirm("amd-smi xgmi again, and the read and write rates of that GPU under load"));
  }
}

}  // namespace

void judge_gpu_links(const Situation& s, Findings& findings) {
  for (const logs::TopologyFact* fact : distinct_topologies(s)) {
    const std::string where = where_prefix(fact->topology);
    judge_matrix(fact->topology, where, lines_of(s, *fact), findings);
    slower_gpus(*fact, where, lines_of(s, *fact), findings);
  }
}

}  // namespace shunt::verdict::foreign
