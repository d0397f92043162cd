// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// GPU to GPU links of one matrix, sorted by what they say. in: Topology → out: GpuPairs, and what
// stands out in them: shared by the verdict and by the drawn matrix. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "cluster/topology.hpp"

namespace shunt::cluster {

struct GpuPairs {
  using Pair = std::pair<std::size_t, std::size_t>;

  std::vector<std::size_t> gpus;
  std::vector<Pair> linked;
  std::vector<Pair> bare;  ///< Known, and no GPU link.
  std::size_t unknown = 0;
  std::map<std::size_t, std::vector<std::size_t>> bare_of;
  std::map<std::size_t, std::size_t> linked_of;
  std::map<std::size_t, int> links_of;      ///< Sum of bonded links of a GPU.
  std::map<std::size_t, int> most_of;       ///< Largest bundle of a GPU.
  std::map<std::size_t, bool> complete;     ///< All pairs of the GPU are known.
  std::map<int, std::size_t> bundle_sizes;  ///< Bonded links of a pair → pairs.
  bool amd = false;

  [[nodiscard]] std::size_t total() const { return gpus.size() * (gpus.size() - 1) / 2; }
  [[nodiscard]] const char* link() const { return amd ? "xGMI" : "NVLink"; }
};

[[nodiscard]] GpuPairs sort_gpu_pairs(const Topology& topology);

/// The number of bonded links that most linked pairs have.
[[nodiscard]] int usual_links(const GpuPairs& pairs);
/// GPUs that have no link at all where the others are all joined.
[[nodiscard]] std::vector<std::size_t> isolated(const GpuPairs& pairs);
/// All GPUs have as many partners as each other: how boards without a switch are built.
[[nodiscard]] bool is_regular(const GpuPairs& pairs);
/// GPUs all of whose bundles are smaller than what the others have among themselves.
[[nodiscard]] std::vector<std::size_t> weak(const GpuPairs& pairs);

}  // namespace shunt::cluster
