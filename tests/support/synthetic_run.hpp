// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A made-up run for tests of measures, verdicts and reports: a small model of a link fed by a few
// ranks, with made-up numbers, played as records. What a test changes is the cause; what the
// analyser says of it must be the effect.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measure_builder.hpp"
#include "profile/recording.hpp"

namespace shunt::test {

/// A run in which a link of 1 Gbit/s between two nodes of two ranks is full.
struct SyntheticRun {
  int nodes = 2;
  int ranks_per_node = 2;
  int iterations = 5;
  int warmup = 1;
  std::optional<double> rating = 0.125e9;  ///< Bytes/s, as run.json states it.
  bool emulated = true;
  std::optional<std::uint64_t> burst_bytes = 25'000;  ///< Of the emulated link's token bucket.
  std::string provider = "net";

  // The link as it behaves.
  double wire_bytes_per_ns = 0.119;
  std::uint64_t latency_ns = 60'000;

  // What a rank does in dispatch. Times in ns.
  int chunks = 16;  ///< A rank and remote node.
  std::uint64_t put_bytes = 921'856;
  int qps = 2;
  std::uint64_t staging_ns = 2'000'000;
  std::uint64_t post_interval_ns = 20'000;    ///< From one put to the next.
  double send_wait_share = 0.0;               ///< Of the send phase.
  int window = 0;                             ///< Puts a rank may have in flight; 0: no limit.
  std::uint64_t copy_per_chunk_ns = 200'000;  ///< In the receive phase.
  std::uint64_t sync_ns = 50'000;             ///< Each synchronising phase.
  std::uint64_t send_extra_ns = 0;            ///< The send phase lasts longer than its puts.
  std::uint64_t combine_extra_ns = 0;         ///< combine_inter_node lasts longer.
  double combine_wait_share = 0.3;

  // Departures from the rule.
  std::map<int, std::uint64_t> late_ns;    ///< Entry of a rank, after the others.
  std::map<int, double> slow_factor;       ///< On a rank's own work.
  std::map<int, double> iteration_factor;  ///< On all work of an iteration (−1: warm-up).
  std::map<int, bool> missing;             ///< Ranks without a file.
  bool lose_last_arrival = false;
  double counter_factor = 1.0;  ///< The counter, relative to frames; 0: no counter.

  /// Sends every record to `visitor`, rank after rank.
  void play(profile::RecordVisitor& visitor) const;
  [[nodiscard]] profile::RecordingSummary summary() const;
  /// play() through a MeasureBuilder.
  [[nodiscard]] analysis::Measures measure() const;
};

}  // namespace shunt::test
