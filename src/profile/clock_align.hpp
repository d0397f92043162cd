// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The clocks of all ranks against one. in: an all-gather and each rank's clock → out: ClockFit per
// rank, with a bound of its error that holds for any delay of the messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "profile/run.hpp"
#include "shunt/result.hpp"

namespace shunt::profile {

/// What must be equal for two processes to read one CLOCK_MONOTONIC: boot and time namespace. Empty
/// if the system does not tell.
[[nodiscard]] std::string host_clock_identity();

/// Everyone gives bytes and gets everyone's, in rank order: World::all_gather. No rank returns
/// before all have entered, which is all that the estimate rests on.
using Exchange =
    std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte> mine)>;

/// Ranks whose identities are equal share a clock: offset and residual 0 among them. For the others
/// each round bounds the offset from both sides, since nobody leaves a round before everybody has
/// entered it; the bounds of all rounds and of all ranks on either clock are intersected, so that
/// the rounds with the least delay decide. The residual is half the width that is left: some 10 µs
/// over a LAN. All calls are collective; the reference is rank 0's clock.
class ClockAligner {
 public:
  /// `now` is the rank's clock (now_ns), `identity` host_clock_identity(); tests give their own.
  [[nodiscard]] static Result<ClockAligner> create(int world,
                                                   Exchange exchange,
                                                   std::function<std::uint64_t()> now,
                                                   const std::string& identity);

  /// Once before the first operation, once after the last; more often only narrows the middle.
  [[nodiscard]] Status sample();

  /// By rank, the same on every rank. Offset from the first sample, drift from first to last;
  /// without a sample all zero with an unbounded residual.
  [[nodiscard]] std::vector<ClockFit> fits() const;

 private:
  /// Bounds of reference − clock, for one clock at one sample.
  struct Bounds {
    std::uint64_t at_ns = 0;  ///< On the clock itself.
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  struct Round {
    std::uint64_t enter_ns;
    std::uint64_t leave_ns;
  };

  ClockAligner(int world, Exchange exchange, std::function<std::uint64_t()> now)
      : world_(world), exchange_(std::move(exchange)), now_(std::move(now)) {}

  [[nodiscard]] Status assign_clocks(const std::string& identity);
  void intersect(const std::vector<std::vector<Round>>& rounds);

  int world_;
  Exchange exchange_;
  std::function<std::uint64_t()> now_;
  std::vector<int> clock_of_;  ///< By rank; 0 is the reference.
  int clocks_ = 1;
  std::vector<std::vector<Bounds>> samples_;  ///< By sample, then by clock.
};

}  // namespace shunt::profile
