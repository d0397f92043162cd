// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_record_share: what recording adds to whole operations, in two ways.
//   counted    records that an operation leaves, times the cost of one with its two clock reads
//   compared   dispatch and combine with recording and without, in turns on two Buffers that differ
//              in nothing else; the share added is taken per turn, its median is given with a
//              bootstrapped 95 % interval
// Ranks are threads of this process; nodes are joined by libfabric, on loopback or, with --link,
// over emulated links of a known rate (root): there operations last as long as the link takes, and
// differ less from one another.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/units.hpp"
#include "bootstrap/emulated_nodes.hpp"
#include "bootstrap/threads_world.hpp"
#include "engine/buffer_state.hpp"
#include "record/lane.hpp"
#include "routing/generate.hpp"

namespace {

using shunt::Result;
using shunt::Status;
using shunt::Unexpected;
using shunt::bootstrap::EmulatedNodes;

struct Options {
  int nodes = 1;
  int ranks = 4;
  std::int64_t tokens = 512;
  std::int64_t hidden = 7168;
  int topk = 8;
  int experts = 256;
  int rounds = 6;  ///< Each creates both Buffers anew, so that no placement favours one.
  int turns = 30;  ///< Of each round.
  std::string link;
  const EmulatedNodes* links = nullptr;  ///< Null: loopback.

  [[nodiscard]] int node_of(int rank) const { return rank / (ranks / nodes); }
};

/// Begin and end of an operation on every rank: threads share the clock.
struct Times {
  explicit Times(int ranks)
      : begin(static_cast<std::size_t>(ranks)), end(static_cast<std::size_t>(ranks)) {}
  std::vector<std::uint64_t> begin;
  std::vector<std::uint64_t> end;

  [[nodiscard]] double duration_ns() const {
    return static_cast<double>(*std::max_element(end.begin(), end.end()) -
                               *std::min_element(begin.begin(), begin.end()));
  }
};

struct Outcome {
  std::vector<double> on_ns;
  std::vector<double> off_ns;
  std::uint64_t records = 0;  ///< Of all ranks, in all recorded operations.
};

/// A Buffer of one rank and what it works on.
class Side {
 public:
  static Result<std::unique_ptr<Side>> create(shunt::bootstrap::World& world,
                                              const Options& o,
                                              bool recorded) {
    auto side = std::make_unique<Side>();
    auto routing = shunt::routing::generate({}, o.tokens, o.topk, o.experts, 1, world.rank());
    if (!routing) return Unexpected(routing.error());
    side->routing_ = std::move(*routing);
    const std::int64_t capacity = o.tokens * o.ranks;
    shunt::BufferOptions options;
    options.ranks_per_node = o.ranks / o.nodes;
    options.experts = o.experts;
    options.topk = o.topk;
    options.hidden = o.hidden;
    options.max_tokens = o.tokens;
    if (o.links != nullptr) options.bind_address = o.links->address(o.node_of(world.rank()));
    const auto row = static_cast<std::size_t>(o.hidden) * 2;
    options.heap_bytes = static_cast<std::size_t>(capacity) * row + (1U << 20);
    shunt::engine::BufferHooks hooks;
    if (recorded) hooks.recorder = &side->recorder_;
    auto buffer = shunt::engine::BufferState::create(world, options, hooks);
    if (!buffer) return Unexpected(buffer.error());
    side->buffer_ = std::move(*buffer);
    auto rows = side->buffer_->allocate(static_cast<std::size_t>(capacity) * row);
    if (!rows) return Unexpected(rows.error());
    side->received_.rows = *rows;
    side->received_.capacity = capacity;
    side->input_.resize(static_cast<std::size_t>(o.tokens) * row);
    side->output_.resize(side->input_.size());
    return side;
  }
  ~Side() {
    if (buffer_) buffer_->close();
  }

  /// Dispatch and combine of this rank, from the common start.
  Status run(shunt::bootstrap::World& world, Times& times) {
    const auto rank = static_cast<std::size_t>(world.rank());
    SHUNT_TRY(world.barrier());
    times.begin[rank] = shunt::now_ns();
    auto handle = buffer_->dispatch(
        {input_.data(), routing_.tokens, routing_.ids.data(), routing_.weights.data()}, received_);
    if (!handle) return Unexpected(handle.error());
    SHUNT_TRY(buffer_->wait(**handle));
    SHUNT_TRY(buffer_->combine(*handle, {received_.rows, output_.data()}));
    SHUNT_TRY(buffer_->wait(**handle));
    times.end[rank] = shunt::now_ns();
    return world.barrier();
  }
  std::uint64_t drain() {
    return recorder_.drain([](shunt::record::RecordType, const unsigned char*) {});
  }
  [[nodiscard]] std::uint64_t dropped() { return recorder_.dropped(); }

 private:
  shunt::record::Recorder recorder_{1U << 14};
  shunt::routing::Routing routing_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  shunt::DispatchOutput received_;
  std::shared_ptr<shunt::engine::BufferState> buffer_;  // Before what it uses goes.
};

Status run_round(shunt::bootstrap::World& world,
                 const Options& o,
                 int round,
                 Times& times,
                 Outcome& outcome,
                 std::vector<std::uint64_t>& records) {
  std::unique_ptr<Side> sides[2];  // Off, on.
  for (int i = 0; i < 2; ++i) {
    const int which = (round + i) % 2;
    auto made = Side::create(world, o, which == 1);
    if (!made) return Unexpected(made.error());
    sides[which] = std::move(*made);
  }
  for (int turn = -2; turn < o.turns; ++turn) {
    for (int i = 0; i < 2; ++i) {
      const int which = (turn + 2 + i) % 2;
      // Untimed first: the other side has taken the caches.
      SHUNT_TRY(sides[which]->run(world, times));
      sides[1]->drain();
      SHUNT_TRY(sides[which]->run(world, times));
      if (world.rank() == 0 && turn >= 0) {
        (which == 1 ? outcome.on_ns : outcome.off_ns).push_back(times.duration_ns());
      }
      const std::uint64_t drained = sides[1]->drain();
      if (turn >= 0) records[static_cast<std::size_t>(world.rank())] += drained;
      SHUNT_TRY(world.barrier());
    }
  }
  if (sides[1]->dropped() != 0) return shunt::usage_error("records were dropped");
  return {};
}

/// A record with its two clock reads, as the data path leaves it.
double cost_of_a_record_ns() {
  shunt::record::Lane lane(1U << 14);
  constexpr int kRecords = 1 << 13;
  std::vector<double> costs;
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t begin = shunt::now_ns();
    for (int r = 0; r < kRecords; ++r) {
      shunt::record::Span span;
      span.begin_ns = shunt::now_ns();
      span.end_ns = shunt::now_ns();
      lane.push(span);
    }
    costs.push_back(static_cast<double>(shunt::now_ns() - begin) / kRecords);
    lane.drain([](shunt::record::RecordType, const unsigned char*) {});
  }
  std::sort(costs.begin(), costs.end());
  return costs[costs.size() / 2];
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Interval {
  double low = 0;
  double high = 0;
};

/// 95 % interval of the median: percentiles over resampled medians.
Interval bootstrap_interval(const std::vector<double>& values) {
  shunt::Random random(1);
  std::vector<double> medians;
  std::vector<double> sample(values.size());
  for (int i = 0; i < 4000; ++i) {
    for (double& value : sample) value = values[random.below(values.size())];
    medians.push_back(median(sample));
  }
  std::sort(medians.begin(), medians.end());
  return {medians[medians.size() * 25 / 1000], medians[medians.size() * 975 / 1000]};
}

void print(const Options& o, const Outcome& outcome) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < outcome.on_ns.size(); ++i) {
    shares.push_back((outcome.on_ns[i] / outcome.off_ns[i] - 1) * 100);
  }
  const Interval interval = bootstrap_interval(shares);
  const double cost = cost_of_a_record_ns();
  const double records =
      static_cast<double>(outcome.records) / static_cast<double>(outcome.on_ns.size());
  const double operation = median(outcome.off_ns);
  fmt::print("{} node{} x {} ranks{}, {} tokens a rank, dispatch + combine {:.2f} ms\n",
             o.nodes,
             o.nodes == 1 ? "" : "s",
             o.ranks / o.nodes,
             o.link.empty() ? "" : ", link " + o.link,
             o.tokens,
             operation / 1e6);
  fmt::print(
      "counted   {:.0f} records of all ranks x {:.0f} ns = {:.1f} µs: {:.3f} % of the "
      "operation, were they one after the other\n",
      records,
      cost,
      records * cost / 1e3,
      100 * records * cost / operation);
  fmt::print(
      "compared  {} turns with and without: {:+.2f} % in the median, 95 % between {:+.2f} "
      "and {:+.2f} %\n",
      shares.size(),
      median(shares),
      interval.low,
      interval.high);
}

Result<EmulatedNodes> make_links(const Options& o) {
  auto rate = shunt::parse_rate(o.link);
  if (!rate) return Unexpected(std::move(rate).error());
  return EmulatedNodes::create({.nodes = o.nodes, .rate_bytes_per_s = *rate});
}

/// All rounds of one rank.
Status run_rank(shunt::bootstrap::World& world,
                const Options& o,
                Times& times,
                Outcome& outcome,
                std::vector<std::uint64_t>& records) {
  if (o.links != nullptr) SHUNT_TRY(o.links->enter(o.node_of(world.rank())));
  for (int round = 0; round < o.rounds; ++round) {
    SHUNT_TRY(run_round(world, o, round, times, outcome, records));
  }
  return {};
}

int give_up(const std::string& why, int status) {
  fmt::print(stderr, "bench_record_share: {}\n", why);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("What recording adds to dispatch and combine");
  app.add_option("--nodes", o.nodes, "Joined by libfabric")->check(CLI::PositiveNumber);
  app.add_option("--link", o.link, "Rate of the nodes' emulated links, such as 4Gbit (root)");
  app.add_option("--ranks", o.ranks, "Of all nodes")->check(CLI::PositiveNumber);
  app.add_option("--tokens", o.tokens, "Tokens per rank")->check(CLI::PositiveNumber);
  app.add_option("--hidden", o.hidden, "bf16 elements of a row")->check(CLI::PositiveNumber);
  app.add_option("--rounds", o.rounds, "Pairs of Buffers")->check(CLI::PositiveNumber);
  app.add_option("--turns", o.turns, "Turns of each pair")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  if (o.ranks % o.nodes != 0 || o.experts % o.ranks != 0) {
    return give_up(fmt::format("{} ranks do not divide into {} nodes", o.ranks, o.nodes), 2);
  }
  std::optional<EmulatedNodes> links;
  if (!o.link.empty()) {
    auto made = make_links(o);
    if (!made) return give_up(made.error().to_string(), 2);
    links.emplace(std::move(*made));
    o.links = &*links;
  }
  Times times(o.ranks);
  Outcome outcome;
  std::vector<std::uint64_t> records(static_cast<std::size_t>(o.ranks), 0);
  const Status done = shunt::bootstrap::run_threads(
      o.ranks, 60'000'000'000, [&](shunt::bootstrap::World& world) -> Status {
        return run_rank(world, o, times, outcome, records);
      });
  if (!done) return give_up(done.error().to_string(), 1);
  for (const std::uint64_t count : records) outcome.records += count;
  print(o, outcome);
  return 0;
}
