// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Who is where: pure arithmetic on (world, ranks per node). Rank r = node · ranks_per_node + local.
#pragma once

#include <cstdint>

#include "shunt/result.hpp"

namespace shunt::cluster {

/// The regular shape of a world: `nodes` domains of `ranks_per_node` ranks that reach each other's
/// memory by load and store. RDMA runs along rails only (same local index on every node).
struct Shape {
  int world = 1;
  int ranks_per_node = 1;
  int nodes = 1;

  /// Refuses a world that ranks_per_node does not divide.
  [[nodiscard]] static Result<Shape> create(int world, int ranks_per_node);

  [[nodiscard]] constexpr int node_of(int rank) const { return rank / ranks_per_node; }
  [[nodiscard]] constexpr int local_of(int rank) const { return rank % ranks_per_node; }
  [[nodiscard]] constexpr int rank_of(int node, int local) const {
    return node * ranks_per_node + local;
  }
  /// The rank of `node` that receives for `source` and forwards inside its node.
  [[nodiscard]] constexpr int proxy(int source, int node) const {
    return rank_of(node, local_of(source));
  }
  /// Remote nodes of `node` numbered 0 … nodes−2, in ascending node order: the index of a rail
  /// peer.
  [[nodiscard]] constexpr int peer_index(int node, int remote) const {
    return remote < node ? remote : remote - 1;
  }
  [[nodiscard]] constexpr int peer_node(int node, int index) const {
    return index < node ? index : index + 1;
  }
  friend bool operator==(const Shape&, const Shape&) = default;
};

}  // namespace shunt::cluster
