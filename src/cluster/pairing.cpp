// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/pairing.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace shunt::cluster {
namespace {

/// Kuhn's augmenting paths: sizes are tens, clarity wins.
class Matching {
 public:
  explicit Matching(const std::vector<GpuNics>& gpus) : gpus_(gpus) {}

  void run() {
    std::vector<std::size_t> order(gpus_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // A GPU that is far from every NIC must not take the NIC that is near another.
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return gpus_[a].kind < gpus_[b].kind;
    });
    for (const std::size_t gpu : order) {
      std::set<std::size_t> seen;
      augment(gpu, seen);
    }
  }

  [[nodiscard]] const std::map<std::size_t, std::size_t>& gpu_of_nic() const { return owner_; }

 private:
  bool augment(std::size_t gpu, std::set<std::size_t>& seen) {
    // A free NIC before one that must be taken from another GPU: equal choices keep their order.
    for (const std::size_t nic : gpus_[gpu].nearest) {
      if (owner_.count(nic) == 0 && seen.insert(nic).second) {
        owner_[nic] = gpu;
        return true;
      }
    }
    for (const std::size_t nic : gpus_[gpu].nearest) {
      if (!seen.insert(nic).second) {
        continue;
      }
      const auto owner = owner_.find(nic);
      if (owner == owner_.end() || augment(owner->second, seen)) {
        owner_[nic] = gpu;
        return true;
      }
    }
    return false;
  }

  const std::vector<GpuNics>& gpus_;
  std::map<std::size_t, std::size_t> owner_;
};

GpuNics nearest_of(const Topology& topology, std::size_t gpu) {
  GpuNics found;
  found.gpu = gpu;
  bool complete = true;
  for (const std::size_t nic : topology.of_kind(DeviceKind::kNic)) {
    const PathKind kind = topology.path(gpu, nic).kind;
    if (kind == PathKind::kUnknown || topology.devices[nic].state == "DOWN") {
      complete = complete && kind != PathKind::kUnknown;
      continue;
    }
    if (kind < found.kind) {
      found.kind = kind;
      found.nearest.clear();
    }
    if (kind == found.kind) {
      found.nearest.push_back(nic);
    }
  }
  // A cut row may lack exactly the near NIC: a far one proves nothing.
  if (!complete && !is_near(found.kind)) {
    return GpuNics{gpu, PathKind::kUnknown, {}, std::nullopt};
  }
  return found;
}

void assign(Pairing& pairing) {
  Matching matching(pairing.gpus);
  matching.run();
  std::map<std::size_t, std::size_t> users;
  for (const auto& entry : matching.gpu_of_nic()) {
    pairing.gpus[entry.second].assigned = entry.first;
    ++users[entry.first];
  }
  for (GpuNics& gpu : pairing.gpus) {
    if (gpu.assigned || gpu.nearest.empty()) {
      continue;
    }
    gpu.assigned = *std::min_element(
        gpu.nearest.begin(), gpu.nearest.end(), [&users](std::size_t a, std::size_t b) {
          return users[a] < users[b];
        });
    ++users[*gpu.assigned];
  }
}

}  // namespace

Pairing pair_nics(const Topology& topology) {
  Pairing pairing;
  for (const std::size_t gpu : topology.of_kind(DeviceKind::kGpu)) {
    pairing.gpus.push_back(nearest_of(topology, gpu));
  }
  assign(pairing);
  for (const std::size_t nic : topology.of_kind(DeviceKind::kNic)) {
    const bool used = std::ranges::any_of(
        pairing.gpus, [nic](const GpuNics& gpu) { return gpu.assigned == nic; });
    if (!used) {
      pairing.spare.push_back(nic);
    }
  }
  return pairing;
}

std::size_t NicUse::most() const {
  std::size_t most = 0;
  for (const auto& [nic, sharers] : users) most = std::max(most, sharers.size());
  return most;
}

NicUse nic_use(const Pairing& pairing) {
  NicUse use;
  bool any_near = false;
  for (const GpuNics& gpu : pairing.gpus) {
    use.gpus += gpu.assigned ? 1 : 0;
    any_near = any_near || (gpu.assigned && is_near(gpu.kind));
  }
  use.all_far = use.gpus > 0 && !any_near;
  for (const GpuNics& gpu : pairing.gpus) {
    if (gpu.assigned && (use.all_far || is_near(gpu.kind))) {
      use.users[*gpu.assigned].push_back(gpu.gpu);
    }
  }
  return use;
}

std::vector<IndexTrap> index_traps(const Topology& topology, const Pairing& pairing) {
  const std::vector<std::size_t> nics = topology.of_kind(DeviceKind::kNic);
  std::vector<IndexTrap> traps;
  for (std::size_t i = 0; i < pairing.gpus.size() && i < nics.size(); ++i) {
    const GpuNics& gpu = pairing.gpus[i];
    const PathKind kind = topology.path(gpu.gpu, nics[i]).kind;
    if (!gpu.assigned || !is_near(gpu.kind) || is_near(kind) || kind == PathKind::kUnknown) {
      continue;
    }
    traps.push_back({&gpu, nics[i], kind});
  }
  return traps;
}

}  // namespace shunt::cluster
