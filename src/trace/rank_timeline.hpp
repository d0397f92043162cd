// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "record/record.hpp"
#include "trace/export.hpp"
#include "trace/sink.hpp"

namespace shunt::trace {

/// Hands out track ids for one file.
class TrackIds {
 public:
  std::uint64_t next() { return ++last_; }

 private:
  std::uint64_t last_ = 0;
};

/// Lays out one rank: process → group of phases → block and warp; puts per peer and queue pair;
/// arrivals; puts in flight. Takes records in file order, sends events so that they nest.
class RankTimeline {
 public:
  RankTimeline(int rank, int node, TraceSink& sink, TrackIds& ids, ExportSummary& summary);

  void add(const record::Span& span);
  void add(const record::Put& put);
  void add(const record::Arrival& arrival);
  /// Sends all that is held back.
  void finish();

 private:
  /// Group, block or peer, warp or queue pair, level.
  using RowKey = std::tuple<int, int, int, int>;
  struct Row {
    std::uint64_t track = 0;
    std::uint64_t last_end_ns = 0;
  };

  Row& row(const RowKey& key);
  std::uint64_t group_track(int group);
  void flush(bool all);
  void flush_puts(std::vector<record::Put>& puts);
  void flush_row(int group, const std::vector<record::Span>& spans);
  void send_level(Row& row,
                  const std::vector<record::Span>& spans,
                  std::vector<record::Span>& overlapping);
  void count_in_flight(const record::Put& put);

  const int rank_;
  TraceSink& sink_;
  TrackIds& ids_;
  ExportSummary& summary_;
  const std::uint64_t process_;
  std::uint64_t in_flight_track_ = 0;
  std::map<int, std::uint64_t> groups_;
  std::map<RowKey, Row> rows_;
  std::vector<record::Span> spans_;
  std::vector<record::Put> puts_;
  std::uint32_t newest_op_ = 0;
  bool any_op_ = false;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> completions_;
  std::uint64_t in_flight_time_ns_ = 0;
};

}  // namespace shunt::trace
