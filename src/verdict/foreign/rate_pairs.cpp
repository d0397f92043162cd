// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/rate_pairs.hpp"

#include <algorithm>

namespace shunt::verdict::foreign {
namespace {

using logs::RateMatrix;

constexpr double kApart = 1.5;

bool is_host(const RateMatrix& matrix, int device) {
  return std::ranges::find(matrix.hosts, device) != matrix.hosts.end();
}

std::vector<RatePair> pairs_of(const RateMatrix& matrix) {
  std::vector<RatePair> pairs;
  if (matrix.host_rows) return pairs;
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      const int from = matrix.rows[r];
      const int to = matrix.columns[c];
      const auto cell = matrix.at(r, c);
      if (from == to || is_host(matrix, from) || is_host(matrix, to) || !cell || *cell <= 0) {
        continue;
      }
      pairs.push_back({from,
                       to,
                       matrix.bidirectional ? *cell / 2 : *cell,
                       r * matrix.columns.size() + c,
                       false});
    }
  }
  return pairs;
}

/// The value below which `part` of them lie; 0 of none.
double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

/// How much faster pairs inside blocks of `size` are than those between, up to a quarter of either
/// left out of account; 0 if one kind is missing.
double contrast(const std::vector<RatePair>& pairs, std::size_t size) {
  std::vector<double> inside;
  std::vector<double> between;
  const int block = static_cast<int>(size);
  for (const RatePair& pair : pairs) {
    (pair.from / block == pair.to / block ? inside : between).push_back(pair.gbs);
  }
  const double slow = quantile(std::move(between), 0.75);
  return slow > 0 ? quantile(std::move(inside), 0.25) / slow : 0;
}

}  // namespace

std::size_t block_of(const RateMatrix& matrix) {
  if (!matrix.ranks || matrix.rows.size() != matrix.columns.size()) return 0;
  const auto pairs = pairs_of(matrix);
  const std::size_t count = matrix.rows.size();
  std::size_t best = 0;
  double most = kApart;
  for (std::size_t size = 2; size * 2 <= count; ++size) {
    if (count % size != 0) continue;
    const double apart = contrast(pairs, size);
    // The largest blocks that are about as far apart: smaller ones only cut a node.
    if (apart < kApart || apart < 0.8 * most) continue;
    best = size;
    most = std::max(most, apart);
  }
  return best;
}

std::vector<RatePair> device_pairs(const RateMatrix& matrix) {
  auto pairs = pairs_of(matrix);
  const int block = static_cast<int>(block_of(matrix));
  if (block == 0) return pairs;
  for (RatePair& pair : pairs) pair.crossing = pair.from / block != pair.to / block;
  return pairs;
}

std::vector<RatePair> host_pairs(const RateMatrix& matrix) {
  std::vector<RatePair> pairs;
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    if (!matrix.host_rows && !is_host(matrix, matrix.rows[r])) continue;
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      const auto cell = matrix.at(r, c);
      if (is_host(matrix, matrix.columns[c]) || !cell || *cell <= 0) continue;
      pairs.push_back({-1,
                       matrix.columns[c],
                       matrix.bidirectional ? *cell / 2 : *cell,
                       r * matrix.columns.size() + c,
                       false});
    }
  }
  return pairs;
}

double best_of(const std::vector<RatePair>& pairs, bool crossing) {
  double most = 0;
  for (const RatePair& pair : pairs) {
    if (pair.crossing == crossing) most = std::max(most, pair.gbs);
  }
  return most;
}

std::vector<RatePair> behind(const std::vector<RatePair>& pairs) {
  const double inside = best_of(pairs, false);
  const double crossing = best_of(pairs, true);
  std::vector<RatePair> low;
  for (const RatePair& pair : pairs) {
    if (pair.gbs < kBehind * (pair.crossing ? crossing : inside)) low.push_back(pair);
  }
  return low;
}

std::vector<bool> cells_behind(const RateMatrix& matrix) {
  std::vector<bool> marked(matrix.cells.size(), false);
  if (matrix.peer_off) return marked;
  for (const RatePair& pair : behind(device_pairs(matrix))) marked[pair.cell] = true;
  // A GPU is near one socket and far from the other: only one that is slow from all of them counts.
  const auto hosts = host_pairs(matrix);
  const double most = best_of(hosts);
  for (const RatePair& pair : hosts) {
    const bool slow = std::ranges::none_of(hosts, [&](const RatePair& other) {
      return other.to == pair.to && other.gbs >= kBehind * most;
    });
    if (slow) marked[pair.cell] = true;
  }
  return marked;
}

}  // namespace shunt::verdict::foreign
