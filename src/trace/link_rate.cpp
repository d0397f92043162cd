// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/link_rate.hpp"

#include <algorithm>

namespace shunt::trace {
namespace {

constexpr std::uint64_t kShortestBinNs = 10'000;
constexpr std::uint64_t kMostBins = 8192;

/// 10, 20, 50, 100 … µs: the first at which the run fits.
std::uint64_t choose_bin(std::uint64_t range_ns) {
  std::uint64_t decade = kShortestBinNs;
  for (;;) {
    for (const std::uint64_t factor : {1U, 2U, 5U}) {
      if (range_ns / (decade * factor) < kMostBins) return decade * factor;
    }
    decade *= 10;
  }
}

}  // namespace

LinkRate::LinkRate(std::uint64_t begin_ns, std::uint64_t end_ns)
    : begin_(begin_ns),
      bin_ns_(choose_bin(end_ns - begin_ns)),
      bins_((end_ns - begin_ns) / bin_ns_ + 1) {}

std::size_t LinkRate::bin_of(std::uint64_t t) const {
  if (t <= begin_) return 0;
  return std::min<std::size_t>((t - begin_) / bin_ns_, bins_ - 1);
}

void LinkRate::add(Link link, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes) {
  std::vector<std::uint64_t>& bins = links_[link];
  bins.resize(bins_);
  const std::size_t first = bin_of(begin_ns);
  const std::size_t last = bin_of(end_ns);
  const double span = end_ns > begin_ns ? static_cast<double>(end_ns - begin_ns) : 1.0;
  std::uint64_t placed = 0;
  for (std::size_t bin = first; bin < last; ++bin) {
    const auto until = static_cast<double>(bin_begin_ns(bin + 1) - begin_ns);
    const auto sum = static_cast<std::uint64_t>(static_cast<double>(bytes) * (until / span));
    const std::uint64_t upto = std::clamp(sum, placed, bytes);
    bins[bin] += upto - placed;
    placed = upto;
  }
  bins[last] += bytes - placed;
}

}  // namespace shunt::trace
