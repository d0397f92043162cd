// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "support/synthetic_run.hpp"

#include <algorithm>

#include "analysis/framing.hpp"

namespace shunt::test {
namespace {

using record::Phase;
using record::SpanKind;

struct Play {
  const SyntheticRun& run;
  cluster::Shape shape;
  std::vector<std::vector<record::Span>> spans;
  std::vector<std::vector<record::Put>> puts;
  std::vector<std::vector<record::Arrival>> arrivals;

  explicit Play(const SyntheticRun& from)
      : run(from),
        shape{from.nodes * from.ranks_per_node, from.ranks_per_node, from.nodes},
        spans(static_cast<std::size_t>(shape.world)),
        puts(spans.size()),
        arrivals(spans.size()) {}

  /// A phase of one block: `wait_share` of it waits, the rest is `work`.
  void phase(std::uint32_t op,
             int rank,
             Phase phase,
             std::uint64_t begin,
             std::uint64_t end,
             double wait_share,
             SpanKind work,
             std::uint64_t bytes,
             record::WaitReason reason) {
    record::Span span{.begin_ns = begin, .end_ns = end, .bytes = bytes, .op = op, .phase = phase};
    auto& out = spans[static_cast<std::size_t>(rank)];
    out.push_back(span);
    const auto waited = static_cast<std::uint64_t>(static_cast<double>(end - begin) * wait_share);
    span.bytes = 0;
    if (waited > 0) {
      record::Span wait = span;
      wait.kind = SpanKind::kWait;
      wait.reason = reason;
      wait.end_ns = begin + waited;
      out.push_back(wait);
    }
    if (waited < end - begin) {
      span.kind = work;
      span.begin_ns = begin + waited;
      out.push_back(span);
    }
  }

  [[nodiscard]] double factor(int rank, int iteration) const {
    const auto slow = run.slow_factor.find(rank);
    const auto cold = run.iteration_factor.find(iteration);
    return (slow == run.slow_factor.end() ? 1.0 : slow->second) *
           (cold == run.iteration_factor.end() ? 1.0 : cold->second);
  }
  [[nodiscard]] std::uint64_t work(int rank, int iteration, std::uint64_t ns) const {
    return static_cast<std::uint64_t>(static_cast<double>(ns) * factor(rank, iteration));
  }
  [[nodiscard]] std::uint64_t late(int rank) const {
    const auto it = run.late_ns.find(rank);
    return it == run.late_ns.end() ? 0 : it->second;
  }

  /// All puts of an operation over the links of all nodes, first posted first served.
  /// `start[r]`: first post of rank r. Returns, by rank, the last arrival there and the last post.
  struct Traffic {
    std::vector<std::uint64_t> last_arrival, last_post;
  };
  Traffic transfer(std::uint32_t op,
                   int iteration,
                   Phase phase,
                   const std::vector<std::uint64_t>& start) {
    Traffic traffic{std::vector<std::uint64_t>(spans.size(), 0), start};
    for (int node = 0; node < shape.nodes; ++node) {
      std::uint64_t link_free = 0;
      std::vector<std::vector<std::uint64_t>> landed(
          static_cast<std::size_t>(shape.ranks_per_node));
      std::vector<std::uint64_t> ready(landed.size());
      for (int chunk = 0; chunk < run.chunks; ++chunk) {
        for (int remote = 0; remote < shape.nodes - 1; ++remote) {
          for (int local = 0; local < shape.ranks_per_node; ++local) {
            const int rank = shape.rank_of(node, local);
            const int target = shape.proxy(rank, shape.peer_node(node, remote));
            auto& mine = landed[static_cast<std::size_t>(local)];
            std::uint64_t& next = ready[static_cast<std::size_t>(local)];
            next = mine.empty() ? start[static_cast<std::size_t>(rank)]
                                : next + work(rank, iteration, run.post_interval_ns);
            const auto limit = static_cast<std::size_t>(run.window);
            if (limit > 0 && mine.size() >= limit) {
              next = std::max(next, mine[mine.size() - limit]);
            }
            const std::uint64_t begin = std::max(next, link_free);
            link_free = begin + static_cast<std::uint64_t>(static_cast<double>(run.put_bytes) /
                                                           run.wire_bytes_per_ns);
            const std::uint64_t arrival = link_free + run.latency_ns;
            mine.push_back(arrival);
            const int number = chunk;
            puts[static_cast<std::size_t>(rank)].push_back(
                {.posted_ns = next,
                 .completed_ns = arrival,
                 .enqueued_ns = next,
                 .bytes = run.put_bytes,
                 .op = op,
                 .peer = target,
                 .chunk = number,
                 .qp = static_cast<std::uint16_t>(chunk % run.qps),
                 .phase = phase});
            arrivals[static_cast<std::size_t>(target)].push_back({.time_ns = arrival,
                                                                  .bytes = run.put_bytes,
                                                                  .op = op,
                                                                  .peer = rank,
                                                                  .chunk = number,
                                                                  .phase = phase});
            auto& last = traffic.last_arrival[static_cast<std::size_t>(target)];
            last = std::max(last, arrival);
            traffic.last_post[static_cast<std::size_t>(rank)] = next;
          }
        }
      }
    }
    return traffic;
  }

  std::uint64_t dispatch(std::uint32_t op, int iteration, std::uint64_t origin) {
    const std::size_t world = spans.size();
    std::vector<std::uint64_t> entry(world), staged(world);
    for (std::size_t r = 0; r < world; ++r) {
      const int rank = static_cast<int>(r);
      entry[r] = origin + late(rank);
      staged[r] = entry[r] + run.sync_ns + work(rank, iteration, run.staging_ns);
    }
    const Traffic traffic = transfer(op, iteration, Phase::kDispatchInterNodeSend, staged);
    std::uint64_t end = 0;
    const std::uint64_t sent =
        run.put_bytes * static_cast<std::uint64_t>(run.chunks * (run.nodes - 1));
    std::vector<std::uint64_t> done(world);
    for (std::size_t r = 0; r < world; ++r) {
      const int rank = static_cast<int>(r);
      const std::uint64_t copying =
          work(rank, iteration, run.copy_per_chunk_ns * static_cast<std::uint64_t>(run.chunks));
      const std::uint64_t counted = entry[r] + run.sync_ns;
      phase(op,
            rank,
            Phase::kCountExchange,
            entry[r],
            counted,
            0.8,
            SpanKind::kBarrier,
            0,
            record::WaitReason::kCounts);
      phase(op,
            rank,
            Phase::kCopyToStaging,
            counted,
            staged[r],
            0,
            SpanKind::kCopy,
            sent,
            record::WaitReason::kNone);
      std::uint64_t received = counted + copying;
      if (run.nodes > 1) {
        const std::uint64_t last_post = traffic.last_post[r] + 1000 + run.send_extra_ns;
        phase(op,
              rank,
              Phase::kDispatchInterNodeSend,
              staged[r],
              last_post,
              run.send_wait_share,
              SpanKind::kPost,
              sent,
              record::WaitReason::kCredit);
        // Copies overlap the waits between chunks: only the last chunk's copy comes after.
        const std::uint64_t per_chunk = work(rank, iteration, run.copy_per_chunk_ns);
        received = std::max(received, traffic.last_arrival[r] + per_chunk);
        const double waits =
            1.0 -
            std::min(1.0, static_cast<double>(copying) / static_cast<double>(received - counted));
        phase(op,
              rank,
              Phase::kDispatchInterNodeRecv,
              counted,
              received,
              waits,
              SpanKind::kCopy,
              sent,
              record::WaitReason::kArrival);
        received = std::max(received, last_post);
      }
      phase(op,
            rank,
            Phase::kDispatchIntra,
            counted,
            counted + copying,
            0,
            SpanKind::kCopy,
            run.put_bytes,
            record::WaitReason::kNone);
      done[r] = received;
      end = std::max(end, received);
    }
    for (std::size_t r = 0; r < world; ++r) {
      const int rank = static_cast<int>(r);
      phase(op,
            rank,
            Phase::kDispatchSync,
            done[r],
            end + run.sync_ns,
            0.9,
            SpanKind::kBarrier,
            0,
            record::WaitReason::kPeerDone);
      spans[r].push_back(
          {.begin_ns = entry[r], .end_ns = end + run.sync_ns, .op = op, .phase = Phase::kDispatch});
    }
    return end + run.sync_ns;
  }

  std::uint64_t combine(std::uint32_t op, int iteration, std::uint64_t origin) {
    const std::size_t world = spans.size();
    std::vector<std::uint64_t> start(world);
    for (std::size_t r = 0; r < world; ++r) {
      start[r] = origin + late(static_cast<int>(r)) + run.sync_ns;
    }
    const Traffic traffic = transfer(op, iteration, Phase::kCombineInterNode, start);
    std::uint64_t end = 0;
    const std::uint64_t sent =
        run.put_bytes * static_cast<std::uint64_t>(run.chunks * (run.nodes - 1));
    for (std::size_t r = 0; r < world; ++r) {
      const int rank = static_cast<int>(r);
      const std::uint64_t entry = start[r] - run.sync_ns;
      phase(op,
            rank,
            Phase::kCombineSyncBarrier,
            entry,
            start[r],
            0.9,
            SpanKind::kBarrier,
            0,
            record::WaitReason::kPost);
      std::uint64_t summed = start[r] + work(rank, iteration, run.staging_ns);
      if (run.nodes > 1) {
        const std::uint64_t over = traffic.last_post[r] + run.combine_extra_ns + 1000;
        phase(op,
              rank,
              Phase::kCombineInterNode,
              start[r],
              over,
              run.combine_wait_share,
              SpanKind::kReduce,
              sent,
              record::WaitReason::kCredit);
        summed = std::max({summed, over, traffic.last_arrival[r]});
      }
      phase(op,
            rank,
            Phase::kCombineAll,
            start[r],
            summed,
            0.5,
            SpanKind::kReduce,
            sent,
            record::WaitReason::kArrival);
      end = std::max(end, summed);
    }
    for (std::size_t r = 0; r < world; ++r) {
      const int rank = static_cast<int>(r);
      phase(op,
            rank,
            Phase::kCombineRelease,
            end,
            end + run.sync_ns,
            0.9,
            SpanKind::kBarrier,
            0,
            record::WaitReason::kPeerDone);
      spans[r].push_back({.begin_ns = start[r] - run.sync_ns,
                          .end_ns = end + run.sync_ns,
                          .op = op,
                          .phase = Phase::kCombine});
    }
    return end + run.sync_ns;
  }
};

}  // namespace

void SyntheticRun::play(profile::RecordVisitor& visitor) const {
  Play play(*this);
  std::uint64_t now = 1'000'000'000;
  std::uint32_t op = 0;
  for (int i = -warmup; i < iterations; ++i) {
    now = play.dispatch(op++, i, now) + 100'000;
    now = play.combine(op++, i, now) + 100'000;
  }
  for (std::size_t r = 0; r < play.spans.size(); ++r) {
    const int rank = static_cast<int>(r);
    if (missing.count(rank) != 0) continue;
    for (const record::Span& span : play.spans[r]) visitor.on_span(rank, span);
    for (const record::Put& put : play.puts[r]) visitor.on_put(rank, put);
    auto& arrivals = play.arrivals[r];
    if (lose_last_arrival && rank == 0 && !arrivals.empty()) arrivals.pop_back();
    for (const record::Arrival& arrival : arrivals) visitor.on_arrival(rank, arrival);
  }
}

profile::RecordingSummary SyntheticRun::summary() const {
  profile::RecordingSummary out;
  profile::RunInfo& run = out.run;
  run.tool_version = "0.1.0";
  run.started = "2026-01-02T03:04:05Z";
  run.shape = {nodes * ranks_per_node, ranks_per_node, nodes};
  const std::uint64_t bytes = put_bytes * static_cast<std::uint64_t>(chunks * (nodes - 1));
  run.config = {.tokens = 64 * chunks,
                .hidden = 7168,
                .topk = 8,
                .experts = 256,
                .routing = "uniform",
                .seed = 1,
                .chunk_tokens = 64,
                .credits = 16,
                .qps = qps,
                .rdma_blocks = 1,
                .blocks = 2,
                .iters = iterations,
                .warmup = warmup,
                .variant = "v1",
                .device = "cpu",
                .launcher = "local",
                .provider = provider,
                .link_rate_bytes_per_s = rating,
                .emulated_link = emulated,
                .link_burst_bytes = burst_bytes};
  const auto tokens = static_cast<std::uint64_t>(run.config.tokens);
  const auto remote = tokens * static_cast<std::uint64_t>(nodes - 1);
  for (int rank = 0; rank < run.shape.world; ++rank) {
    run.ledgers.push_back({.tokens = tokens,
                           .selections = tokens * 8,
                           .rank_copies = tokens * 3,
                           .node_copies = tokens + remote,
                           .remote_copies = remote,
                           .payload_bytes = remote * 14336,
                           .record_bytes = remote * 14404,
                           .framing_bytes = bytes - std::min(bytes, remote * 14404),
                           .all_to_all_nodes_bytes = remote * 14404,
                           .chunks = static_cast<std::uint64_t>(chunks * (nodes - 1)),
                           .count_bytes = 64,
                           .combine_payload_bytes = remote * 14336});
    run.clocks.push_back({.rank = rank, .residual_ns = 900});
    const bool absent = missing.count(rank) != 0;
    out.ranks.push_back({.rank = rank, .present = !absent, .complete = !absent, .records = 100});
  }
  std::uint32_t op = 0;
  for (int i = -warmup; i < iterations; ++i) {
    const int iteration = i < 0 ? i + warmup : i;
    run.operations.push_back({op++, Phase::kDispatch, iteration, i < 0});
    run.operations.push_back({op++, Phase::kCombine, iteration, i < 0});
  }
  if (counter_factor > 0 && nodes > 1) {
    const std::uint64_t moved = 2 * static_cast<std::uint64_t>(iterations) *
                                static_cast<std::uint64_t>(ranks_per_node) * bytes;
    for (int node = 0; node < nodes; ++node) {
      const auto frames = static_cast<double>(analysis::tcp_frame_bytes(moved));
      run.counters.push_back({.from_node = node,
                              .to_node = -1,
                              .source = "tbf queue discipline",
                              .bytes = static_cast<std::uint64_t>(frames * counter_factor)});
    }
  }
  run.dropped_records.assign(static_cast<std::size_t>(run.shape.world), 0);
  return out;
}

analysis::Measures SyntheticRun::measure() const {
  analysis::MeasureBuilder builder;
  play(builder);
  return builder.finish(summary());
}

}  // namespace shunt::test
