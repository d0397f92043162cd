// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/clock_align.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace shunt::profile {
namespace {

constexpr int kRounds = 32;
/// Between samples closer than this a drift would be noise.
constexpr std::uint64_t kShortestBaselineNs = 1'000'000;

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace

std::string host_clock_identity() {
  auto boot = read_file("/proc/sys/kernel/random/boot_id", 4096);
  if (!boot || boot->empty()) return "";
  char space[PATH_MAX];
  // Kernels without time namespaces have one clock per boot.
  const ssize_t n = ::readlink("/proc/self/ns/time", space, sizeof(space));
  return *boot + (n > 0 ? std::string(space, static_cast<std::size_t>(n)) : std::string());
}

Result<ClockAligner> ClockAligner::create(int world,
                                          Exchange exchange,
                                          std::function<std::uint64_t()> now,
                                          const std::string& identity) {
  ClockAligner aligner(world, std::move(exchange), std::move(now));
  SHUNT_TRY(aligner.assign_clocks(identity));
  return aligner;
}

Status ClockAligner::assign_clocks(const std::string& identity) {
  auto all = exchange_(std::as_bytes(std::span<const char>(identity.data(), identity.size())));
  if (!all) return Unexpected(std::move(all).error());
  if (all->size() != static_cast<std::size_t>(world_)) {
    return fail(ErrorCode::kInternal,
                ErrorScope::kOperation,
                "clock alignment: {} identities for {} ranks",
                all->size(),
                world_);
  }
  std::map<std::string, int> known;
  clocks_ = 0;
  for (const std::vector<std::byte>& bytes : *all) {
    const std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // An unknown identity is equal to nobody's.
    const auto [entry, added] =
        name.empty() ? std::make_pair(known.end(), true) : known.try_emplace(name, clocks_);
    clock_of_.push_back(added ? clocks_++ : entry->second);
  }
  return {};
}

Status ClockAligner::sample() {
  std::vector<Round> mine;
  const int rounds = clocks_ > 1 ? kRounds : 0;
  for (int i = 0; i < rounds; ++i) {
    Round round{};
    round.enter_ns = now_();
    auto all = exchange_({});
    round.leave_ns = now_();
    if (!all) return Unexpected(std::move(all).error());
    mine.push_back(round);
  }
  // Of a single clock only the time is wanted.
  if (rounds == 0) mine.push_back({now_(), now_()});
  auto all = exchange_(bytes_of(mine));
  if (!all) return Unexpected(std::move(all).error());
  std::vector<std::vector<Round>> by_rank;
  for (const std::vector<std::byte>& bytes : *all) {
    if (bytes.size() != mine.size() * sizeof(Round)) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "clock alignment: rank {} sent {} bytes instead of {}; do all ranks run one "
                  "version?",
                  by_rank.size(),
                  bytes.size(),
                  mine.size() * sizeof(Round));
    }
    std::memcpy(by_rank.emplace_back(mine.size()).data(), bytes.data(), bytes.size());
  }
  intersect(by_rank);
  return {};
}

void ClockAligner::intersect(const std::vector<std::vector<Round>>& rounds) {
  const auto signed_gap = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a - b);
  };
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
  std::vector<Bounds> sample(static_cast<std::size_t>(clocks_), Bounds{0, -kFar, kFar});
  for (std::size_t round = 0; round < rounds[0].size(); ++round) {
    // The last to enter and the first to leave, per clock.
    std::vector<Round> edge(static_cast<std::size_t>(clocks_),
                            Round{0, std::numeric_limits<std::uint64_t>::max()});
    for (std::size_t rank = 0; rank < rounds.size(); ++rank) {
      Round& seen = edge[static_cast<std::size_t>(clock_of_[rank])];
      seen.enter_ns = std::max(seen.enter_ns, rounds[rank][round].enter_ns);
      seen.leave_ns = std::min(seen.leave_ns, rounds[rank][round].leave_ns);
    }
    for (std::size_t clock = 0; clock < sample.size(); ++clock) {
      Bounds& bounds = sample[clock];
      if (round == rounds[0].size() / 2) bounds.at_ns = edge[clock].enter_ns;
      if (clock == 0) continue;
      // enter ≤ leave in true time, whoever's: both ways round.
      bounds.low = std::max(bounds.low, signed_gap(edge[0].enter_ns, edge[clock].leave_ns));
      bounds.high = std::min(bounds.high, signed_gap(edge[0].leave_ns, edge[clock].enter_ns));
    }
  }
  sample[0].low = sample[0].high = 0;
  for (Bounds& bounds : sample) {
    // Clocks that drifted apart during the rounds leave no common value: the error is the gap.
    if (bounds.low > bounds.high) std::swap(bounds.low, bounds.high);
  }
  samples_.push_back(std::move(sample));
}

std::vector<ClockFit> ClockAligner::fits() const {
  std::vector<ClockFit> fits;
  for (int rank = 0; rank < world_; ++rank) {
    ClockFit fit;
    fit.rank = rank;
    if (samples_.empty()) {
      fit.residual_ns = std::numeric_limits<std::int64_t>::max();
      fits.push_back(fit);
      continue;
    }
    const auto clock = static_cast<std::size_t>(clock_of_[static_cast<std::size_t>(rank)]);
    const Bounds& first = samples_.front()[clock];
    const Bounds& last = samples_.back()[clock];
    const auto half = [](const Bounds& b) {
      return static_cast<std::uint64_t>(b.high - b.low + 1) / 2;
    };
    const auto middle = [](const Bounds& b) { return b.low + (b.high - b.low) / 2; };
    fit.begin_ns = first.at_ns;
    fit.offset_ns = middle(first);
    fit.residual_ns = std::max(half(first), half(last));
    if (last.at_ns > first.at_ns + kShortestBaselineNs) {
      const auto change = static_cast<double>(middle(last) - middle(first));
      fit.drift_ppb = change / static_cast<double>(last.at_ns - first.at_ns) * 1e9;
    }
    fits.push_back(fit);
  }
  return fits;
}

}  // namespace shunt::profile
