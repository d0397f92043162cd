// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One shape of a world over the mock fabric, with every combination of what its ranks may hold.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "support/mock_world.hpp"

namespace shunt::testing {

struct Sweep {
  int nodes = 1;
  int ranks_per_node = 1;
  int experts_per_rank = 1;
  std::int64_t hidden = 8;
  std::vector<int> topk;
  std::vector<std::vector<std::int64_t>> tokens;  ///< A list is dealt to the ranks in turn.
};

/// Each combination with and without dropped slots, under `rules` of its seed.
inline void expect_every_element_right(const Sweep& sweep,
                                       const std::function<Rules(std::uint64_t seed)>& rules) {
  std::uint64_t seed = 1;
  for (const int topk : sweep.topk) {
    for (const std::vector<std::int64_t>& tokens : sweep.tokens) {
      for (const double dropped : {0.0, 0.4}) {
        WorldCase c;
        c.world = sweep.nodes * sweep.ranks_per_node;
        c.ranks_per_node = sweep.ranks_per_node;
        c.experts = c.world * sweep.experts_per_rank;
        c.topk = topk;
        c.hidden = sweep.hidden;
        c.ids = random_ids(c, tokens, dropped, ++seed);
        const Status status = run_rounds(c, rules(seed));
        ASSERT_TRUE(status) << status.error().to_string() << " topk " << topk << " tokens "
                            << tokens[0] << " dropped " << dropped;
      }
    }
  }
}

}  // namespace shunt::testing
