// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/units.hpp"
#include "cli/program.hpp"
#include "engine/setup.hpp"
#include "fabric/faulty_fabric.hpp"
#include "traffic/ledger.hpp"

namespace shunt::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

/// "a,b/c,d": local rank 0 has NICs a and b, rank 1 c and d, rank 2 a and b …
Result<std::vector<std::vector<std::string>>> parse_nics(const std::string& text, int qps) {
  std::vector<std::vector<std::string>> all;
  if (text.empty()) return all;
  for (const std::string& list : split(text, '/')) {
    all.push_back(split(list, ','));
    const std::vector<std::string>& nics = all.back();
    if (std::ranges::count(nics, "") != 0 || nics.size() != all.front().size()) {
      return usage_error(
          "--nic '{}' is not understood; NAME,NAME for all ranks, or NAME,NAME/NAME,NAME by local "
          "rank, the same number for each",
          text);
    }
  }
  if (static_cast<std::size_t>(std::max(qps, 0)) < all.front().size()) {
    return usage_error(
        "--nic names {} NICs a rank; --qps {} has to be as many or more", all.front().size(), qps);
  }
  return all;
}

Status check_emulated(const BenchOptions& options) {
  if (options.emulate_nics == 1) return {};
  if (options.emulate_nics < 1) {
    return usage_error("--emulate-nics {} is not allowed; at least 1", options.emulate_nics);
  }
  if (options.emulate_link.empty()) {
    return usage_error("--emulate-nics needs --emulate-link RATE, the rate of each");
  }
  if (options.qps < options.emulate_nics) {
    return usage_error("--emulate-nics gives {} NICs a rank; --qps {} has to be as many or more",
                       options.emulate_nics,
                       options.qps);
  }
  return {};
}

}  // namespace

Result<SlowRank> parse_slow_rank(const std::string& text) {
  SlowRank slow;
  if (text.empty()) return slow;
  const char* end = text.data() + text.size();
  const auto rank = std::from_chars(text.data(), end, slow.rank);
  if (rank.ec == std::errc() && rank.ptr != end && *rank.ptr == ':') {
    const auto ms = std::from_chars(rank.ptr + 1, end, slow.ms);
    if (ms.ec == std::errc() && ms.ptr == end && slow.ms >= 0 && slow.rank >= 0) return slow;
  }
  return usage_error("--slow-rank '{}' is not understood; give RANK:MILLISECONDS", text);
}

Result<std::vector<routing::Routing>> all_routings(const BenchJob& job) {
  std::vector<routing::Routing> all;
  const BenchOptions& o = job.options;
  for (int r = 0; r < job.shape.world; ++r) {
    auto made = routing::generate(job.routing, o.tokens, o.topk, o.experts, o.seed, r);
    if (!made) return Unexpected(std::move(made).error());
    all.push_back(std::move(*made));
  }
  return all;
}

Result<BenchJob> BenchJob::create(const BenchOptions& options) {
  BenchJob job;
  job.options = options;
  int per_node = options.ranks_per_node;
  if (per_node == 0) {
    if (options.nodes < 1)
      return usage_error("--nodes {} is not allowed; at least 1", options.nodes);
    if (options.ranks < 1)
      return usage_error("--ranks {} is not allowed; at least 1", options.ranks);
    if (options.ranks % options.nodes != 0) {
      return usage_error(
          "--ranks {} does not divide into --nodes {}; every node has the same number",
          options.ranks,
          options.nodes);
    }
    per_node = options.ranks / options.nodes;
  }
  auto shape = cluster::Shape::create(options.ranks, per_node);
  if (!shape) return Unexpected(std::move(shape).error());
  job.shape = *shape;
  auto spec = routing::RoutingSpec::parse(options.routing);
  if (!spec) return Unexpected(std::move(spec).error());
  job.routing = *spec;
  if (options.tokens < 0) return usage_error("--tokens {} is not allowed", options.tokens);
  // Operations are numbered with 32 bits.
  constexpr int kMostIterations = 1'000'000'000;
  if (options.iters < 1 || options.iters > kMostIterations) {
    return usage_error("--iters {} is not allowed; 1 to {}", options.iters, kMostIterations);
  }
  if (options.warmup < 0 || options.warmup > kMostIterations) {
    return usage_error("--warmup {} is not allowed; 0 to {}", options.warmup, kMostIterations);
  }
  // Written so that NaN is refused too; the upper end keeps nanoseconds within 64 bits.
  constexpr double kLongestDeadline_s = 1e9;
  if (!(options.deadline_s > 0 && options.deadline_s <= kLongestDeadline_s)) {
    return usage_error("--deadline {} is not allowed; more than 0, at most {:.0f} seconds",
                       options.deadline_s,
                       kLongestDeadline_s);
  }
  if (options.hidden < 1) return usage_error("--hidden {} is not allowed", options.hidden);
  const std::uint64_t row = static_cast<std::uint64_t>(options.hidden) * size_of(options.dtype);
  if (row % 16 != 0) {
    return usage_error("--hidden {} of {} makes rows of {} bytes; a multiple of 16 bytes is needed",
                       options.hidden,
                       to_string(options.dtype),
                       row);
  }
  if (options.experts < options.ranks || options.experts % options.ranks != 0) {
    return usage_error("--experts {} do not divide over {} ranks; give a multiple",
                       options.experts,
                       options.ranks);
  }
  if (options.check && options.warmup == 0) {
    return usage_error("--check needs --warmup 1 or more: it looks at a warm-up iteration");
  }
  if (options.staging == "device" && options.device != "cuda") {
    return usage_error("--staging device is of --device cuda; there is no device memory otherwise");
  }
  if (options.sms < 1) return usage_error("--sms {} is not allowed; at least 1", options.sms);
  for (const std::string* text : {&options.link_rate, &options.emulate_link}) {
    if (text->empty()) continue;
    auto rate = parse_rate(*text);
    if (!rate) return Unexpected(std::move(rate).error());
    job.link_rate = *rate;
  }
  auto nics = parse_nics(options.nic, options.qps);
  if (!nics) return Unexpected(std::move(nics).error());
  job.nics = std::move(*nics);
  if (!job.nics.empty() && !options.emulate_link.empty()) {
    return usage_error("--nic names NICs of this machine; --emulate-link makes its own");
  }
  SHUNT_TRY(check_emulated(options));
  const auto slow = parse_slow_rank(options.slow_rank);
  if (!slow) return Unexpected(slow.error());
  if (slow->rank >= options.ranks) {
    return usage_error(
        "--slow-rank {} is not in this world of ranks 0 to {}", slow->rank, options.ranks - 1);
  }
  if (auto faults = fabric::parse_faults(options.faults); !faults) {
    return Unexpected(std::move(faults).error());
  }
  // A recorded routing is read here too, so that an unreadable file is one message, not one a rank.
  auto first = routing::generate(
      job.routing, options.tokens, options.topk, options.experts, options.seed, 0);
  if (!first) return Unexpected(std::move(first).error());
  job.run_id = Random::mix(wall_ns() ^ (static_cast<std::uint64_t>(::getpid()) << 32U));
  return job;
}

std::vector<std::string> BenchJob::nics_of(int local) const {
  if (nics.empty()) return {};
  return nics[static_cast<std::size_t>(local) % nics.size()];
}

std::vector<std::string> BenchJob::nics_of_rank(int rank) const {
  if (options.emulate_nics == 1) return nics_of(shape.local_of(rank));
  std::vector<std::string> addresses;
  for (int nic = 0; nic < options.emulate_nics && links != nullptr; ++nic) {
    addresses.push_back(links->address(shape.node_of(rank), nic));
  }
  return addresses;
}

std::optional<int> BenchJob::nics_per_node() const {
  if (options.emulate_nics > 1) return options.emulate_nics;
  std::set<std::string> names;
  for (int local = 0; local < shape.ranks_per_node; ++local) {
    for (const std::string& name : nics_of(local)) names.insert(name);
  }
  if (names.empty()) return std::nullopt;
  return static_cast<int>(names.size());
}

int BenchJob::recorded_every(bool warmup) const {
  const int all = warmup ? options.warmup : options.iters;
  const int most = warmup ? kMostWarm : kMostMeasured;
  return std::max(1, (all + most - 1) / most);
}

Result<profile::RunInfo> describe_run(const BenchJob& job, const char* launcher) {
  const BenchOptions& o = job.options;
  profile::RunInfo info;
  info.tool_version = version();
  info.run_id = job.run_id;
  info.shape = job.shape;
  profile::RunConfig& c = info.config;
  c.tokens = o.tokens;
  c.hidden = o.hidden;
  c.topk = o.topk;
  c.experts = o.experts;
  c.dtype = o.dtype;
  c.wire_dtype = o.wire_dtype.value_or(o.dtype);
  c.routing = job.routing.to_string();
  c.seed = o.seed;
  c.chunk_tokens = o.chunk;
  c.credits = o.credits;
  c.qps = o.qps;
  c.proxy_threads = engine::progress_threads(o.proxy_threads, job.shape);
  c.rdma_blocks = o.rdma_blocks;
  c.blocks = o.blocks;
  c.iters = o.iters;
  c.warmup = o.warmup;
  if (job.recorded_every(false) > 1) c.recorded_every = job.recorded_every(false);
  c.variant = "v1";
  c.device = o.device;
  if (o.device == "cuda") c.blocks = o.sms - (job.shape.nodes > 1 ? 2 * o.rdma_blocks : 0);
  c.launcher = launcher;
  c.link_rate_bytes_per_s = job.link_rate;
  c.nics_per_node = job.nics_per_node();
  c.emulated_link = job.links != nullptr;
  if (job.links != nullptr) {
    c.link_mtu = job.links->options().mtu;
    c.link_burst_bytes = job.links->burst_bytes();
  }
  c.command_line = o.command_line;
  auto routings = all_routings(job);
  if (!routings) return Unexpected(std::move(routings).error());
  traffic::RecordLayout layout;
  layout.hidden_bytes = static_cast<std::uint64_t>(o.hidden) * size_of(o.dtype);
  layout.topk = o.topk;
  layout.chunk_tokens = o.chunk;
  layout.ranks_per_node = job.shape.ranks_per_node;
  const std::uint64_t wire_row =
      static_cast<std::uint64_t>(o.hidden) * size_of(o.wire_dtype.value_or(o.dtype));
  for (int r = 0; r < job.shape.world; ++r) {
    auto ledger = traffic::ledger(
        (*routings)[static_cast<std::size_t>(r)].view(), job.shape, o.experts, layout, r, wire_row);
    if (!ledger) return Unexpected(std::move(ledger).error());
    info.ledgers.push_back(*ledger);
  }
  // A checked run has one more combine, after the first warm-up iteration.
  std::uint32_t op = 0;
  for (int i = 0; i < o.warmup + o.iters; ++i) {
    const bool warmup = i < o.warmup;
    const int iteration = warmup ? i : i - o.warmup;
    if (job.records(iteration, warmup)) {
      info.operations.push_back({op, record::Phase::kDispatch, iteration, warmup});
      info.operations.push_back({op + 1, record::Phase::kCombine, iteration, warmup});
    }
    op += 2;
    if (i == 0 && o.check) info.operations.push_back({op++, record::Phase::kCombine, 0, true});
  }
  return info;
}

}  // namespace shunt::cli
