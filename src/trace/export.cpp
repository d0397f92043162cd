// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/export.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "profile/run_json.hpp"
#include "profile/run_reader.hpp"
#include "trace/link_rate.hpp"
#include "trace/rank_timeline.hpp"

namespace shunt::trace {
namespace {

/// Beyond this many directions between nodes, all that a node sends is one row.
constexpr int kMostLinks = 64;

/// First pass: when the run was, and when each rank first posted in each operation.
class Scan : public profile::RecordVisitor {
 public:
  void on_span(int /*rank*/, const record::Span& span) override {
    extend(span.begin_ns);
    extend(span.end_ns);
  }
  void on_put(int rank, const record::Put& put) override {
    extend(put.posted_ns);
    if (put.completed_ns != 0) extend(put.completed_ns);
    const auto [entry, added] = first_post_.try_emplace(key(rank, put.op), put.posted_ns);
    if (!added) entry->second = std::min(entry->second, put.posted_ns);
  }
  void on_arrival(int /*rank*/, const record::Arrival& arrival) override {
    extend(arrival.time_ns);
  }

  [[nodiscard]] std::uint64_t begin_ns() const { return std::min(begin_, end_); }
  [[nodiscard]] std::uint64_t end_ns() const { return end_; }
  /// 0 if that rank's puts are not known.
  [[nodiscard]] std::uint64_t first_post_ns(int rank, std::uint32_t op) const {
    const auto entry = first_post_.find(key(rank, op));
    return entry == first_post_.end() ? 0 : entry->second;
  }

 private:
  static std::uint64_t key(int rank, std::uint32_t op) {
    return (static_cast<std::uint64_t>(rank) << 32) | op;
  }
  void extend(std::uint64_t t) {
    begin_ = std::min(begin_, t);
    end_ = std::max(end_, t);
  }

  std::uint64_t begin_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> first_post_;
};

/// Second pass: rank after rank to the sink, and the links' bytes on the way.
class Exporter : public profile::RecordVisitor {
 public:
  Exporter(const profile::RunInfo& run, const Scan& scan, TraceSink& sink, ExportSummary& summary)
      : run_(run),
        scan_(scan),
        sink_(sink),
        summary_(summary),
        rates_(scan.begin_ns(), scan.end_ns()),
        last_arrival_(static_cast<std::size_t>(run.shape.world)) {}

  void on_span(int rank, const record::Span& span) override { timeline(rank).add(span); }
  void on_put(int rank, const record::Put& put) override { timeline(rank).add(put); }
  void on_arrival(int rank, const record::Arrival& arrival) override {
    timeline(rank).add(arrival);
    if (arrival.peer >= 0) add_to_link(rank, arrival);
  }

  void finish() {
    if (timeline_) timeline_->finish();
    timeline_.reset();
    send_links();
  }

 private:
  RankTimeline& timeline(int rank) {
    if (rank != rank_) {
      if (timeline_) timeline_->finish();
      timeline_.emplace(rank, run_.shape.node_of(rank), sink_, ids_, summary_);
      rank_ = rank;
      std::fill(last_arrival_.begin(), last_arrival_.end(), 0);
    }
    return *timeline_;
  }

  /// One source's chunks come one after the other: each crossed between the arrival of the one
  /// before it, or the operation's first post if that is later, and its own arrival.
  void add_to_link(int rank, const record::Arrival& arrival) {
    const int from = run_.shape.node_of(arrival.peer);
    const int to = run_.shape.node_of(rank);
    if (from == to) return;
    std::uint64_t& last = last_arrival_[static_cast<std::size_t>(arrival.peer)];
    const std::uint64_t posted = scan_.first_post_ns(arrival.peer, arrival.op);
    const std::uint64_t since = posted == 0 ? arrival.time_ns : std::max(last, posted);
    last = arrival.time_ns;
    const bool each = run_.shape.nodes * (run_.shape.nodes - 1) <= kMostLinks;
    rates_.add(
        {from, each ? to : -1}, std::min(since, arrival.time_ns), arrival.time_ns, arrival.bytes);
  }

  std::uint64_t counter_track(std::uint64_t process,
                              int order,
                              std::string name,
                              const char* unit) {
    Track track;
    track.id = ids_.next();
    track.parent = process;
    track.pid = run_.shape.world + 1;
    track.order = order;
    track.kind = Track::Kind::kCounter;
    track.name = std::move(name);
    track.unit = unit;
    sink_.declare(track);
    return track.id;
  }

  void send_links() {
    if (rates_.links().empty()) return;
    Track process;
    process.id = ids_.next();
    process.pid = run_.shape.world + 1;
    process.order = run_.shape.world;
    process.kind = Track::Kind::kProcess;
    process.name = fmt::format("links · bytes that arrived, per {} µs", rates_.bin_ns() / 1000);
    sink_.declare(process);
    const double rating = run_.config.node_rate_bytes_per_s().value_or(0.0);
    int order = 0;
    for (const auto& [link, bins] : rates_.links()) {
      const std::string name = link.second < 0
                                   ? fmt::format("node {} → all", link.first)
                                   : fmt::format("node {} → node {}", link.first, link.second);
      const auto bin_ns = static_cast<double>(rates_.bin_ns());
      send_counter(counter_track(process.id, order++, name, "MB/s"), bins, 1e3 / bin_ns);
      if (rating <= 0) continue;
      send_counter(counter_track(process.id, order++, name + " of rating", "%"),
                   bins,
                   1e11 / (bin_ns * rating));
    }
  }

  /// Changes only, and a last zero: a counter keeps its value until the next one.
  void send_counter(std::uint64_t track, const std::vector<std::uint64_t>& bins, double scale) {
    std::int64_t shown = -1;
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      const std::int64_t value = std::llround(static_cast<double>(bins[bin]) * scale);
      if (value == shown) continue;
      sink_.counter(track, rates_.bin_begin_ns(bin), value);
      shown = value;
    }
    if (shown != 0) sink_.counter(track, rates_.bin_begin_ns(bins.size()), 0);
  }

  const profile::RunInfo& run_;
  const Scan& scan_;
  TraceSink& sink_;
  ExportSummary& summary_;
  TrackIds ids_;
  LinkRate rates_;
  std::vector<std::uint64_t> last_arrival_;  ///< By source rank, at the rank being read.
  std::optional<RankTimeline> timeline_;
  int rank_ = -1;
};

}  // namespace

Result<ExportSummary> export_run(const std::string& directory,
                                 Format format,
                                 const std::string& output) {
  Scan scan;
  const auto first = profile::read_run(directory, scan);
  if (!first) return Unexpected(first.error());
  auto file = OutputFile::create(output);
  if (!file) return Unexpected(std::move(file).error());
  const TraceHeader header{
      scan.begin_ns(), first->run.tool_version, first->run.started, profile::to_json(*first)};
  const auto sink = format == Format::kPerfetto ? make_perfetto_sink(std::move(*file), header)
                                                : make_chrome_sink(std::move(*file), header);
  ExportSummary summary;
  Exporter exporter(first->run, scan, *sink, summary);
  auto second = profile::read_run(directory, exporter);
  if (!second) return Unexpected(std::move(second).error());
  exporter.finish();
  SHUNT_TRY(sink->finish());
  summary.recording = std::move(*second);
  return summary;
}

}  // namespace shunt::trace
