// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A matrix of rates as pairs: what its rules judge and what its drawing marks are one and the same.
#pragma once

#include <cstddef>
#include <vector>

#include "logs/rate_matrix_facts.hpp"

namespace shunt::verdict::foreign {

/// A pair stays behind if it has less than this part of the best of its kind.
inline constexpr double kBehind = 0.6;

struct RatePair {
  int from = 0;  ///< −1: the host.
  int to = 0;
  double gbs = 0;         ///< One direction.
  std::size_t cell = 0;   ///< Index into RateMatrix::cells.
  bool crossing = false;  ///< Between two nodes, where the matrix shows that there are several.
};

/// Device to device, without the diagonal and without CPUs; figures of both directions halved.
/// In a matrix of ranks those of two nodes are marked, where the figures fall into such blocks.
[[nodiscard]] std::vector<RatePair> device_pairs(const logs::RateMatrix& matrix);
/// Host to device, from a matrix of its own or from the rows of CPUs.
[[nodiscard]] std::vector<RatePair> host_pairs(const logs::RateMatrix& matrix);

/// Ranks a node as the figures of a matrix of ranks show it: pairs inside blocks of so many
/// neighbours are at least 1.5 × as fast as those between blocks. 0: no such blocks.
[[nodiscard]] std::size_t block_of(const logs::RateMatrix& matrix);

/// The best rate of the pairs that are (or are not) crossing; 0 if there are none.
[[nodiscard]] double best_of(const std::vector<RatePair>& pairs, bool crossing = false);
/// Those below kBehind of the best of their kind.
[[nodiscard]] std::vector<RatePair> behind(const std::vector<RatePair>& pairs);

/// For each cell whether it stays behind; all false where peer access was off.
[[nodiscard]] std::vector<bool> cells_behind(const logs::RateMatrix& matrix);

}  // namespace shunt::verdict::foreign
