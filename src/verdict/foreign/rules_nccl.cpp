// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What NCCL's own INFO lines say of its path: sockets, one NIC, no GPUDirect, host memory between
// the GPUs of a node. They name the path, never a rate.
#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Mapping;

/// What the INFO lines of one file named, each with the line that named it first.
struct Transports {
  std::set<std::string> nets;        ///< "NET/IB/0", without the GPUDirect suffix.
  std::set<std::string> hcas;        ///< "mlx5_0:1/RoCE"
  std::set<std::string> interfaces;  ///< "eth0"
  bool gdr = false;                  ///< Some channel has the suffix.
  bool staged = false;               ///< Some RDMA channel lacks it.
  const Mapping* channel = nullptr;  ///< The first channel over a network.
  const Mapping* bare = nullptr;     ///< The first RDMA channel without GPUDirect.
  const Mapping* socket = nullptr;   ///< A channel over sockets, or the choice of them.
  const Mapping* no_ib = nullptr;
  const Mapping* gdr_off = nullptr;
  const Mapping* host_peer = nullptr;  ///< Two GPUs of a node through host memory.
  const Mapping* network = nullptr;    ///< "Using network IB"
  const Mapping* device = nullptr;
  const Mapping* system = nullptr;  ///< Head of NCCL's own model of the machine.
  bool peer_to_peer = false;

  [[nodiscard]] bool any() const {
    return channel != nullptr || network != nullptr || no_ib != nullptr || gdr_off != nullptr ||
           host_peer != nullptr || device != nullptr || system != nullptr;
  }
};

void take_channel(const Mapping& mapping, Transports& seen) {
  const std::string& path = mapping.value;
  if (seen.channel == nullptr) seen.channel = &mapping;
  std::string net = path.substr(0, path.find("/GDR"));
  net = net.substr(0, net.find('('));
  if (const std::size_t shared = net.find("/Shared"); shared != std::string::npos) {
    net.resize(shared);
  }
  seen.nets.insert(net);
  if (logs::starts_with_ci(path, "NET/Socket")) {
    if (seen.socket == nullptr) seen.socket = &mapping;
  } else if (path.find("GDR") != std::string::npos) {
    seen.gdr = true;
  } else {
    seen.staged = true;
    if (seen.bare == nullptr) seen.bare = &mapping;
  }
}

Transports transports_of(const Situation& s, int file) {
  Transports seen;
  const auto keep = [](const Mapping*& first, const Mapping& mapping) {
    if (first == nullptr) first = &mapping;
  };
  for (const Mapping& mapping : s.evidence.mappings) {
    if (mapping.source.file != file) continue;
    if (mapping.kind == "nccl-net") {
      take_channel(mapping, seen);
    } else if (mapping.kind == "nccl-hca") {
      seen.hcas.insert(mapping.value);
      keep(seen.device, mapping);
    } else if (mapping.kind == "nccl-interface") {
      seen.interfaces.insert(mapping.value);
    } else if (mapping.kind == "nccl-no-ib") {
      keep(seen.no_ib, mapping);
    } else if (mapping.kind == "nccl-gdr-off") {
      keep(seen.gdr_off, mapping);
    } else if (mapping.kind == "nccl-network") {
      keep(seen.network, mapping);
      if (logs::starts_with_ci(mapping.value, "Socket")) keep(seen.socket, mapping);
    } else if (mapping.kind == "nccl-system") {
      keep(seen.system, mapping);
    } else if (mapping.kind == "nccl-peer") {
      if (mapping.value == "SHM") keep(seen.host_peer, mapping);
      seen.peer_to_peer = seen.peer_to_peer || mapping.value != "SHM";
    }
  }
  return seen;
}

const logs::Failure* verbs_missing(const Situation& s, int file) {
  for (const logs::Failure& failure : s.evidence.failures) {
    if (failure.source.file == file && failure.pattern == "nccl-no-verbs") return &failure;
  }
  return nullptr;
}

/// Why NCCL took sockets, as far as the log says it.
std::string socket_reason(const Situation& s, int file, const Transports& seen) {
  const auto* disabled = s.evidence.find("NCCL_IB_DISABLE", file);
  if (disabled != nullptr && disabled->value == "1") return ": NCCL_IB_DISABLE is 1";
  const auto* net = s.evidence.find("NCCL_NET", file);
  if (net != nullptr && logs::equals_ci(net->value, "Socket")) return ": NCCL_NET is Socket";
  if (verbs_missing(s, file) != nullptr) return ": libibverbs could not be opened";
  if (seen.no_ib != nullptr) return ": NET/IB found no device";
  return "";
}

void sockets(const Situation& s, int file, const Transports& seen, Findings& findings) {
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  const bool one_node = shape.nodes && shape.nodes->value == 1;
  const bool channel = seen.socket->kind == "nccl-net";
  Finding finding = Build("init-failed",
                          one_node && !channel ? Severity::kInfo : Severity::kWarning,
                          channel ? Confidence::kHigh : Confidence::kMedium,
                          "NCCL network");
  finding.sentence = fmt::format(
      "NCCL runs over TCP sockets, not RDMA{}{}. Rates between nodes are those of the kernel's TCP "
      "path: they say nothing of the RDMA NICs.",
      seen.interfaces.empty() ? "" : fmt::format(" ({})", fmt::join(seen.interfaces, ", ")),
      socket_reason(s, file, seen));
  finding.evidence.push_back({"line", seen.socket->source.text, place(s, seen.socket->source)});
  if (seen.no_ib != nullptr) {
    finding.evidence.push_back({"line", seen.no_ib->source.text, place(s, seen.no_ib->source)});
  }
  finding.action =
      "Make the RDMA devices visible to the process (ibv_devinfo inside the container, "
      "/dev/infiniband, libibverbs and its provider), leave NCCL_IB_DISABLE and NCCL_NET unset, "
      "name the devices in NCCL_IB_HCA.";
  finding.confirm = "\"NET/IB : Using …\" and \"via NET/IB/n/GDRDMA\" in the next log";
  findings.push_back(std::move(finding));
}

/// Channels over RDMA: how many NICs, and whether the NIC reaches GPU memory.
void rdma_channels(const Situation& s, const Transports& seen, Findings& findings) {
  const bool one = seen.nets.size() == 1;
  const bool all_found = !seen.hcas.empty() && seen.nets.size() >= seen.hcas.size();
  const bool suspect = one && !all_found;
  Finding finding = Build(suspect ? "one-plane" : "nic-map",
                          suspect || seen.staged ? Severity::kWarning : Severity::kInfo,
                          Confidence::kMedium,
                          "NCCL channels");
  if (seen.staged) {
    finding.sentence = fmt::format(
        "{} ({}) lack the GDRDMA suffix: GPU Direct is not in use on them, so data crosses the "
        "host "
        "bridge and host memory.",
        seen.gdr ? "Some of the printed RDMA channels" : "The printed RDMA channels",
        fmt::join(seen.nets, ", "));
    finding.action =
        "List both ports in NCCL_IB_HCA; load nvidia-peermem or use dmabuf; raise "
        "NCCL_NET_GDR_LEVEL if the NIC is behind the same host bridge.";
  } else {
    finding.sentence =
        suspect ? "GPU Direct is in use."
                : fmt::format("The printed channels use {}.", fmt::join(seen.nets, ", "));
    if (suspect) finding.action = "List every port in NCCL_IB_HCA.";
  }
  if (suspect) {
    finding.sentence += fmt::format(
        " All of them use {}: a second port or NIC, if there is one, is idle, which leaves at most "
        "half of a two-port card.",
        *seen.nets.begin());
  }
  if (!seen.hcas.empty()) {
    finding.sentence += fmt::format(" NCCL found {}.", fmt::join(seen.hcas, ", "));
  }
  const Mapping& shown = seen.bare != nullptr ? *seen.bare : *seen.channel;
  finding.evidence.push_back({"line", shown.source.text, place(s, shown.source)});
  finding.confirm = "port counters of all ports before and after";
  findings.push_back(std::move(finding));
}

/// No channel lines: what was found and chosen, and nothing more.
void chosen_network(const Situation& s, const Transports& seen, Findings& findings) {
  const Mapping& shown = seen.device != nullptr ? *seen.device : *seen.network;
  std::string text;
  if (!seen.hcas.empty()) {
    text = fmt::format("NCCL found {} RDMA port{}: {}.",
                       seen.hcas.size(),
                       seen.hcas.size() == 1 ? "" : "s",
                       fmt::join(seen.hcas, ", "));
  } else {
    text = fmt::format("NCCL uses the network {}.", seen.network->value);
  }
  text += " No channel line is in the input, so nothing says which of them carry data.";
  findings.push_back(Build("nic-map", Severity::kInfo, Confidence::kHigh, "NCCL network")
                         .say(std::move(text))
                         .fact("line", shown.source.text, place(s, shown.source))
                         .act("Paste the \"Channel … via NET/…\" lines too."));
}

void host_staging(const Situation& s, int file, const Transports& seen, Findings& findings) {
  const auto* disabled = s.evidence.find("NCCL_P2P_DISABLE", file);
  const bool asked = disabled != nullptr && disabled->value == "1";
  findings.push_back(
      Build("nvlink-missing",
            Severity::kWarning,
            seen.peer_to_peer ? Confidence::kMedium : Confidence::kHigh,
            "NCCL inside the node")
          .say(fmt::format(
              "{} GPUs of one node exchange through host memory (SHM), not by NVLink or PCIe "
              "peer-to-peer{}.",
              seen.peer_to_peer ? "Some" : "The",
              asked ? ": NCCL_P2P_DISABLE is 1"
                    : ": no peer access, an IOMMU or access control in the way, or no common root"))
          .fact("line", seen.host_peer->source.text, place(s, seen.host_peer->source))
          .act(asked ? "Unset NCCL_P2P_DISABLE."
                     : "nvidia-smi topo -p2p r; disable ACS or the IOMMU for these slots.")
          .confirm("\"via P2P/…\" in the next log, and the peer-to-peer matrix"));
}

}  // namespace

void judge_nccl(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    const Transports seen = transports_of(s, file);
    if (!seen.any()) continue;
    const bool rdma = std::ranges::any_of(
        seen.nets, [](const std::string& net) { return !logs::starts_with_ci(net, "NET/Socket"); });
    if (seen.socket != nullptr && !rdma) {
      sockets(s, file, seen, findings);
    } else if (rdma) {
      rdma_channels(s, seen, findings);
    } else if (seen.no_ib != nullptr) {
      findings.push_back(
          Build("init-failed", Severity::kNotice, Confidence::kMedium, "NCCL network")
              .say("NCCL's RDMA transport found no device; what it used instead is not in the "
                   "input.")
              .fact("line", seen.no_ib->source.text, place(s, seen.no_ib->source))
              .act("ibv_devinfo inside the container; /dev/infiniband, libibverbs, NCCL_IB_HCA."));
    } else if (seen.device != nullptr || seen.network != nullptr) {
      chosen_network(s, seen, findings);
    } else if (seen.system != nullptr) {
      findings.push_back(
          Build("nic-map", Severity::kInfo, Confidence::kHigh, "NCCL topology search")
              .say("NCCL's model of the machine: its bandwidths are assumptions of the search, "
                   "nothing in it was measured.")
              .fact("line", seen.system->source.text, place(s, seen.system->source)));
    }
    if (seen.gdr_off != nullptr) {
      findings.push_back(
          Build("pcie-bound", Severity::kWarning, Confidence::kHigh, "GPUDirect")
              .say("NCCL says that GPUDirect RDMA is off for a NIC: its data crosses host memory.")
              .fact("line", seen.gdr_off->source.text, place(s, seen.gdr_off->source))
              .act("Load nvidia-peermem (or use dmabuf), raise NCCL_NET_GDR_LEVEL if GPU and NIC "
                   "share a host bridge."));
    }
    if (seen.host_peer != nullptr) host_staging(s, file, seen, findings);
  }
}

}  // namespace shunt::verdict::foreign
