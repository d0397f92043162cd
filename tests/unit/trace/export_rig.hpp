// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the exporters share: run directories with records of their choice.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "profile/rank_log.hpp"
#include "support/temporary_directory.hpp"
#include "trace/export.hpp"

namespace shunt::trace::test {

inline record::Span span(std::uint64_t begin,
                         std::uint64_t end,
                         record::Phase phase,
                         record::SpanKind kind) {
  record::Span s;
  s.begin_ns = begin;
  s.end_ns = end;
  s.phase = phase;
  s.kind = kind;
  return s;
}

inline profile::RunInfo run_info(int nodes, int ranks_per_node) {
  profile::RunInfo run;
  run.started = "2026-01-02T03:04:05Z";
  run.tool_version = "test \"quoted\"";
  run.finished = true;
  run.shape = {nodes * ranks_per_node, ranks_per_node, nodes};
  run.config.link_rate_bytes_per_s = 125e6;
  for (int rank = 0; rank < run.shape.world; ++rank) run.clocks.push_back({rank, 0, 0, 0, 0});
  return run;
}

class Export : public ::testing::Test {
 protected:
  void begin(const profile::RunInfo& run) {
    run_ = run;
    auto writer = profile::RunWriter::create(directory(), profile::Existing::kRefuse);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write_info(run));
  }

  template <typename Fill>
  void rank(int rank, Fill fill) {
    auto log = profile::RankLog::create(directory(), rank, run_.shape.world, 0);
    ASSERT_TRUE(log);
    record::Recorder recorder(1U << 20);
    fill(*recorder.add_lane());
    ASSERT_TRUE(log->finish(recorder));
  }

  /// One 1000-byte chunk from rank 0 (node 0) to rank 1 (node 1), with a credit wait before it.
  void write_small() {
    begin(run_info(2, 1));
    rank(0, [](record::Lane& lane) {
      record::Span wait = span(
          1'000'000, 1'200'001, record::Phase::kDispatchInterNodeSend, record::SpanKind::kWait);
      wait.reason = record::WaitReason::kCredit;
      wait.block = 2;
      wait.warp = 1;
      wait.peer = 1;
      lane.push(wait);
      record::Span phase = span(
          1'000'000, 1'300'000, record::Phase::kDispatchInterNodeSend, record::SpanKind::kPhase);
      phase.block = 2;
      phase.warp = 1;
      lane.push(phase);
      record::Put put;
      put.enqueued_ns = 1'200'000;
      put.posted_ns = 1'210'000;
      put.completed_ns = 1'250'000;
      put.bytes = 1000;
      put.peer = 1;
      put.chunk = 0;
      put.phase = record::Phase::kDispatchInterNodeSend;
      lane.push(put);
    });
    rank(1, [](record::Lane& lane) {
      record::Arrival arrival;
      arrival.time_ns = 1'240'007;
      arrival.bytes = 1000;
      arrival.peer = 0;
      arrival.chunk = 0;
      arrival.phase = record::Phase::kDispatchInterNodeSend;
      lane.push(arrival);
    });
  }

  [[nodiscard]] std::string directory() const { return scratch_.file("run"); }
  [[nodiscard]] std::string output() const { return scratch_.file("out"); }

  testing::TemporaryDirectory scratch_;
  profile::RunInfo run_;
};

}  // namespace shunt::trace::test
