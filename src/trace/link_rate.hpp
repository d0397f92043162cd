// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace shunt::trace {

/// Bytes over time per link direction, in bins of equal width. Memory: 8 KiB-bins × links.
class LinkRate {
 public:
  using Link = std::pair<int, int>;  ///< From node, to node (−1: all others).

  /// Bins cover [begin, end]; what lies outside counts in the first or last.
  LinkRate(std::uint64_t begin_ns, std::uint64_t end_ns);

  /// `bytes` that crossed evenly between the two times; not one is lost in rounding.
  void add(Link link, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t bin_ns() const { return bin_ns_; }
  [[nodiscard]] std::uint64_t bin_begin_ns(std::size_t bin) const { return begin_ + bin * bin_ns_; }
  [[nodiscard]] const std::map<Link, std::vector<std::uint64_t>>& links() const { return links_; }

 private:
  [[nodiscard]] std::size_t bin_of(std::uint64_t t) const;

  std::uint64_t begin_;
  std::uint64_t bin_ns_;
  std::size_t bins_;
  std::map<Link, std::vector<std::uint64_t>> links_;
};

}  // namespace shunt::trace
