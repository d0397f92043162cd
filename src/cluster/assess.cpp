// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/assess.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cluster/gpu_pairs.hpp"

namespace shunt::cluster {
namespace {

using Devices = std::vector<std::size_t>;

class Assessor {
 public:
  explicit Assessor(const Topology& topology) : topology_(topology) {
    out_.pairing = pair_nics(topology);
    out_.cells.resize(topology.devices.size() * topology.devices.size());
  }

  Assessment run() {
    mark_gpu_links();
    for (const GpuNics& gpu : out_.pairing.gpus) {
      if (gpu.assigned) both(gpu.gpu, *gpu.assigned, [](CellMark& mark) { mark.own = true; });
    }
    if (!is_coherent(topology_)) mark_far_nics();
    mark_shared_nics();
    mark_index_trap();
    return std::move(out_);
  }

 private:
  template <typename Set>
  void both(std::size_t a, std::size_t b, Set set) {
    set(out_.cells[a * topology_.devices.size() + b]);
    set(out_.cells[b * topology_.devices.size() + a]);
  }
  void problem(std::size_t a, std::size_t b) {
    both(a, b, [](CellMark& mark) { mark.problem = true; });
  }
  [[nodiscard]] std::string labels(const Devices& devices) const {
    std::string text;
    for (const std::size_t device : devices) {
      text += (text.empty() ? "" : ", ") + topology_.devices[device].label;
    }
    return text;
  }

  void mark_pairs_of(const GpuPairs& pairs, const Devices& gpus) {
    for (const auto* list : {&pairs.linked, &pairs.bare}) {
      for (const auto& [a, b] : *list) {
        const bool named = std::ranges::count(gpus, a) + std::ranges::count(gpus, b) > 0;
        if (named) problem(a, b);
      }
    }
  }

  void mark_gpu_links() {
    const GpuPairs pairs = sort_gpu_pairs(topology_);
    if (topology_.pcie_view || pairs.linked.empty()) return;
    const int usual = usual_links(pairs);
    const std::string bundle = usual > 0 ? fmt::format("{} links", usual) : pairs.link();
    if (const Devices lost = isolated(pairs); !lost.empty() && pairs.gpus.size() > 2) {
      mark_pairs_of(pairs, lost);
      out_.problems.push_back(
          fmt::format("{}: no {}, where other pairs have {}", labels(lost), pairs.link(), bundle));
    } else if (!pairs.bare.empty()) {
      // The same number of partners everywhere is how boards without a switch are built.
      if (is_regular(pairs)) return;
      for (const auto& [a, b] : pairs.bare) problem(a, b);
      out_.problems.push_back(fmt::format(
          "{} of {} GPU pairs have no {}", pairs.bare.size(), pairs.total(), pairs.link()));
    } else if (const Devices few = weak(pairs);
               !few.empty() && few.size() * 2 <= pairs.gpus.size()) {
      mark_pairs_of(pairs, few);
      out_.problems.push_back(fmt::format("{}: {} links, where the others have {}",
                                          labels(few),
                                          pairs.most_of.at(few.front()),
                                          usual));
    }
  }

  void mark_far_nics() {
    std::map<PathKind, Devices> far;
    for (const GpuNics& gpu : out_.pairing.gpus) {
      if (!gpu.assigned || is_near(gpu.kind)) continue;
      far[gpu.kind].push_back(gpu.gpu);
      problem(gpu.gpu, *gpu.assigned);
    }
    for (const auto& [kind, gpus] : far) {
      out_.problems.push_back(fmt::format(
          "{}: the nearest NIC is {}, beyond PCIe bridges", labels(gpus), to_string(kind)));
    }
  }

  void mark_shared_nics() {
    for (const auto& [nic, users] : nic_use(out_.pairing).users) {
      if (users.size() < 2) continue;
      for (const std::size_t gpu : users) problem(gpu, nic);
      out_.problems.push_back(fmt::format("{}: shared by {}, 1/{} of its rate each",
                                          topology_.devices[nic].label,
                                          labels(users),
                                          users.size()));
    }
  }

  void mark_index_trap() {
    for (const IndexTrap& trap : index_traps(topology_, out_.pairing)) {
      both(trap.gpu->gpu, trap.nic, [](CellMark& mark) { mark.trap = true; });
    }
  }

  const Topology& topology_;
  Assessment out_;
};

}  // namespace

Assessment assess(const Topology& topology) {
  return Assessor(topology).run();
}

bool is_coherent(const Topology& topology) {
  return std::ranges::any_of(topology.devices, [](const Device& device) {
    return device.kind == DeviceKind::kGpu && !device.own_numa.empty();
  });
}

bool looks_virtual(const Topology& topology) {
  std::set<std::string> cpus;
  bool spans = false;
  for (const Device& device : topology.devices) {
    if (device.kind != DeviceKind::kGpu || device.cpus.empty()) continue;
    cpus.insert(device.cpus);
    spans = spans || device.numa.find('-') != std::string::npos;
  }
  return cpus.size() == 1 && spans;
}

}  // namespace shunt::cluster
