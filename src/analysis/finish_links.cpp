// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analysis/finish.hpp"
#include "analysis/framing.hpp"

namespace shunt::analysis {
namespace {

/// A rate above the rating by more than this is no measurement of that link: clocks are aligned to
/// microseconds and windows last longer, so 2 % covers both.
constexpr double kImpossible = 1.02;

struct Pair {
  int source;
  int target;
  int nic;
  const PairTotals* totals;
};

/// True if what goes from `source` to `target` passes the NIC of `node` in this direction.
bool passes(const cluster::Shape& shape, int source, int target, int node, bool incoming) {
  const int from = shape.node_of(source);
  const int to = shape.node_of(target);
  return from != to && (incoming ? to : from) == node;
}

/// The pairs that pass the NIC of `node` in `op`, in rank order.
std::vector<Pair> pairs_passing(const Accumulated& seen,
                                const cluster::Shape& shape,
                                std::uint32_t op,
                                int node,
                                bool incoming) {
  std::vector<Pair> pairs;
  const auto it = seen.pairs.find(op);
  if (it == seen.pairs.end()) return pairs;
  for (const auto& [key, totals] : it->second) {
    const auto [source, target, nic] = PairKey::unpack(key);
    if (source >= shape.world || target >= shape.world) continue;
    if (passes(shape, source, target, node, incoming)) {
      pairs.push_back({source, target, nic, &totals});
    }
  }
  std::ranges::sort(pairs, {}, [](const Pair& p) { return std::tuple(p.source, p.target, p.nic); });
  return pairs;
}

/// Samples of one link over the measured operations.
struct LinkSamples {
  std::vector<double> window, bytes, frames, rate, duty, puts, posting, posting_rate, latency;
  std::vector<double> flight;
  std::map<std::pair<int, int>, int> last;
  std::uint64_t qp_mask = 0;
  double put_bytes = 0;
  double put_count = 0;
};

struct PairedOperation {
  std::vector<double> latency;
  int in_flight_max = 0;
};

/// Pairs puts with arrivals by (source, target, chunk) among those that pass the link.
PairedOperation pair_events(const std::vector<PutEvent>& events,
                            const cluster::Shape& shape,
                            const LinkMeasure& link) {
  std::vector<const PutEvent*> ours;
  for (const PutEvent& event : events) {
    const bool known = event.source >= 0 && event.source < shape.world && event.target >= 0 &&
                       event.target < shape.world;
    if (known && passes(shape, event.source, event.target, link.node, link.incoming)) {
      ours.push_back(&event);
    }
  }
  std::ranges::sort(ours, {}, [](const PutEvent* e) {
    return std::tuple(e->source, e->target, e->chunk, e->arrival, e->time);
  });
  PairedOperation paired;
  std::vector<std::pair<std::uint64_t, int>> steps;
  for (std::size_t i = 0; i + 1 < ours.size(); ++i) {
    const PutEvent& put = *ours[i];
    const PutEvent& arrival = *ours[i + 1];
    if (put.arrival || !arrival.arrival || put.source != arrival.source ||
        put.target != arrival.target || put.chunk != arrival.chunk) {
      continue;
    }
    // Clocks are aligned to within the residual: a put may seem to land before it was posted.
    const std::uint64_t landed = std::max(arrival.time, put.time);
    paired.latency.push_back(static_cast<double>(landed - put.time));
    steps.emplace_back(put.time, 1);
    steps.emplace_back(landed, -1);
  }
  // At one time, landings first: a put posted on the arrival of another is not beside it.
  std::ranges::sort(steps);
  if (!steps.empty()) paired.in_flight_max = 1;
  int in_flight = 0;
  for (const auto& [time, change] : steps) {
    in_flight += change;
    paired.in_flight_max = std::max(paired.in_flight_max, in_flight);
  }
  return paired;
}

/// Union over the node's ranks of their send phases, ns; 0 where there is none.
std::uint64_t send_phase_ns(const Accumulated& seen,
                            const profile::RunInfo& run,
                            const OperationExtent& extent,
                            int node) {
  std::vector<Interval> spans;
  for (int local = 0; local < run.shape.ranks_per_node; ++local) {
    const PhaseTotals* totals =
        seen.find(extent.op, run.shape.rank_of(node, local), record::Phase::kDispatchInterNodeSend);
    if (totals != nullptr) spans.push_back({totals->begin, totals->end});
  }
  return length(unite(std::move(spans)));
}

/// One operation of one link. Returns its window, empty where a put or arrival is missing.
std::vector<Interval> add_operation(const Accumulated& seen,
                                    const profile::RunInfo& run,
                                    const OperationExtent& extent,
                                    LinkMeasure& link,
                                    LinkSamples& samples) {
  const std::vector<Pair> pairs =
      pairs_passing(seen, run.shape, extent.op, link.node, link.incoming);
  std::map<int, Interval> by_source;
  double bytes = 0;
  double puts = 0;
  std::uint64_t first_post = kNever;
  std::uint64_t last_post = 0;
  std::uint64_t last_arrival = 0;
  std::pair<int, int> last_pair{-1, -1};
  for (const Pair& pair : pairs) {
    const PairTotals& totals = *pair.totals;
    link.control_bytes += totals.control_bytes;
    if (!totals.complete()) {
      ++link.incomplete_iterations;
      return {};
    }
    if (totals.puts == 0) continue;
    Interval& window = by_source.try_emplace(pair.source, Interval{kNever, 0}).first->second;
    window.begin = std::min(window.begin, totals.first_post);
    window.end = std::max(window.end, totals.last_arrival);
    bytes += static_cast<double>(totals.put_bytes);
    puts += static_cast<double>(totals.puts);
    samples.qp_mask |= totals.qp_mask;
    first_post = std::min(first_post, totals.first_post);
    last_post = std::max(last_post, totals.last_post);
    if (totals.last_arrival > last_arrival) {
      last_arrival = totals.last_arrival;
      last_pair = {pair.source, pair.target};
    }
  }
  std::vector<Interval> windows;
  for (const auto& [source, window] : by_source) windows.push_back(window);
  windows = unite(std::move(windows));
  const auto window = static_cast<double>(length(windows));
  if (window <= 0) return {};
  samples.window.push_back(window);
  samples.bytes.push_back(bytes);
  if (const auto frames = frame_bytes(
          run.config.provider, static_cast<std::uint64_t>(bytes), run.config.link_mtu)) {
    samples.frames.push_back(static_cast<double>(*frames));
  }
  samples.rate.push_back(bytes / window);
  samples.duty.push_back(
      window / static_cast<double>(std::max<std::uint64_t>(1, extent.end - extent.begin)));
  samples.puts.push_back(puts);
  samples.put_bytes += bytes;
  samples.put_count += puts;
  samples.posting.push_back(static_cast<double>(last_post - first_post));
  const std::uint64_t sending = link.incoming ? 0 : send_phase_ns(seen, run, extent, link.node);
  if (sending > 0) samples.posting_rate.push_back(bytes / static_cast<double>(sending));
  ++samples.last[last_pair];
  if (const auto it = seen.events.find(extent.op); it != seen.events.end()) {
    PairedOperation paired = pair_events(it->second, run.shape, link);
    link.in_flight_max = std::max(link.in_flight_max, paired.in_flight_max);
    double sum = 0;
    for (const double latency : paired.latency) sum += latency;
    if (!paired.latency.empty()) samples.flight.push_back(sum / window);
    samples.latency.insert(samples.latency.end(), paired.latency.begin(), paired.latency.end());
  }
  return windows;
}

void rate_link(const profile::RunInfo& run, const LinkSamples& samples, LinkMeasure& link) {
  const auto node_rate = run.config.node_rate_bytes_per_s();
  if (!node_rate) return;
  const double rating = *node_rate / 1e9;  // bytes per ns
  const double record = link.rate.p50 / rating;
  std::vector<double> shares;
  for (std::size_t i = 0; i < samples.frames.size(); ++i) {
    shares.push_back(samples.frames[i] / samples.window[i] / rating);
  }
  const double frame = shares.empty() ? record : median(std::move(shares));
  if (frame > kImpossible) {
    link.impossible_utilisation = frame;
    return;
  }
  link.utilisation = std::min(record, 1.0);
  if (!samples.frames.empty()) link.frame_utilisation = std::min(frame, 1.0);
}

void summarise_link(const profile::RunInfo& run, LinkSamples& samples, LinkMeasure& link) {
  link.window_ns = summarise(samples.window);
  link.bytes = summarise(samples.bytes);
  link.frame_bytes = summarise(samples.frames);
  link.rate = summarise(samples.rate);
  link.duty = summarise(samples.duty);
  link.puts = summarise(samples.puts);
  link.put_bytes_mean = samples.put_count > 0 ? samples.put_bytes / samples.put_count : 0;
  link.posting_ns = summarise(samples.posting);
  link.posting_rate = summarise(samples.posting_rate);
  link.latency_ns = summarise(samples.latency);
  link.in_flight_mean = summarise(samples.flight).mean;
  link.qps_used = std::popcount(samples.qp_mask);
  for (const auto& [pair, count] : samples.last) {
    const double share = count / static_cast<double>(samples.window.size());
    if (share <= link.last_share) continue;
    link.last_share = share;
    link.last_source = pair.first;
    link.last_target = pair.second;
  }
  rate_link(run, samples, link);
}

/// What NIC `nic` of all sending ranks of `link` carried, where each operation is complete.
NicMeasure measure_nic(const Accumulated& seen,
                       const profile::RunInfo& run,
                       const std::vector<OperationExtent>& extents,
                       const LinkMeasure& link,
                       int nic) {
  std::vector<double> bytes;
  std::vector<double> window;
  std::vector<double> rate;
  std::vector<double> puts;
  for (const OperationExtent& extent : extents) {
    std::vector<Interval> windows;
    double sum = 0;
    double count = 0;
    for (const Pair& pair : pairs_passing(seen, run.shape, extent.op, link.node, false)) {
      const PairTotals& totals = *pair.totals;
      if (pair.nic != nic || totals.puts == 0) continue;
      if (!totals.complete()) return {.nic = nic};
      windows.push_back({totals.first_post, totals.last_arrival});
      sum += static_cast<double>(totals.put_bytes);
      count += static_cast<double>(totals.puts);
    }
    const auto length_ns = static_cast<double>(length(unite(std::move(windows))));
    if (length_ns <= 0) continue;
    bytes.push_back(sum);
    window.push_back(length_ns);
    rate.push_back(sum / length_ns);
    puts.push_back(count);
  }
  NicMeasure out{.nic = nic};
  out.bytes = summarise(bytes);
  out.window_ns = summarise(window);
  out.rate = summarise(rate);
  out.puts = summarise(puts);
  if (const auto rating = run.config.link_rate_bytes_per_s; rating && !out.rate.empty()) {
    const double share = out.rate.p50 / (*rating / 1e9);
    if (*rating > 0 && share <= kImpossible) out.utilisation = std::min(share, 1.0);
  }
  return out;
}

/// NICs of the nodes that send; by number where all ranks of a node stripe over the same ones.
void measure_nics(const Accumulated& seen,
                  const profile::RunInfo& run,
                  const std::vector<OperationExtent>& extents,
                  LinkMeasure& link) {
  const int nics = run.config.nics_per_node.value_or(1);
  if (nics < 2 || !run.config.emulated_link || link.incoming) return;
  for (int nic = 0; nic < nics; ++nic) {
    link.nics.push_back(measure_nic(seen, run, extents, link, nic));
  }
}

/// Every iteration moves the same; the counter saw them all, the records only some.
std::uint64_t of_all_iterations(const profile::RunConfig& config, std::uint64_t recorded_bytes) {
  const int every = config.recorded_every.value_or(1);
  if (every <= 1 || config.iters < 1) return recorded_bytes;
  const int recorded = (config.iters - 1) / every + 1;
  return recorded_bytes / static_cast<std::uint64_t>(recorded) *
         static_cast<std::uint64_t>(config.iters);
}

}  // namespace

std::vector<std::vector<Interval>> measure_links(const Accumulated& seen,
                                                 const profile::RunInfo& run,
                                                 const std::vector<OperationExtent>& extents,
                                                 OperationMeasure& out) {
  std::vector<std::vector<Interval>> windows(extents.size());
  const int nodes = run.shape.nodes > 1 ? run.shape.nodes : 0;
  const auto measure = [&](int node, bool incoming, std::string name) {
    LinkMeasure link{.node = node, .incoming = incoming, .name = std::move(name)};
    LinkSamples samples;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const auto window = add_operation(seen, run, extents[i], link, samples);
      windows[i].insert(windows[i].end(), window.begin(), window.end());
    }
    if (samples.window.empty() && link.incomplete_iterations == 0) return;
    summarise_link(run, samples, link);
    measure_nics(seen, run, extents, link);
    out.links.push_back(std::move(link));
  };
  for (int node = 0; node < nodes; ++node) {
    measure(node,
            false,
            nodes == 2 ? fmt::format("node {} → node {}", node, 1 - node)
                       : fmt::format("node {} → others", node));
  }
  // Of two nodes, what leaves one is what enters the other.
  for (int node = 0; node < nodes && nodes > 2; ++node) {
    measure(node, true, fmt::format("others → node {}", node));
  }
  for (auto& window : windows) window = unite(std::move(window));
  return windows;
}

std::vector<CounterCheck> check_counters(const Accumulated& seen,
                                         const profile::RunInfo& run,
                                         const std::vector<std::uint32_t>& ops) {
  std::vector<CounterCheck> checks;
  for (const profile::LinkCounter& counter : run.counters) {
    CounterCheck check{.counter = counter};
    for (const std::uint32_t op : ops) {
      for (const Pair& pair : pairs_passing(seen, run.shape, op, counter.from_node, false)) {
        if (counter.to_node >= 0 && run.shape.node_of(pair.target) != counter.to_node) continue;
        check.record_bytes += pair.totals->put_bytes + pair.totals->control_bytes;
      }
    }
    check.record_bytes = of_all_iterations(run.config, check.record_bytes);
    check.frame_bytes = counter_bytes(run.config.provider,
                                      check.record_bytes,
                                      counter.messages.value_or(0),
                                      counter.packets,
                                      run.config.link_mtu);
    check.resent_bytes = resent_bytes(counter.resent_segments.value_or(0), run.config.link_mtu);
    const std::uint64_t expected = check.frame_bytes.value_or(check.record_bytes);
    if (expected > 0) {
      check.ratio = static_cast<double>(counter.bytes) / static_cast<double>(expected);
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace shunt::analysis
