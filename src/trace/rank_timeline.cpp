// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/rank_timeline.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "trace/track_names.hpp"

namespace shunt::trace {
namespace {

using record::Phase;
using record::Span;
using record::SpanKind;

/// Records held back before those of finished operations are sent: 12 MiB of spans.
constexpr std::size_t kBatchRecords = 1U << 18;
/// Operations that a rank may have in flight; older ones send nothing more.
constexpr std::uint32_t kOpsInFlight = 4;
constexpr int kMostLevels = 8;
constexpr int kMostPutLanes = 32;

// The children of a rank's process, in the order of the rows.
enum Group : int {
  kOperation,
  kSend,
  kReceive,
  kIntraNode,
  kSync,
  kCombineInterNode,
  kCombineAll,
  kOther,
  kPuts,
  kArrivals,
  kInFlight,
};

const char* group_name(int group) {
  switch (group) {
    case kOperation:
      return "operation";
    case kSend:
      return "counts, staging, send";
    case kReceive:
      return "receive";
    case kIntraNode:
      return "intra node";
    case kSync:
      return "sync";
    case kCombineInterNode:
      return "combine inter node";
    case kCombineAll:
      return "combine all";
    case kPuts:
      return "progress thread: puts";
    case kArrivals:
      return kArrivalsRow;
    case kInFlight:
      return "puts in flight";
    default:
      return "other";
  }
}

Group group_of(Phase phase) {
  switch (phase) {
    case Phase::kDispatch:
    case Phase::kCombine:
      return kOperation;
    case Phase::kCountExchange:
    case Phase::kCopyToStaging:
    case Phase::kDispatchInterNodeSend:
      return kSend;
    case Phase::kDispatchInterNodeRecv:
      return kReceive;
    case Phase::kDispatchIntra:
    case Phase::kDispatchOutputCopy:
    case Phase::kCombineIntraNode:
      return kIntraNode;
    case Phase::kDispatchSync:
    case Phase::kCombineSync:
    case Phase::kCombineSyncBarrier:
    case Phase::kCombineRelease:
      return kSync;
    case Phase::kCombineInterNode:
      return kCombineInterNode;
    case Phase::kCombineAll:
      return kCombineAll;
    case Phase::kNone:
      break;
  }
  return kOther;
}

template <typename Record>
void describe(Event& event, const Record& record) {
  event.add("op", record.op);
  if (record.peer >= 0) event.add("peer", record.peer);
  if (record.chunk >= 0) event.add("chunk", record.chunk);
  if (record.bytes > 0) event.add("bytes", static_cast<std::int64_t>(record.bytes));
}

Event to_event(std::uint64_t track, const Span& span) {
  Event event;
  event.track = track;
  event.begin_ns = span.begin_ns;
  event.end_ns = span.end_ns;
  event.category = record::to_string(span.phase);
  event.name = span_name(span);
  describe(event, span);
  return event;
}

/// Outer spans before the inner ones that begin with them.
bool outer_first(const Span& a, const Span& b) {
  if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.kind == SpanKind::kPhase && b.kind != SpanKind::kPhase;
}

}  // namespace

std::uint64_t flow_id(int source, int target, std::uint32_t op, std::int32_t chunk) {
  const auto half = [](std::int64_t high, std::int64_t low) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32) |
           static_cast<std::uint32_t>(low);
  };
  const std::uint64_t id = Random::mix(Random::mix(half(source, target) + 1) ^ half(op, chunk));
  return id == 0 ? 1 : id;
}

RankTimeline::RankTimeline(
    int rank, int node, TraceSink& sink, TrackIds& ids, ExportSummary& summary)
    : rank_(rank), sink_(sink), ids_(ids), summary_(summary), process_(ids.next()) {
  Track process;
  process.id = process_;
  process.pid = rank + 1;  // 0 is the idle process to viewers.
  process.order = rank;
  process.kind = Track::Kind::kProcess;
  process.name = process_name(rank, node);
  sink_.declare(process);
}

std::uint64_t RankTimeline::group_track(int group) {
  std::uint64_t& track = groups_[group];
  if (track == 0) {
    track = ids_.next();
    Track declared;
    declared.id = track;
    declared.parent = process_;
    declared.pid = rank_ + 1;
    declared.order = group;
    declared.name = group_name(group);
    sink_.declare(declared);
  }
  return track;
}

RankTimeline::Row& RankTimeline::row(const RowKey& key) {
  Row& found = rows_[key];
  if (found.track != 0) return found;
  const auto [group, first, second, level] = key;
  Track track;
  track.parent = group_track(group);
  track.id = found.track = ids_.next();
  track.pid = rank_ + 1;
  track.order = (first << 14) | (std::min(second, 255) << 6) | level;
  track.name = group == kPuts ? put_row(first, second, level) : block_row(first, second, level);
  sink_.declare(track);
  return found;
}

void RankTimeline::add(const Span& span) {
  ++summary_.spans;
  // Sequence numbers are 32 bits wide and may wrap.
  if (!any_op_ || static_cast<std::int32_t>(span.op - newest_op_) > 0) newest_op_ = span.op;
  any_op_ = true;
  spans_.push_back(span);
  if (spans_.size() >= kBatchRecords) flush(false);
}

void RankTimeline::add(const record::Put& put) {
  ++summary_.puts;
  puts_.push_back(put);
  if (puts_.size() >= kBatchRecords) flush_puts(puts_);
}

void RankTimeline::add(const record::Arrival& arrival) {
  ++summary_.arrivals;
  Event event;
  event.track = group_track(kArrivals);
  event.begin_ns = event.end_ns = arrival.time_ns;
  event.name = arrival.chunk < 0 ? kCountArrivalEvent : kArrivalEvent;
  event.category = record::to_string(arrival.phase);
  describe(event, arrival);
  if (arrival.peer >= 0) {
    event.flow = flow_id(arrival.peer, rank_, arrival.op, arrival.chunk);
    event.flow_ends_here = true;
  }
  sink_.instant(event);
}

void RankTimeline::finish() {
  flush(true);
  flush_puts(puts_);
  if (in_flight_track_ == 0) return;
  for (; !completions_.empty(); completions_.pop()) {
    in_flight_time_ns_ = std::max(in_flight_time_ns_, completions_.top());
    sink_.counter(
        in_flight_track_, in_flight_time_ns_, static_cast<std::int64_t>(completions_.size()) - 1);
  }
}

void RankTimeline::flush(bool all) {
  // Spans are recorded at their end, an enclosing one after those inside it. So only operations
  // that nothing will be added to are sent; if there is none, one operation exceeds a batch.
  std::vector<Span> ready;
  const auto finished = [&](const Span& span) {
    return all || newest_op_ - span.op >= kOpsInFlight;
  };
  const auto kept = std::stable_partition(
      spans_.begin(), spans_.end(), [&](const Span& span) { return !finished(span); });
  ready.assign(kept, spans_.end());
  spans_.erase(kept, spans_.end());
  if (spans_.size() > kBatchRecords / 2) {
    ready.insert(ready.end(), spans_.begin(), spans_.end());
    spans_.clear();
  }
  const auto place = [](const Span& span) {
    return std::make_tuple(static_cast<int>(group_of(span.phase)), span.block, span.warp);
  };
  std::stable_sort(ready.begin(), ready.end(), [&](const Span& a, const Span& b) {
    if (place(a) != place(b)) return place(a) < place(b);
    return outer_first(a, b);
  });
  for (std::size_t begin = 0; begin < ready.size();) {
    std::size_t end = begin;
    while (end < ready.size() && place(ready[end]) == place(ready[begin])) ++end;
    flush_row(std::get<0>(place(ready[begin])),
              std::vector<Span>(ready.begin() + static_cast<std::ptrdiff_t>(begin),
                                ready.begin() + static_cast<std::ptrdiff_t>(end)));
    begin = end;
  }
}

void RankTimeline::flush_row(int group, const std::vector<Span>& spans) {
  std::vector<Span> todo = spans;
  for (int level = 0; level < kMostLevels && !todo.empty(); ++level) {
    std::vector<Span> overlapping;
    send_level(row({group, todo.front().block, todo.front().warp, level}), todo, overlapping);
    summary_.spilled += level == 0 ? overlapping.size() : 0;
    todo = std::move(overlapping);
  }
  summary_.left_out += todo.size();
}

void RankTimeline::send_level(Row& row,
                              const std::vector<Span>& spans,
                              std::vector<Span>& overlapping) {
  std::vector<Event> open;
  const std::uint64_t taken_until = row.last_end_ns;
  for (const Span& span : spans) {
    while (!open.empty() && open.back().end_ns <= span.begin_ns) {
      sink_.end(open.back());
      open.pop_back();
    }
    if (span.begin_ns < taken_until || (!open.empty() && span.end_ns > open.back().end_ns)) {
      overlapping.push_back(span);
      continue;
    }
    open.push_back(to_event(row.track, span));
    sink_.begin(open.back());
    row.last_end_ns = std::max(row.last_end_ns, span.end_ns);
  }
  for (; !open.empty(); open.pop_back()) sink_.end(open.back());
}

void RankTimeline::flush_puts(std::vector<record::Put>& puts) {
  std::stable_sort(puts.begin(), puts.end(), [](const record::Put& a, const record::Put& b) {
    return a.posted_ns < b.posted_ns;
  });
  for (const record::Put& put : puts) {
    count_in_flight(put);
    int lane = 0;
    Row* found = nullptr;
    for (; lane < kMostPutLanes; ++lane) {
      found = &row({kPuts, put.peer, put.qp, lane});
      if (found->last_end_ns <= put.posted_ns) break;
    }
    if (lane == kMostPutLanes) {
      ++summary_.left_out;
      continue;
    }
    Event event;
    event.track = found->track;
    event.begin_ns = put.posted_ns;
    event.end_ns = std::max(put.posted_ns, put.completed_ns);
    event.name = put.completed_ns == 0 ? kLostPutEvent : put.chunk < 0 ? kCountPutEvent : kPutEvent;
    event.category = record::to_string(put.phase);
    describe(event, put);
    event.add("nic", put.nic);
    if (put.enqueued_ns != 0 && put.enqueued_ns <= put.posted_ns) {
      event.add("queued_ns", static_cast<std::int64_t>(put.posted_ns - put.enqueued_ns));
    }
    if (put.peer >= 0) event.flow = flow_id(rank_, put.peer, put.op, put.chunk);
    found->last_end_ns = event.end_ns;
    if (put.completed_ns == 0) {
      sink_.instant(event);
    } else {
      sink_.begin(event);
      sink_.end(event);
    }
  }
  puts.clear();
}

void RankTimeline::count_in_flight(const record::Put& put) {
  if (put.completed_ns == 0) return;
  if (in_flight_track_ == 0) {
    Track track;
    track.id = in_flight_track_ = ids_.next();
    track.parent = process_;
    track.pid = rank_ + 1;
    track.order = kInFlight;
    track.kind = Track::Kind::kCounter;
    track.name = group_name(kInFlight);
    track.unit = "puts";
    sink_.declare(track);
  }
  const auto send = [this](std::uint64_t time_ns) {
    // A later batch may begin before the former one ended: time never runs back.
    in_flight_time_ns_ = std::max(in_flight_time_ns_, time_ns);
    sink_.counter(
        in_flight_track_, in_flight_time_ns_, static_cast<std::int64_t>(completions_.size()));
  };
  while (!completions_.empty() && completions_.top() <= put.posted_ns) {
    const std::uint64_t time_ns = completions_.top();
    completions_.pop();
    send(time_ns);
  }
  completions_.push(put.completed_ns);
  send(put.posted_ns);
}

}  // namespace shunt::trace
