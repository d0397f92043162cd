// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Lists of NICs in the environment against the ports and devices that are shown.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "logs/words.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::LinkFact;
using logs::LinkKind;

constexpr std::string_view kListVariables[] = {"NCCL_IB_HCA",
                                               "NVSHMEM_HCA_LIST",
                                               "NVSHMEM_HCA_PE_MAPPING",
                                               "UCX_NET_DEVICES",
                                               "MORI_RDMA_DEVICES",
                                               "UCCL_IB_HCA",
                                               "MC_IB_HCA",
                                               "RDMA_DEVICES"};

struct NicList {
  std::vector<std::string> names;
  bool excludes = false;
};

NicList parse_list(std::string_view value) {
  NicList list;
  for (std::string_view word : logs::split_words(value, ",;\"'")) {
    if (word.front() == '^') {
      list.excludes = true;
      word.remove_prefix(1);
    }
    if (!word.empty() && word.front() == '=') word.remove_prefix(1);
    word = word.substr(0, word.find(':'));
    if (word.empty() || word.find_first_of("0123456789") == std::string_view::npos) continue;
    list.names.emplace_back(word);
  }
  return list;
}

struct KnownPorts {
  std::map<std::string, const LinkFact*> ports;
  std::set<std::string> names;  ///< Of ports and of NIC legends.
};

KnownPorts known_ports(const Situation& s) {
  KnownPorts known;
  for (const LinkFact& link : s.evidence.links) {
    if (link.kind != LinkKind::kPort) continue;
    known.ports.emplace(link.owner, &link);
    known.names.insert(link.owner);
  }
  for (const auto& fact : s.evidence.topologies) {
    for (const auto& device : fact.topology.devices) {
      if (device.kind == cluster::DeviceKind::kNic && !device.name.empty()) {
        known.names.insert(device.name);
      }
    }
  }
  return known;
}

void check_list(const Situation& s,
                const logs::ConfigFact& fact,
                const NicList& list,
                const KnownPorts& known,
                Findings& findings) {
  std::vector<std::string> problems;
  std::set<std::string> fabrics;
  for (const std::string& name : list.names) {
    const auto port = known.ports.find(name);
    if (port != known.ports.end()) {
      if (!port->second->state.empty() && !port->second->is_up()) {
        problems.push_back(fmt::format("{} is {}", name, port->second->state));
      }
      if (!port->second->fabric.empty()) fabrics.insert(port->second->fabric);
    } else if (!known.names.empty() && known.names.count(name) == 0) {
      problems.push_back(fmt::format("{} is not among the devices shown", name));
    }
  }
  if (fabrics.size() > 1) problems.emplace_back("it mixes InfiniBand and Ethernet ports");
  if (problems.empty()) return;
  findings.push_back(
      Build("nic-list-mismatch", Severity::kWarning, Confidence::kMedium, fact.key)
          .say(fmt::format("{}={} does not fit the machine: {}.",
                           fact.key,
                           fact.value,
                           fmt::join(problems, "; ")))
          .fact("list", fact.value, place(s, fact.source))
          .act("Name only active ports of one fabric, in GPU order.")
          .confirm("ibstat on the same node; the NICs that the run prints at start"));
}

}  // namespace

void judge_nic_lists(const Situation& s, Findings& findings) {
  const KnownPorts known = known_ports(s);
  for (const std::string_view variable : kListVariables) {
    std::vector<const logs::ConfigFact*> facts = s.evidence.find_all(variable);
    std::set<std::string> values;
    for (const logs::ConfigFact* fact : facts) {
      if (!values.insert(fact->value).second) continue;
      const NicList list = parse_list(fact->value);
      if (!list.excludes) check_list(s, *fact, list, known, findings);
    }
    // Per-rank lists legitimately differ; only lists of several NICs are the node's.
    std::set<std::vector<std::string>> lists;
    for (const logs::ConfigFact* fact : facts) {
      NicList list = parse_list(fact->value);
      std::sort(list.names.begin(), list.names.end());
      if (list.names.size() > 1) lists.insert(std::move(list.names));
    }
    if (lists.size() > 1) {
      findings.push_back(
          Build("nic-list-mismatch", Severity::kWarning, Confidence::kMedium, std::string(variable))
              .say(fmt::format("{} is set to {} different lists: nodes that name different NICs "
                               "connect rails crosswise or not at all.",
                               variable,
                               lists.size()))
              .fact("first", facts.front()->value, place(s, facts.front()->source))
              .fact("last", facts.back()->value, place(s, facts.back()->source))
              .act("Use one list on all nodes, or check that the names mean the same rails.")
              .confirm("ibdev2netdev on both nodes"));
    }
  }
}

}  // namespace shunt::verdict::foreign
