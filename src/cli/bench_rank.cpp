// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/bench_check.hpp"
#include "cli/bench_engine.hpp"
#include "cli/bench_job.hpp"
#include "fabric/faulty_fabric.hpp"
#include "fabric/libfabric_fabric.hpp"
#include "profile/clock_align.hpp"
#include "profile/rank_log.hpp"

namespace shunt::cli {
namespace {

constexpr std::uint32_t kLaneRecords = 1U << 15;

BufferOptions buffer_options(const BenchJob& job, std::int64_t most_rows) {
  const BenchOptions& o = job.options;
  BufferOptions b;
  b.ranks_per_node = job.shape.ranks_per_node;
  b.experts = o.experts;
  b.topk = o.topk;
  b.hidden = o.hidden;
  b.dtype = o.dtype;
  b.wire_dtype = o.wire_dtype;
  b.max_tokens = o.tokens;
  b.chunk_tokens = o.chunk;
  b.credits = o.credits;
  b.qps = o.qps;
  b.proxy_threads = o.proxy_threads;
  b.rdma_blocks = o.rdma_blocks;
  b.blocks = o.blocks;
  b.provider = o.provider;
  b.deadline_ns = static_cast<std::uint64_t>(o.deadline_s * 1e9);
  const auto row = static_cast<std::size_t>(o.hidden) * size_of(o.dtype) +
                   static_cast<std::size_t>(o.topk) * 8 + sizeof(RowOrigin);
  b.heap_bytes = static_cast<std::size_t>(most_rows) * row + (std::size_t{1} << 16);
  return b;
}

Staging staging_of(const BenchOptions& o) {
  if (o.staging == "host") return Staging::kHost;
  return o.staging == "device" ? Staging::kDevice : Staging::kAuto;
}

/// One rank at work: its buffers, and the loop over iterations.
class RankBench {
 public:
  RankBench(bootstrap::World& world, const BenchJob& job)
      : world_(world), job_(job), recorder_(kLaneRecords) {}

  Result<RankResult> run() {
    SHUNT_TRY(set_up());
    for (int i = 0; i < o().warmup; ++i) {
      SHUNT_TRY(iterate(job_.records(i, true)));
      if (o().check && i == 0) SHUNT_TRY(check());
    }
    if (o().check && o().warmup == 0) {
      return usage_error("--check needs --warmup 1 or more: it looks at a warm-up iteration");
    }
    // Between two barriers: a rank may be done while what it sent is still on its link.
    SHUNT_TRY(world_.barrier());
    auto before = read_counters();
    if (!before) return Unexpected(std::move(before).error());
    SHUNT_TRY(world_.barrier());
    for (int i = 0; i < o().iters; ++i) {
      progress(i);
      SHUNT_TRY(iterate(job_.records(i, false)));
    }
    progress(o().iters);
    return finish(*before);
  }

 private:
  [[nodiscard]] const BenchOptions& o() const { return job_.options; }
  [[nodiscard]] int node() const { return job_.shape.node_of(world_.rank()); }

  Status set_up() {
    auto routings = all_routings(job_);
    if (!routings) return Unexpected(std::move(routings).error());
    routing_ = (*routings)[static_cast<std::size_t>(world_.rank())];
    check_ = std::make_unique<BenchCheck>(job_.shape,
                                          world_.rank(),
                                          o().experts,
                                          std::move(*routings),
                                          RowSource(o().seed, o().hidden, o().dtype),
                                          o().hidden,
                                          o().dtype,
                                          o().wire_dtype.value_or(o().dtype));
    std::int64_t most = 0;
    for (int r = 0; r < job_.shape.world; ++r) most = std::max(most, check_->expected_rows(r));
    auto log = profile::RankLog::create(job_.directory, world_.rank(), world_.size(), job_.run_id);
    if (!log) return Unexpected(std::move(log).error());
    log_ = std::make_unique<profile::RankLog>(std::move(*log));
    auto aligner = profile::ClockAligner::create(
        world_.size(),
        [this](std::span<const std::byte> mine) { return world_.all_gather(mine); },
        [] { return now_ns(); },
        profile::host_clock_identity());
    if (!aligner) return Unexpected(std::move(aligner).error());
    aligner_ = std::make_unique<profile::ClockAligner>(std::move(*aligner));
    SHUNT_TRY(aligner_->sample());
    const RowSource rows(o().seed, o().hidden, o().dtype);
    std::vector<std::byte> input(static_cast<std::size_t>(o().tokens) * rows.row_bytes());
    for (std::int64_t t = 0; t < o().tokens; ++t) {
      rows.fill(world_.rank(), t, input.data() + static_cast<std::size_t>(t) * rows.row_bytes());
    }
    return create_engine(most, std::move(input));
  }

  Status create_engine(std::int64_t most_rows, std::vector<std::byte> input) {
    EngineSetup setup{.world = world_,
                      .options = buffer_options(job_, most_rows),
                      .make_fabric = {},
                      .recorder = &recorder_,
                      .routing = &routing_,
                      .capacity = check_->expected_rows(world_.rank()),
                      .input = std::move(input),
                      .sms = o().sms,
                      .near_cpus = !o().any_cpu,
                      .staging = staging_of(o())};
    if (job_.links != nullptr) setup.options.bind_address = job_.links->address(node());
    setup.options.nics = job_.nics_of_rank(world_.rank());
    auto slow = parse_slow_rank(o().slow_rank);
    if (!slow) return Unexpected(std::move(slow).error());
    slow_ = *slow;
    if (!o().faults.empty()) {
      setup.make_fabric = [this, options = setup.options](int queue_pairs, int thread) {
        return faulty(options, queue_pairs, thread);
      };
    }
    auto made = o().device == "cuda" ? cuda_engine(std::move(setup)) : cpu_engine(std::move(setup));
    if (!made) return Unexpected(std::move(made).error());
    engine_ = std::move(*made);
    return {};
  }

  Result<std::unique_ptr<fabric::Fabric>> faulty(const BufferOptions& options,
                                                 int queue_pairs,
                                                 int thread) {
    auto faults = fabric::parse_faults(o().faults);
    if (!faults) return Unexpected(std::move(faults).error());
    // Every fabric its own.
    faults->seed += static_cast<std::uint64_t>(thread * world_.size() + world_.rank());
    fabric::LibfabricOptions lib;
    lib.provider = options.provider;
    lib.bind_address = options.bind_address;
    lib.qps = queue_pairs;
    auto inner = options.nics.empty() ? fabric::create_libfabric(lib)
                                      : fabric::create_libfabric_on(options.nics, lib);
    if (!inner) return inner;
    auto made = fabric::FaultyFabric::create(std::move(*inner), *faults);
    if (!made) return Unexpected(std::move(made).error());
    return std::unique_ptr<fabric::Fabric>(std::move(*made));
  }

  void be_late() const {
    if (slow_.rank != world_.rank()) return;
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(slow_.ms));
  }

  /// Dispatch and combine; `kept`: with records.
  Status iterate(bool kept) {
    SHUNT_TRY(world_.barrier());
    be_late();
    SHUNT_TRY(engine_->dispatch());
    SHUNT_TRY(take_records(kept));
    SHUNT_TRY(world_.barrier());
    be_late();
    SHUNT_TRY(engine_->combine());
    return take_records(kept);
  }

  Status take_records(bool kept) {
    if (kept) return log_->drain(recorder_);
    log_->discard(recorder_);
    return {};
  }

  /// Dispatch as it stands; then a combine of rows that differ by rank.
  Status check() {
    // The combine before has not changed the received rows.
    auto arrived = engine_->arrived();
    if (!arrived) return Unexpected(std::move(arrived).error());
    check_->dispatch(arrived->rows, arrived->origins, arrived->count, result_.correctness);
    check_->run_experts(arrived->rows, arrived->count);
    SHUNT_TRY(engine_->return_rows());
    SHUNT_TRY(world_.barrier());
    SHUNT_TRY(engine_->combine());
    SHUNT_TRY(log_->drain(recorder_));
    auto sums = engine_->sums();
    if (!sums) return Unexpected(std::move(sums).error());
    check_->combine(*sums, result_.correctness);
    return {};
  }

  struct Counters {
    std::uint64_t messages = 0;
    std::vector<std::uint64_t> cpu_ns;            ///< Of each progress thread.
    std::uint64_t time_ns = 0;                    ///< Of this reading.
    std::optional<bootstrap::LinkCounters> link;  ///< First rank of a node, emulated links only.
  };

  Result<Counters> read_counters() const {
    const engine::ProxyGroup& threads = engine_->progress();
    Counters counters{
        .messages = threads.messages(), .cpu_ns = {}, .time_ns = now_ns(), .link = {}};
    for (int t = 0; t < threads.size(); ++t) {
      counters.cpu_ns.push_back(threads.thread(t).cpu_ns());
    }
    if (job_.links == nullptr || job_.shape.local_of(world_.rank()) != 0) return counters;
    auto read = job_.links->counters(node());
    if (!read) return Unexpected(std::move(read).error());
    counters.link = *read;
    return counters;
  }

  [[nodiscard]] std::vector<profile::ProgressThread> progress_threads(const Counters& before,
                                                                      const Counters& after) const {
    std::vector<profile::ProgressThread> threads;
    for (int t = 0; t < engine_->progress().size(); ++t) {
      const engine::ProxyStats& stats = engine_->progress().thread(t).stats();
      const auto at = static_cast<std::size_t>(t);
      profile::ProgressThread& thread = threads.emplace_back();
      thread.rank = world_.rank();
      thread.thread = t;
      thread.cpu_ns = after.cpu_ns[at] - before.cpu_ns[at];
      thread.elapsed_ns = after.time_ns - before.time_ns;
      thread.descriptors = stats.descriptors.get();
      thread.largest_backlog = stats.largest_backlog.get();
      thread.aged = stats.aged.get();
      thread.total_age_ns = stats.total_age_ns.get();
      thread.largest_age_ns = stats.largest_age_ns.get();
      thread.largest_poll_gap_ns = stats.largest_poll_gap_ns.get();
    }
    return threads;
  }

  Result<RankResult> finish(const Counters& before) {
    SHUNT_TRY(world_.barrier());
    auto after = read_counters();
    if (!after) return Unexpected(std::move(after).error());
    result_.messages = after->messages - before.messages;
    result_.progress = progress_threads(before, *after);
    if (before.link && after->link) {
      profile::LinkCounter counter;
      counter.from_node = node();
      counter.source = job_.links->nics() == 1 ? "token bucket of the emulated link"
                                               : "token buckets of the emulated links";
      counter.bytes = after->link->wire_bytes - before.link->wire_bytes;
      counter.packets = after->link->wire_packets - before.link->wire_packets;
      if (before.link->resent_segments && after->link->resent_segments) {
        counter.resent_segments = *after->link->resent_segments - *before.link->resent_segments;
      }
      result_.counter = counter;
    }
    SHUNT_TRY(aligner_->sample());
    result_.clocks = aligner_->fits();
    result_.provider = engine_->provider();
    result_.staging = engine_->staging();
    engine_->close();
    SHUNT_TRY(log_->finish(recorder_));
    result_.dropped = recorder_.dropped() + log_->lost() + engine_->dropped();
    return result_;
  }

  void progress(int done) {
    if (world_.rank() != 0 || ::isatty(STDERR_FILENO) == 0) return;
    const std::uint64_t now = now_ns();
    if (done < o().iters && now - shown_ns_ < 100'000'000) return;
    shown_ns_ = now;
    std::fprintf(stderr,
                 "\rshunt: iteration %d of %d%s",
                 done,
                 o().iters,
                 done == o().iters ? "\r\033[K" : "");
    std::fflush(stderr);
  }

  bootstrap::World& world_;
  const BenchJob& job_;
  record::Recorder recorder_;
  std::unique_ptr<profile::RankLog> log_;
  std::unique_ptr<profile::ClockAligner> aligner_;
  std::unique_ptr<BenchCheck> check_;
  routing::Routing routing_;
  SlowRank slow_;
  std::unique_ptr<BenchEngine> engine_;
  RankResult result_;
  std::uint64_t shown_ns_ = 0;
};

}  // namespace

Result<RankResult> run_rank(bootstrap::World& world, const BenchJob& job) {
  RankBench bench(world, job);
  return bench.run();
}

namespace {

using nlohmann::json;

json progress_fields(const profile::ProgressThread& p) {
  return {p.rank,
          p.thread.value_or(0),
          p.cpu_ns,
          p.elapsed_ns,
          p.descriptors,
          p.largest_backlog,
          p.aged,
          p.total_age_ns,
          p.largest_age_ns,
          p.largest_poll_gap_ns};
}

}  // namespace

std::vector<std::byte> to_bytes(const RankResult& r) {
  json j{{"checked", r.correctness.checked},
         {"rows", r.correctness.dispatch_rows},
         {"dispatch_mismatches", r.correctness.dispatch_mismatches},
         {"combine_max_error", r.correctness.combine_max_error},
         {"combine_mismatches", r.correctness.combine_mismatches},
         {"dropped", r.dropped},
         {"messages", r.messages},
         {"provider", r.provider},
         {"staging", r.staging}};
  for (const profile::ProgressThread& thread : r.progress) {
    j["progress"].push_back(progress_fields(thread));
  }
  for (const profile::ClockFit& fit : r.clocks) {
    j["clocks"].push_back({fit.rank, fit.offset_ns, fit.drift_ppb, fit.begin_ns, fit.residual_ns});
  }
  if (r.counter) {
    j["counter"] = {r.counter->from_node, r.counter->source, r.counter->bytes, r.counter->packets};
    if (r.counter->resent_segments) j["resent_segments"] = *r.counter->resent_segments;
  }
  const std::vector<std::uint8_t> packed = json::to_cbor(j);
  const auto bytes = std::as_bytes(std::span(packed));
  return {bytes.begin(), bytes.end()};
}

Result<RankResult> from_bytes(const std::vector<std::byte>& bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const json j = json::from_cbor(data, data + bytes.size(), true, false);
  if (j.is_discarded()) {
    return fail(ErrorCode::kInternal, ErrorScope::kOperation, "a rank's result is not readable");
  }
  RankResult r;
  r.correctness.checked = j["checked"];
  r.correctness.dispatch_rows = j["rows"];
  r.correctness.dispatch_mismatches = j["dispatch_mismatches"];
  r.correctness.combine_max_error = j["combine_max_error"];
  r.correctness.combine_mismatches = j["combine_mismatches"];
  r.dropped = j["dropped"];
  r.messages = j["messages"];
  for (const json& p : j["progress"]) {
    r.progress.push_back({p[0], p[1].get<int>(), p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9]});
  }
  r.provider = j["provider"];
  r.staging = j["staging"];
  if (j.contains("clocks")) {
    for (const json& fit : j["clocks"]) {
      r.clocks.push_back({fit[0], fit[1], fit[2], fit[3], fit[4]});
    }
  }
  if (j.contains("counter")) {
    const json& counter = j["counter"];
    r.counter = profile::LinkCounter{counter[0], -1, counter[1], counter[2], counter[3], {}, {}};
    if (j.contains("resent_segments")) r.counter->resent_segments = j["resent_segments"];
  }
  return r;
}

}  // namespace shunt::cli
