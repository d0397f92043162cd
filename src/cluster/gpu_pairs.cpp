// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/gpu_pairs.hpp"

#include <algorithm>
#include <set>

namespace shunt::cluster {

GpuPairs sort_gpu_pairs(const Topology& topology) {
  GpuPairs pairs;
  pairs.gpus = topology.of_kind(DeviceKind::kGpu);
  pairs.amd = topology.source.find("nvidia") == std::string::npos &&
              std::ranges::none_of(topology.cells,
                                   [](const Path& path) { return path.kind == PathKind::kNvlink; });
  for (const std::size_t gpu : pairs.gpus) pairs.complete[gpu] = true;
  for (std::size_t i = 0; i < pairs.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < pairs.gpus.size(); ++j) {
      const std::size_t a = pairs.gpus[i];
      const std::size_t b = pairs.gpus[j];
      const Path& path = topology.path(a, b);
      if (path.kind == PathKind::kUnknown) {
        ++pairs.unknown;
        pairs.complete[a] = pairs.complete[b] = false;
        continue;
      }
      if (!is_gpu_link(path.kind)) {
        pairs.bare.emplace_back(a, b);
        pairs.bare_of[a].push_back(b);
        pairs.bare_of[b].push_back(a);
        continue;
      }
      pairs.linked.emplace_back(a, b);
      ++pairs.bundle_sizes[path.links];
      for (const std::size_t gpu : {a, b}) {
        ++pairs.linked_of[gpu];
        pairs.links_of[gpu] += path.links;
        pairs.most_of[gpu] = std::max(pairs.most_of[gpu], path.links);
      }
    }
  }
  return pairs;
}

int usual_links(const GpuPairs& pairs) {
  int usual = 0;
  std::size_t most = 0;
  for (const auto& [links, count] : pairs.bundle_sizes) {
    if (count >= most) {
      usual = links;
      most = count;
    }
  }
  return usual;
}

std::vector<std::size_t> isolated(const GpuPairs& pairs) {
  std::vector<std::size_t> found;
  for (const std::size_t gpu : pairs.gpus) {
    const auto bare = pairs.bare_of.find(gpu);
    if (bare != pairs.bare_of.end() && pairs.linked_of.count(gpu) == 0 &&
        bare->second.size() >= 2) {
      found.push_back(gpu);
    }
  }
  return found;
}

bool is_regular(const GpuPairs& pairs) {
  std::set<std::size_t> partners;
  for (const std::size_t gpu : pairs.gpus) {
    if (!pairs.complete.at(gpu)) continue;
    const auto count = pairs.linked_of.find(gpu);
    partners.insert(count == pairs.linked_of.end() ? 0 : count->second);
  }
  return partners.size() <= 1;
}

std::vector<std::size_t> weak(const GpuPairs& pairs) {
  std::vector<std::size_t> found;
  const int usual = usual_links(pairs);
  for (const std::size_t gpu : pairs.gpus) {
    const auto most = pairs.most_of.find(gpu);
    if (most != pairs.most_of.end() && most->second > 0 && most->second < usual) {
      found.push_back(gpu);
    }
  }
  return found;
}

}  // namespace shunt::cluster
