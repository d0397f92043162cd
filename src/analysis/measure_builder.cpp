// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/measure_builder.hpp"

#include <algorithm>

#include "analysis/accumulators.hpp"

namespace shunt::analysis {
namespace {

/// Records of a chunk; counts, credits and releases are control traffic.
bool carries_rows(int chunk, record::Phase phase) {
  return chunk >= 0 && phase != record::Phase::kCountExchange;
}

}  // namespace

MeasureBuilder::MeasureBuilder(std::size_t max_events)
    : seen_(std::make_unique<Accumulated>()), max_events_(max_events) {}

MeasureBuilder::~MeasureBuilder() = default;

void MeasureBuilder::on_span(int rank, const record::Span& span) {
  ++seen_->records;
  if (span.end_ns < span.begin_ns) return;
  PhaseTotals& totals = seen_->phases[phase_key(span.op, rank, span.phase)];
  totals.begin = std::min(totals.begin, span.begin_ns);
  totals.end = std::max(totals.end, span.end_ns);
  const std::uint64_t dur = span.end_ns - span.begin_ns;
  const auto kind = static_cast<std::size_t>(span.kind);
  if (kind >= kSpanKinds) return;
  totals.kind_ns[kind] += dur;
  totals.add_block(span.block);
  switch (span.kind) {
    case record::SpanKind::kPhase:
      totals.block_ns += dur;
      totals.phase_bytes += span.bytes;
      break;
    case record::SpanKind::kWait: {
      const auto reason = static_cast<std::size_t>(span.reason);
      if (reason < kWaitReasons) totals.wait_ns[reason] += dur;
      break;
    }
    case record::SpanKind::kPost:
    case record::SpanKind::kCopy:
    case record::SpanKind::kReduce:
      totals.work_bytes += span.bytes;
      break;
    case record::SpanKind::kBarrier:
      break;
  }
}

void MeasureBuilder::on_put(int rank, const record::Put& put) {
  ++seen_->records;
  PairTotals& pair = seen_->pairs[put.op][PairKey{rank, put.peer, put.nic}.packed()];
  if (!carries_rows(put.chunk, put.phase)) {
    pair.control_bytes += put.bytes;
    return;
  }
  ++pair.puts;
  pair.put_bytes += put.bytes;
  pair.first_post = std::min(pair.first_post, put.posted_ns);
  pair.last_post = std::max(pair.last_post, put.posted_ns);
  pair.qp_mask |= std::uint64_t{1} << (put.qp % 64);
  keep_event(put.op, rank, put.peer, put.chunk, put.posted_ns, false);
}

void MeasureBuilder::on_arrival(int rank, const record::Arrival& arrival) {
  ++seen_->records;
  if (!carries_rows(arrival.chunk, arrival.phase)) return;
  PairTotals& pair = seen_->pairs[arrival.op][PairKey{arrival.peer, rank, arrival.nic}.packed()];
  ++pair.arrivals;
  pair.arrival_bytes += arrival.bytes;
  pair.last_arrival = std::max(pair.last_arrival, arrival.time_ns);
  keep_event(arrival.op, arrival.peer, rank, arrival.chunk, arrival.time_ns, true);
}

void MeasureBuilder::keep_event(
    std::uint32_t op, int source, int target, int chunk, std::uint64_t time, bool arrival) {
  // Dispatch and combine alternate, so that pairs of operations stay or go together.
  const auto kept = [this](std::uint32_t which) { return which / 2 % stride_ == 0; };
  if (!kept(op)) return;
  seen_->events[op].push_back({time, source, target, chunk, arrival});
  ++events_;
  while (events_ > max_events_ && seen_->events.size() > 1) {
    stride_ *= 2;
    const std::size_t before = seen_->events.size();
    std::erase_if(seen_->events, [&](const auto& entry) {
      if (kept(entry.first)) return false;
      events_ -= entry.second.size();
      return true;
    });
    if (seen_->events.size() == before && stride_ > op) break;
  }
}

}  // namespace shunt::analysis
