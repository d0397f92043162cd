// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/shape.hpp"

#include "base/error.hpp"

namespace shunt::cluster {

Result<Shape> Shape::create(int world, int ranks_per_node) {
  if (world < 1) return usage_error("world size {} is not allowed; at least 1 rank", world);
  if (ranks_per_node < 1) {
    return usage_error("ranks per node {} is not allowed; at least 1", ranks_per_node);
  }
  if (world % ranks_per_node != 0) {
    return usage_error("{} ranks do not divide into nodes of {}; every node has the same number",
                       world,
                       ranks_per_node);
  }
  return Shape{world, ranks_per_node, world / ranks_per_node};
}

}  // namespace shunt::cluster
