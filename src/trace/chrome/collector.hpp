// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What matters of a foreign trace, in memory that does not grow with its events. in: ChromeEvents
// in any order → out: ForeignTrace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/chrome/chrome_reader.hpp"
#include "trace/chrome/phases.hpp"

namespace shunt::trace {

/// Durations of one phase over all threads.
struct PhaseStats {
  std::string phase;
  std::uint64_t spans = 0;
  std::int64_t total_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;

  [[nodiscard]] double mean_ns() const {
    return spans == 0 ? 0.0 : static_cast<double>(total_ns) / static_cast<double>(spans);
  }
};

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// One communication kernel, for matching between ranks.
struct KernelSpan {
  std::string phase;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// A collective as the framework called it, with its bytes.
struct CollectiveCall {
  std::int64_t begin_ns = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t received_bytes = 0;
};

/// Union of each phase's spans within one dispatch-to-combine round.
struct Round {
  Interval whole;
  std::map<std::string, Interval> phases;  ///< First begin and last end.
};

struct ForeignTrace {
  std::string kind;  ///< "MORI kernel trace", "Kineto trace", "Perfetto trace" …
  ChromeSummary summary;
  std::vector<PhaseStats> phases;     ///< In order of first appearance in time.
  std::vector<KernelSpan> kernels;    ///< By end; at most kMaxKernels.
  std::vector<CollectiveCall> calls;  ///< By begin.
  std::vector<Round> rounds;          ///< Empty where no round can be told.
  std::uint64_t orphans = 0;          ///< Begins without end, and ends without begin.
  std::uint64_t left_out = 0;         ///< Kernels or intervals beyond the bounds.
};

class Collector final : public ChromeVisitor {
 public:
  static constexpr std::size_t kMaxKernels = 200000;
  static constexpr std::size_t kMaxIntervals = 400000;
  static constexpr std::size_t kMaxThreads = 1 << 20;
  static constexpr std::size_t kMaxNames = 100000;

  explicit Collector(const PhaseTable& table) : table_(table) {}
  void event(const ChromeEvent& event) override;
  [[nodiscard]] ForeignTrace finish(ChromeSummary summary);

 private:
  struct Phase {
    PhaseStats stats;
    std::map<std::int64_t, std::int64_t> merged;  ///< begin → end, disjoint.
    Interval last{1, 0};  ///< An interval of merged that was touched last; empty at first.
  };
  struct Open {
    int phase = 0;
    std::int64_t begin_ns = 0;
  };

  [[nodiscard]] int phase_index(std::string_view name);
  void add_span(int phase, std::int64_t begin, std::int64_t end);
  void add_kernel(int phase, const ChromeEvent& event);
  void add_call(const ChromeEvent& event);
  void merge(Phase& phase, std::int64_t begin, std::int64_t end);
  [[nodiscard]] std::vector<Round> rounds() const;

  const PhaseTable& table_;
  std::vector<Phase> phases_;
  std::unordered_map<std::string, int> known_;
  std::string last_name_;
  int last_index_ = -2;
  std::unordered_map<std::uint64_t, std::vector<Open>> open_;
  std::vector<KernelSpan> kernels_;
  std::vector<CollectiveCall> calls_;
  std::size_t intervals_ = 0;
  std::uint64_t orphans_ = 0;
  std::uint64_t left_out_ = 0;
  bool kineto_ = false;
  bool mori_ = false;
};

}  // namespace shunt::trace
