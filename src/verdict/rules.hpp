// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to verdict/: one function a rule. Each gives at most one finding an operation, and names
// what it lacks where it cannot decide.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/measures.hpp"
#include "profile/recording.hpp"
#include "verdict/finding.hpp"

namespace shunt::verdict {

struct Facts {
  const profile::RecordingSummary& recording;
  const analysis::Measures& measures;

  [[nodiscard]] const profile::RunConfig& config() const { return recording.run.config; }
  /// Bytes per ns of one link and direction.
  [[nodiscard]] std::optional<double> rating() const;
};

struct RuleResult {
  std::vector<Finding> findings;
  std::optional<std::string> missing;
};

RuleResult saturated(const Facts& facts);
RuleResult underused(const Facts& facts);
RuleResult posting_time(const Facts& facts);
RuleResult receiver_waits(const Facts& facts);
RuleResult receiver_idle(const Facts& facts);
RuleResult combine_stall(const Facts& facts);
RuleResult barrier_bound(const Facts& facts);
RuleResult few_qps(const Facts& facts);
RuleResult few_blocks(const Facts& facts);
RuleResult small_messages(const Facts& facts);
RuleResult slow_rank(const Facts& facts);
RuleResult skew(const Facts& facts);
RuleResult cold_start(const Facts& facts);
RuleResult counters_disagree(const Facts& facts);

// What several rules share.

/// What a link needs to be kept busy.
struct Pipe {
  double latency_ns = 0;   ///< Least seen, less the put's own time on the link.
  double bound = 1;        ///< bytes / (bytes + rating · latency): what this batch allows.
  double puts_needed = 1;  ///< In flight: 1 on the wire + rating · latency / put.
  double burst_bytes = 0;  ///< Of an emulated link's token bucket.
  bool small_batch = false;
  bool filled = true;  ///< Mean puts in flight ≥ puts_needed.
};
[[nodiscard]] Pipe pipe_of(const Facts& facts, const analysis::LinkMeasure& link);

/// True where the bytes of an operation are too few to tell an emulated link's rate from its burst.
[[nodiscard]] bool burst_hides_rate(const Facts& facts, const analysis::LinkMeasure& link);

/// True where the link has a utilisation, it is below kUnderused, the batch could do better, and no
/// link of another node in the other direction is nearly full: with several senders into one
/// receiver that one is the limit.
[[nodiscard]] bool is_underused(const Facts& facts,
                                const analysis::OperationMeasure& operation,
                                const analysis::LinkMeasure& link);

/// "node 0 → node 1", "2 links: node 0 → node 1, node 1 → node 0".
[[nodiscard]] std::string name_links(const std::vector<const analysis::LinkMeasure*>& links);

/// The link with the least utilisation (rate where there is none).
[[nodiscard]] const analysis::LinkMeasure* slowest_of(
    const std::vector<const analysis::LinkMeasure*>& links);

/// "1 Gb/s = 0.125 GB/s". REQUIRES: a rating.
[[nodiscard]] std::string rating_text(const Facts& facts);
[[nodiscard]] std::string ns_text(double ns);
[[nodiscard]] std::string bytes_text(double bytes);
[[nodiscard]] std::string percent(double share);
[[nodiscard]] std::string number(double value);

inline constexpr const char* kNoRating = "no link rating: run with --link-rate or --emulate-link";
inline constexpr const char* kNoLinks = "one node: nothing crosses a link";
inline constexpr const char* kNoWindows = "no operation has all of its puts and arrivals";

/// kNoLinks, kNoWindows or kNoRating, whichever keeps rules on utilisation from deciding.
[[nodiscard]] std::optional<std::string> missing_for_utilisation(const Facts& facts);

}  // namespace shunt::verdict
