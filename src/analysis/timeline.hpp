// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One iteration as a picture needs it. in: records of the chosen operations → out: Timeline. Feed
// it in a second pass over the run, when Measures has chosen the iteration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profile/recording.hpp"
#include "profile/run.hpp"

namespace shunt::analysis {

/// A piece of a lane; times in ns since the timeline's origin.
struct TimelinePiece {
  record::Phase phase = record::Phase::kNone;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// One rank and phase group.
struct TimelineLane {
  int rank = 0;
  std::string group;                  ///< "send", "receive", "own node", "sync"
  std::vector<TimelinePiece> phases;  ///< From the first block's begin to the last one's end.
  std::vector<TimelinePiece> work;    ///< What blocks copied, reduced, posted; waits left out.
};

/// What a link carried.
struct TimelineLink {
  std::string name;
  struct Step {
    std::uint64_t time = 0;
    int in_flight = 0;
  };
  std::vector<Step> in_flight;
  /// Bytes that landed, over the time since they were posted or since the landing before.
  struct Flow {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Flow> flows;
};

struct Timeline {
  std::uint64_t length_ns = 0;
  std::vector<TimelineLane> lanes;  ///< By rank, then group; empty groups left out.
  std::vector<TimelineLink> links;
  std::optional<double> rating_bytes_per_ns;
  std::string title;
  std::uint64_t left_out = 0;  ///< Spans beyond the limit.
};

class TimelineBuilder final : public profile::RecordVisitor {
 public:
  /// Keeps at most `max_spans` working spans.
  TimelineBuilder(const profile::RunInfo& run,
                  const std::vector<std::uint32_t>& ops,
                  std::size_t max_spans = 500'000);

  void on_span(int rank, const record::Span& span) override;
  void on_put(int rank, const record::Put& put) override;
  void on_arrival(int rank, const record::Arrival& arrival) override;

  [[nodiscard]] Timeline finish() const;

 private:
  struct Key {
    int rank;
    int group;
    std::uint32_t op;
    record::Phase phase;
    auto operator<=>(const Key&) const = default;
  };
  struct Transfer {
    std::uint64_t posted = 0;
    std::uint64_t landed = 0;
    std::uint64_t bytes = 0;
  };
  struct TransferKey {
    std::uint32_t op;
    int source, target, chunk;
    auto operator<=>(const TransferKey&) const = default;
  };
  [[nodiscard]] TimelineLink link_of(int node, std::uint64_t origin) const;

  profile::RunInfo run_;
  std::set<std::uint32_t> ops_;
  std::size_t max_spans_;
  std::size_t spans_ = 0;
  std::uint64_t left_out_ = 0;
  std::map<Key, TimelinePiece> phases_;
  std::map<std::pair<int, int>, std::vector<TimelinePiece>> work_;
  std::map<TransferKey, Transfer> transfers_;
};

}  // namespace shunt::analysis
