// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Link states: ports below what they could do, bonds, NVLinks that are off.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "logs/ratings.hpp"
#include "logs/text.hpp"
#include "logs/words.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::LinkFact;
using logs::LinkKind;

std::string rate_of(double gbit) {
  return fmt::format("{:g} Gb/s = {:g} GB/s", gbit, gbit / 8);
}

std::string name_of(const LinkFact& link) {
  // ibportstate's owners name their port already.
  if (logs::contains_ci(link.owner, " port ")) {
    return link.kind == LinkKind::kCable ? fmt::format("{} – {}", link.owner, link.peer)
                                         : link.owner;
  }
  return link.kind == LinkKind::kPort ? fmt::format("{} port {}", link.owner, link.number)
         : link.kind == LinkKind::kCable
             ? fmt::format("{} port {} – {}", link.owner, link.number, link.peer)
             : link.owner;
}

void downgraded(const Situation& s, const LinkFact& link, Findings& findings) {
  if (!link.possible_gbit_per_s || !link.gbit_per_s ||
      *link.gbit_per_s > 0.97 * *link.possible_gbit_per_s) {
    return;
  }
  const bool pcie = link.kind == LinkKind::kPcie;
  Finding finding = Build("link-downgraded", Severity::kWarning, Confidence::kHigh, name_of(link));
  finding.sentence =
      pcie ? fmt::format(
                 "The PCIe link runs at {} ({:.3g} GB/s usable) where the device can do "
                 "{:.3g} GB/s: the slot, the riser or the negotiation is the limit.",
                 link.speed,
                 *link.gbit_per_s / 8,
                 *link.possible_gbit_per_s / 8)
           : fmt::format("The link runs at {} where it could run at {}.",
                         rate_of(*link.gbit_per_s),
                         rate_of(*link.possible_gbit_per_s));
  finding.evidence.push_back({"line", link.source.text, place(s, link.source)});
  finding.action = pcie ? "Move the card to a full slot or reseat it; an idle GPU may show a lower "
                          "speed than under load."
                        : "Check cable and port: both ends support the higher rate.";
  finding.confirm = pcie ? "lspci -vv under load" : "ibstat and iblinkinfo after reseating";
  findings.push_back(std::move(finding));
}

/// What the links of a fabric run at, when nothing says that they should run faster.
void fabric_rates(const Situation& s, Findings& findings) {
  std::map<double, std::vector<const LinkFact*>> by_rate;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind == LinkKind::kCable && link.gbit_per_s && link.is_up()) {
      by_rate[*link.gbit_per_s].push_back(&link);
    }
  }
  if (by_rate.empty()) return;
  std::string text;
  for (const auto& [gbit, links] : by_rate) {
    text += fmt::format("{}{} at {} ({})",
                        text.empty() ? "" : ", ",
                        links.size(),
                        rate_of(gbit),
                        links.front()->speed);
  }
  Finding finding = Build("link-state", Severity::kInfo, Confidence::kHigh, "InfiniBand links");
  finding.sentence = fmt::format("Links are up: {}. The fabric is InfiniBand, not RoCE.", text);
  if (by_rate.size() > 1) {
    finding.sentence += fmt::format(
        " The slower ones are no fault unless both ends can do more: a {} adapter on a faster "
        "switch "
        "runs at its own rate.",
        by_rate.begin()->second.front()->speed);
  }
  for (const auto& [gbit, links] : by_rate) {
    finding.evidence.push_back({fmt::format("{} links", links.front()->speed),
                                links.front()->source.text,
                                place(s, links.front()->source)});
  }
  finding.derivation =
      "rate = lanes × lane rate without line coding: 4 × 25.78125 Gb/s (64b/66b) carries 100 Gb/s";
  finding.action = "Rate the run at the slowest link on its path.";
  finding.confirm = "ibstat on the host: the adapter's own capability";
  findings.push_back(std::move(finding));
}

/// "down", or with what the physical layer says: "down, polling: no light or no partner".
std::string state_words(const LinkFact& link) {
  if (link.physical.empty() || logs::equals_ci(link.physical, "linkup")) return link.state;
  return fmt::format("{}, {}{}",
                     link.state,
                     link.physical,
                     logs::contains_ci(link.physical, "polling")    ? ": no cable, light or partner"
                     : logs::contains_ci(link.physical, "disabled") ? ": switched off"
                                                                    : "");
}

void down_ports(const Situation& s, Findings& findings) {
  std::vector<std::string> down;
  std::size_t up = 0;
  const LinkFact* first = nullptr;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind != LinkKind::kPort || link.state.empty()) continue;
    if (link.is_up()) {
      ++up;
      continue;
    }
    down.push_back(fmt::format("{} ({})", name_of(link), state_words(link)));
    if (first == nullptr) first = &link;
  }
  if (first == nullptr) return;
  findings.push_back(
      Build("link-state", Severity::kNotice, Confidence::kHigh, "ports")
          .say(fmt::format(
              "Not active: {}; {} port{} active. A fault only if the run was meant to use "
              "them.",
              fmt::join(down, ", "),
              up,
              up == 1 ? " is" : "s are"))
          .fact("line", first->source.text, place(s, first->source))
          .act("Leave ports that are down out of NIC lists, or bring them up.")
          .confirm("ibstat; ip link"));
}

/// One port shows a lower rate than its like on the same host.
void odd_port(const Situation& s, Findings& findings) {
  std::map<std::string, std::vector<const LinkFact*>> by_model;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind == LinkKind::kPort && link.is_up() && link.gbit_per_s && !link.model.empty()) {
      by_model[link.model].push_back(&link);
    }
  }
  for (const auto& [model, links] : by_model) {
    double best = 0;
    for (const LinkFact* link : links) best = std::max(best, *link->gbit_per_s);
    std::vector<const LinkFact*> slow;
    for (const LinkFact* link : links) {
      if (*link->gbit_per_s < 0.97 * best) slow.push_back(link);
    }
    if (slow.empty() || slow.size() * 2 > links.size()) continue;
    for (const LinkFact* link : slow) {
      findings.push_back(
          Build("link-downgraded", Severity::kWarning, Confidence::kMedium, name_of(*link))
              .say(fmt::format("{} runs at {} where the other {} ports run at {}.",
                               name_of(*link),
                               rate_of(*link->gbit_per_s),
                               model,
                               rate_of(best)))
              .fact("line", link->source.text, place(s, link->source))
              .act("Check its cable and the switch port.")
              .confirm("iblinkinfo or ethtool at the other end"));
    }
  }
}

void bonds(const Situation& s, Findings& findings) {
  std::set<std::string> seen;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind != LinkKind::kPort || !link.gbit_per_s || !logs::contains(link.owner, "bond") ||
        !seen.insert(link.owner).second) {
      continue;
    }
    const double gbit = *link.gbit_per_s;
    Finding finding =
        Build("rating-ambiguous", Severity::kNotice, Confidence::kHigh, name_of(link));
    finding.sentence = fmt::format(
        "{} is a bond: the printed {} may be one member's rate or the whole bond's. Both readings: "
        "{:g} "
        "GB/s, or {:g} GB/s with two such members.",
        link.owner,
        rate_of(gbit),
        gbit / 8,
        gbit / 4);
    const std::string_view model = link.model == "MT4131"   ? "ConnectX-8"
                                   : link.model == "MT4129" ? "ConnectX-7"
                                   : link.model == "MT4125" ? "ConnectX-6 Dx"
                                   : link.model == "MT4123" ? "ConnectX-6"
                                                            : "";
    finding.evidence.push_back({"line", link.source.text, place(s, link.source)});
    if (!model.empty()) {
      finding.evidence.push_back(
          {"model", fmt::format("{} = {}", link.model, model), place(s, link.source)});
    }
    finding.derivation = fmt::format("{:g} / 8 = {:g}; two members {:g}", gbit, gbit / 8, gbit / 4);
    finding.action =
        "Read /sys/class/net/<if>/speed of the bond and of its members, and how many "
        "members there are; state utilisation against both until then.";
    finding.confirm = "cat /proc/net/bonding/<bond>; cat /sys/class/net/<if>/speed";
    findings.push_back(std::move(finding));
  }
}

struct GpuLinks {
  std::vector<int> active;
  std::vector<int> inactive;
  double rate = 0;
  std::string model;
  const LinkFact* first = nullptr;
  std::size_t last_line = 0;
};

std::map<std::string, GpuLinks> gpu_links(const Situation& s) {
  std::map<std::string, GpuLinks> gpus;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind != LinkKind::kNvlink) continue;
    GpuLinks& gpu = gpus[link.owner];
    (link.state == "active" ? gpu.active : gpu.inactive).push_back(link.number);
    gpu.rate = link.gb_per_s ? std::max(gpu.rate, *link.gb_per_s) : gpu.rate;
    if (!link.model.empty()) gpu.model = link.model;
    if (gpu.first == nullptr) gpu.first = &link;
    gpu.last_line = std::max(gpu.last_line, link.source.line);
  }
  return gpus;
}

/// What a GPU's inactive links mean: by design, by fault, or unknown.
struct Inactive {
  Severity severity = Severity::kNotice;
  Confidence confidence = Confidence::kMedium;
  std::string sentence;
  std::string action;
};

Inactive meaning_of(const GpuLinks& gpu) {
  const logs::Rated* rated = logs::find_rating(logs::RatedPart::kGpu, gpu.model);
  const int active = static_cast<int>(gpu.active.size());
  const int shown = active + static_cast<int>(gpu.inactive.size());
  const bool sxm = logs::contains_ci(gpu.model, "SXM") || logs::contains_ci(gpu.model, "HBM3");
  if (sxm || (rated != nullptr && rated->links > 0 && rated->bridged == 0)) {
    return {Severity::kCritical,
            Confidence::kMedium,
            fmt::format("{} should have all its links up: a fault.", gpu.model),
            "Read the fabric manager's log and the GPU's link errors, reset the GPU; if it stays, "
            "exchange it."};
  }
  if (rated == nullptr || rated->bridged == 0) {
    return {Severity::kNotice,
            Confidence::kLow,
            "The GPU model is not in the text, and it decides: on an SXM board a fault; on an H100 "
            "PCIe or NVL pair expected, its bridges use 12 of 18 links (12 × 26.5625 = 318.75 "
            "GB/s).",
            "Say which GPU it is. SXM: fabric manager, reset, exchange. PCIe or NVL pair: correct "
            "the health check's expectation."};
  }
  if (active >= rated->bridged) {
    return {Severity::kInfo,
            Confidence::kMedium,
            fmt::format("By design: {} uses {} of its {} links for its bridges.",
                        gpu.model,
                        rated->bridged,
                        rated->links),
            "Correct the health check's expectation."};
  }
  if (active > 0 && shown < rated->links) {
    return {Severity::kInfo,
            Confidence::kLow,
            fmt::format("{} of {}'s {} links are listed; its bridges use {}, so that some are "
                        "inactive by design.",
                        shown,
                        gpu.model,
                        rated->links,
                        rated->bridged),
            "List all of them: nvidia-smi nvlink -s."};
  }
  if (active == 0) {
    return {Severity::kNotice,
            Confidence::kMedium,
            fmt::format("{} has its links over bridges between cards, {} of them at most: without "
                        "a bridge none is active.",
                        gpu.model,
                        rated->bridged),
            "Look for the bridges; without them GPUs exchange over PCIe."};
  }
  return {
      Severity::kWarning,
      Confidence::kMedium,
      fmt::format("{} of the {} links that {}'s bridges can use are active: a bridge is missing "
                  "or not seated.",
                  active,
                  rated->bridged,
                  gpu.model),
      "Look for the missing bridge, or reseat it."};
}

/// A measured rate against the links: those that bridges of H100 cards use, and all.
void add_measured(const Situation& s, double measured, const LinkFact& test, Finding& finding) {
  finding.sentence += fmt::format(
      " The measured {:.2f} GB/s is {} of 12 links' rating, a normal efficiency, and {} of 18 "
      "links'.",
      measured,
      percent(measured / 318.75),
      percent(measured / 478.125));
  finding.evidence.push_back(
      {"measured", fmt::format("{:.2f} GB/s", measured), place(s, test.source)});
  finding.derivation =
      fmt::format("12 × 26.5625 = 318.75; {:.2f} / 318.75 = {:.3f}; 18 × 26.5625 = 478.1",
                  measured,
                  measured / 318.75);
}

void inactive_nvlinks(const Situation& s, Findings& findings) {
  double measured = 0;
  const LinkFact* test = nullptr;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind == LinkKind::kGpuTest && link.gb_per_s) {
      measured = *link.gb_per_s;
      test = &link;
    }
  }
  for (const auto& [name, gpu] : gpu_links(s)) {
    if (gpu.inactive.empty()) continue;
    const Inactive meaning = meaning_of(gpu);
    const logs::Rated* rated = logs::find_rating(logs::RatedPart::kGpu, gpu.model);
    Finding finding = Build("nvlink-missing", meaning.severity, meaning.confidence, name);
    finding.sentence = fmt::format(
        "Links {} of {} are inactive. {}", fmt::join(gpu.inactive, ", "), name, meaning.sentence);
    const bool twelve = rated == nullptr || (rated->links == 18 && rated->bridged == 12);
    if (test != nullptr && twelve) add_measured(s, measured, *test, finding);
    finding.evidence.push_back({"line", gpu.first->source.text, place(s, gpu.first->source)});
    finding.action = meaning.action;
    finding.confirm = "nvidia-smi -L; nvidia-smi nvlink -s";
    findings.push_back(std::move(finding));
  }
}

/// The NVLink count of one GPU against its like.
void fewer_nvlinks(const Situation& s, Findings& findings) {
  const auto gpus = gpu_links(s);
  std::size_t most = 0;
  for (const auto& [name, gpu] : gpus) most = std::max(most, gpu.active.size());
  std::size_t last_line = 0;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind == LinkKind::kNvlink) last_line = std::max(last_line, link.source.line);
  }
  for (const auto& [name, gpu] : gpus) {
    if (gpu.active.size() >= most || !gpu.inactive.empty() || gpu.active.empty()) continue;
    // The last one of the list, counted from 0 without a hole: the paste ends there.
    const bool cut =
        gpu.last_line == last_line && gpu.active.back() + 1 == static_cast<int>(gpu.active.size());
    findings.push_back(
        Build(cut ? "ranks-missing" : "gpu-links-uneven",
              cut ? Severity::kInfo : Severity::kWarning,
              Confidence::kMedium,
              name)
            .say(fmt::format("{} shows {} links where its peers show {}{}.",
                             name,
                             gpu.active.size(),
                             most,
                             cut ? ": the paste ends there, so nothing is said of the others"
                                 : " (unless the paste is cut)"))
            .fact("line", gpu.first->source.text, place(s, gpu.first->source))
            .act("Read the link state of that GPU.")
            .confirm("nvidia-smi nvlink -s"));
  }
}

}  // namespace

void judge_ports(const Situation& s, Findings& findings) {
  for (const LinkFact& link : s.evidence.links) downgraded(s, link, findings);
  inactive_nvlinks(s, findings);
  fewer_nvlinks(s, findings);
  odd_port(s, findings);
  bonds(s, findings);
  down_ports(s, findings);
  fabric_rates(s, findings);
}

}  // namespace shunt::verdict::foreign
