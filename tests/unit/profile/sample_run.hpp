// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs with made-up numbers, and a visitor that keeps all it is given.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "profile/rank_format.hpp"
#include "profile/rank_log.hpp"
#include "profile/recording.hpp"

namespace shunt::profile {

struct Seen : RecordVisitor {
  std::vector<std::pair<int, record::Span>> spans;
  std::vector<std::pair<int, record::Put>> puts;
  std::vector<std::pair<int, record::Arrival>> arrivals;

  void on_span(int rank, const record::Span& span) override { spans.emplace_back(rank, span); }
  void on_put(int rank, const record::Put& put) override { puts.emplace_back(rank, put); }
  void on_arrival(int rank, const record::Arrival& arrival) override {
    arrivals.emplace_back(rank, arrival);
  }
  [[nodiscard]] std::size_t total() const { return spans.size() + puts.size() + arrivals.size(); }
};

/// Equal in every field; padding is not compared.
template <typename Record>
bool same_fields(const Record& a, const Record& b) {
  return std::memcmp(&a, &b, format::kFieldBytes<Record>) == 0;
}

inline record::Span make_span(std::uint64_t i, int world) {
  record::Span span;
  span.begin_ns = 1'000'000 + i * 100;
  span.end_ns = span.begin_ns + 40 + i % 50;
  span.bytes = i * 7;
  span.op = static_cast<std::uint32_t>(i / 16);
  span.peer = static_cast<std::int32_t>(i % static_cast<std::uint64_t>(world));
  span.chunk = static_cast<std::int32_t>(i);
  span.phase = record::Phase::kDispatchInterNodeSend;
  span.block = static_cast<std::uint16_t>(i % 3);
  span.warp = static_cast<std::uint16_t>(i % 5);
  span.kind = record::SpanKind::kWait;
  span.reason = record::WaitReason::kCredit;
  return span;
}

inline record::Put make_put(std::uint64_t i, int world) {
  record::Put put;
  put.enqueued_ns = 1'000'000 + i * 100;
  put.posted_ns = put.enqueued_ns + 20;
  put.completed_ns = i % 7 == 6 ? 0 : put.posted_ns + 300;
  put.bytes = 921'856;
  put.op = static_cast<std::uint32_t>(i / 16);
  put.peer = static_cast<std::int32_t>(i % static_cast<std::uint64_t>(world));
  put.chunk = static_cast<std::int32_t>(i);
  put.phase = record::Phase::kDispatchInterNodeSend;
  return put;
}

inline record::Arrival make_arrival(std::uint64_t i, int world) {
  record::Arrival arrival;
  arrival.time_ns = 1'000'500 + i * 100;
  arrival.bytes = 921'856;
  arrival.op = static_cast<std::uint32_t>(i / 16);
  arrival.peer = static_cast<std::int32_t>(i % static_cast<std::uint64_t>(world));
  arrival.chunk = static_cast<std::int32_t>(i);
  arrival.phase = record::Phase::kDispatchInterNodeSend;
  return arrival;
}

inline RunInfo make_run(int nodes, int ranks_per_node) {
  RunInfo run;
  run.tool_version = "0.0.0-test";
  run.started = "2026-01-02T03:04:05Z";
  run.run_id = 77;
  run.finished = true;
  run.shape = {nodes * ranks_per_node, ranks_per_node, nodes};
  run.config.tokens = 512;
  run.config.hidden = 7168;
  run.config.topk = 8;
  run.config.experts = 64;
  run.config.routing = "uniform";
  run.config.variant = "v1";
  run.config.device = "cpu";
  for (int rank = 0; rank < run.shape.world; ++rank) run.clocks.push_back({rank, 0, 0, 0, 0});
  return run;
}

}  // namespace shunt::profile
