// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/timeline.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace shunt::analysis {
namespace {

using record::Phase;

constexpr std::array kGroups{"send", "receive", "own node", "sync"};

/// −1: not drawn (the whole operation).
int group_of(Phase phase) {
  switch (phase) {
    case Phase::kCopyToStaging:
    case Phase::kDispatchInterNodeSend:
    case Phase::kCombineInterNode:
      return 0;
    case Phase::kDispatchInterNodeRecv:
    case Phase::kCombineAll:
      return 1;
    case Phase::kDispatchIntra:
    case Phase::kDispatchOutputCopy:
    case Phase::kCombineIntraNode:
      return 2;
    case Phase::kCountExchange:
    case Phase::kDispatchSync:
    case Phase::kCombineSync:
    case Phase::kCombineSyncBarrier:
    case Phase::kCombineRelease:
      return 3;
    case Phase::kNone:
    case Phase::kDispatch:
    case Phase::kCombine:
      break;
  }
  return -1;
}

}  // namespace

TimelineBuilder::TimelineBuilder(const profile::RunInfo& run,
                                 const std::vector<std::uint32_t>& ops,
                                 std::size_t max_spans)
    : run_(run), ops_(ops.begin(), ops.end()), max_spans_(max_spans) {}

void TimelineBuilder::on_span(int rank, const record::Span& span) {
  const int group = group_of(span.phase);
  if (group < 0 || ops_.count(span.op) == 0 || span.end_ns <= span.begin_ns) return;
  const auto [it, fresh] = phases_.try_emplace(Key{rank, group, span.op, span.phase},
                                               TimelinePiece{span.phase, span.begin_ns, 0});
  it->second.begin = std::min(it->second.begin, span.begin_ns);
  it->second.end = std::max(it->second.end, span.end_ns);
  if (span.kind == record::SpanKind::kPhase || span.kind == record::SpanKind::kWait) return;
  if (spans_ == max_spans_) {
    ++left_out_;
    return;
  }
  ++spans_;
  work_[{rank, group}].push_back({span.phase, span.begin_ns, span.end_ns});
}

void TimelineBuilder::on_put(int rank, const record::Put& put) {
  if (put.chunk < 0 || put.phase == Phase::kCountExchange || ops_.count(put.op) == 0) return;
  Transfer& transfer = transfers_[{put.op, rank, put.peer, put.chunk}];
  transfer.posted = put.posted_ns;
  transfer.bytes = put.bytes;
}

void TimelineBuilder::on_arrival(int rank, const record::Arrival& arrival) {
  if (arrival.chunk < 0 || arrival.phase == Phase::kCountExchange || ops_.count(arrival.op) == 0) {
    return;
  }
  transfers_[{arrival.op, arrival.peer, rank, arrival.chunk}].landed = arrival.time_ns;
}

TimelineLink TimelineBuilder::link_of(int node, std::uint64_t origin) const {
  TimelineLink link;
  link.name = run_.shape.nodes == 2 ? fmt::format("node {} → node {}", node, 1 - node)
                                    : fmt::format("node {} → others", node);
  std::vector<std::pair<std::uint64_t, int>> steps;
  for (const auto& [key, transfer] : transfers_) {
    if (transfer.posted < origin || transfer.landed < transfer.posted) continue;
    if (run_.shape.node_of(key.source) != node || run_.shape.node_of(key.target) == node) continue;
    steps.emplace_back(transfer.posted - origin, 1);
    steps.emplace_back(transfer.landed - origin, -1);
    link.flows.push_back({transfer.posted - origin, transfer.landed - origin, transfer.bytes});
  }
  std::ranges::sort(steps);
  int in_flight = 0;
  for (const auto& [time, change] : steps) {
    in_flight = std::max(0, in_flight + change);
    link.in_flight.push_back({time, in_flight});
  }
  std::ranges::sort(link.flows, {}, &TimelineLink::Flow::end);
  for (std::size_t i = 1; i < link.flows.size(); ++i) {
    link.flows[i].begin = std::max(link.flows[i].begin, link.flows[i - 1].end);
  }
  return link;
}

Timeline TimelineBuilder::finish() const {
  Timeline out;
  out.left_out = left_out_;
  if (const auto rate = run_.config.node_rate_bytes_per_s()) {
    out.rating_bytes_per_ns = *rate / 1e9;
  }
  if (phases_.empty()) return out;
  std::uint64_t origin = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end = 0;
  for (const auto& [key, piece] : phases_) {
    origin = std::min(origin, piece.begin);
    end = std::max(end, piece.end);
  }
  out.length_ns = end - origin;
  for (const auto& [key, piece] : phases_) {
    if (out.lanes.empty() || out.lanes.back().rank != key.rank ||
        out.lanes.back().group != kGroups[static_cast<std::size_t>(key.group)]) {
      TimelineLane lane{key.rank, kGroups[static_cast<std::size_t>(key.group)], {}, {}};
      if (const auto work = work_.find({key.rank, key.group}); work != work_.end()) {
        for (const TimelinePiece& one : work->second) {
          lane.work.push_back({one.phase, one.begin - origin, one.end - origin});
        }
      }
      out.lanes.push_back(std::move(lane));
    }
    out.lanes.back().phases.push_back({piece.phase, piece.begin - origin, piece.end - origin});
  }
  for (int node = 0; node < run_.shape.nodes && run_.shape.nodes > 1; ++node) {
    TimelineLink link = link_of(node, origin);
    if (!link.flows.empty()) out.links.push_back(std::move(link));
  }
  return out;
}

}  // namespace shunt::analysis
