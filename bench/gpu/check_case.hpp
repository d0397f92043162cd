// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the correctness cases are made of. in: Case, seed → out: routing of the world, options and
// geometry of its Buffers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "engine/cuda/buffer.hpp"
#include "memory/layout.hpp"
#include "support/reference.hpp"

namespace shunt::bench::gpu {

using testing::WorldCase;

struct Case {
  std::string name;
  int experts_per_rank = 2;
  int topk = 4;
  std::int64_t hidden = 264;
  DType dtype = DType::kBF16;
  DType wire = DType::kBF16;
  std::vector<std::int64_t> tokens = {0, 1, 63, 64, 65, 100};  ///< By rank, in turn.
  double dropped = 0.0;
  int hot_experts = 0;   ///< > 0: ids come from the first so many experts alone.
  double capacity = -1;  ///< Share of the rows that an output has room for; −1: all.
  int rounds = 2;
  bool delays = false;
  bool plan_on_device = false;  ///< Before every dispatch.
  int chunk_tokens = 7;         ///< These four: between nodes only.
  int credits = 2;
  int proxy_threads = 1;
  int rdma_blocks = 1;
  int blocks = 3;
  int warps = 4;
  int row_warps = 1;
  HeapKind heap = HeapKind::kAllocated;
  bool peer_atomics = true;
  std::optional<memory::AheadRows> ahead;  ///< Which rows of combine come ahead.
};

/// Cases, each the usual one with something changed.
class CaseList {
 public:
  template <typename Change>
  void add(const char* name, Change&& change) {
    Case& c = cases_.emplace_back();
    c.name = name;
    change(c);
  }
  [[nodiscard]] std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
};

inline WorldCase world_case(const Case& c, int world, int ranks_per_node, std::uint64_t seed) {
  WorldCase w;
  w.world = world;
  w.ranks_per_node = ranks_per_node;
  w.experts = c.experts_per_rank * world;
  w.topk = c.topk;
  w.hidden = c.hidden;
  w.dtype = c.dtype;
  w.wire = c.wire;
  Random random(seed);
  const int range = c.hot_experts > 0 ? c.hot_experts : w.experts;
  w.ids.resize(static_cast<std::size_t>(world));
  for (std::size_t r = 0; r < w.ids.size(); ++r) {
    const std::int64_t slots = c.tokens[r % c.tokens.size()] * c.topk;
    for (std::int64_t i = 0; i < slots; ++i) {
      w.ids[r].push_back(random.uniform() < c.dropped ? -1
                                                      : static_cast<std::int32_t>(random.below(
                                                            static_cast<std::uint64_t>(range))));
    }
  }
  return w;
}

inline BufferOptions options_of(const Case& c, const WorldCase& w) {
  BufferOptions o;
  o.max_tokens = *std::max_element(c.tokens.begin(), c.tokens.end());
  o.chunk_tokens = c.chunk_tokens;
  o.credits = c.credits;
  o.proxy_threads = c.proxy_threads;
  o.ranks_per_node = w.ranks_per_node;
  o.experts = w.experts;
  o.topk = w.topk;
  o.hidden = w.hidden;
  o.dtype = w.dtype;
  o.wire_dtype = w.wire;
  o.heap_bytes = std::size_t{64} << 20;
  o.deadline_ns = 10'000'000'000;
  return o;
}

/// `c.blocks` blocks work inside the node, whatever else there is.
inline engine::cuda::Geometry geometry_of(const Case& c, const WorldCase& w) {
  const int others = w.world > w.ranks_per_node ? 2 * c.rdma_blocks : 0;
  return {c.blocks + others, c.warps, c.row_warps, c.rdma_blocks};
}

}  // namespace shunt::bench::gpu
