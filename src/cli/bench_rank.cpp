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
#include "cli/bench_job.hpp"
#include "engine/buffer_state.hpp"
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
  b.rdma_blocks = o.rdma_blocks;
  b.blocks = o.blocks;
  b.provider = o.provider;
  b.deadline_ns = static_cast<std::uint64_t>(o.deadline_s * 1e9);
  const auto row = static_cast<std::size_t>(o.hidden) * size_of(o.dtype) +
                   static_cast<std::size_t>(o.topk) * 8 + sizeof(RowOrigin);
  b.heap_bytes = static_cast<std::size_t>(most_rows) * row + (std::size_t{1} << 16);
  return b;
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
    capacity_ = check_->expected_rows(world_.rank());
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
    SHUNT_TRY(create_buffer(most));
    const RowSource rows(o().seed, o().hidden, o().dtype);
    input_.resize(static_cast<std::size_t>(o().tokens) * rows.row_bytes());
    output_.resize(std::max<std::size_t>(input_.size(), 16));
    for (std::int64_t t = 0; t < o().tokens; ++t) {
      rows.fill(world_.rank(), t, input_.data() + static_cast<std::size_t>(t) * rows.row_bytes());
    }
    return {};
  }

  Status create_buffer(std::int64_t most_rows) {
    BufferOptions options = buffer_options(job_, most_rows);
    if (job_.links != nullptr) options.bind_address = job_.links->address(node());
    options.nics = job_.nics_of(job_.shape.local_of(world_.rank()));
    engine::BufferHooks hooks;
    hooks.recorder = &recorder_;
    auto slow = parse_slow_rank(o().slow_rank);
    if (!slow) return Unexpected(std::move(slow).error());
    slow_ = *slow;
    if (!o().faults.empty()) {
      hooks.make_fabric = [&, options](int queue_pairs) { return faulty(options, queue_pairs); };
    }
    auto state = engine::BufferState::create(world_, options, hooks);
    if (!state) return Unexpected(std::move(state).error());
    buffer_ = std::move(*state);
    const auto rows = static_cast<std::size_t>(capacity_);
    const auto place = [&](std::size_t bytes) { return buffer_->allocate(bytes); };
    auto at = place(rows * static_cast<std::size_t>(o().hidden) * size_of(o().dtype));
    auto ids = place(rows * static_cast<std::size_t>(o().topk) * sizeof(std::int32_t));
    auto weights = place(rows * static_cast<std::size_t>(o().topk) * sizeof(float));
    auto origins = place(rows * sizeof(RowOrigin));
    if (!at || !ids || !weights || !origins) {
      return fail(ErrorCode::kInternal, ErrorScope::kOperation, "the heap was sized too small");
    }
    received_ = {*at,
                 static_cast<std::int32_t*>(*ids),
                 static_cast<float*>(*weights),
                 static_cast<RowOrigin*>(*origins),
                 capacity_};
    return {};
  }

  Result<std::unique_ptr<fabric::Fabric>> faulty(const BufferOptions& options, int queue_pairs) {
    auto faults = fabric::parse_faults(o().faults);
    if (!faults) return Unexpected(std::move(faults).error());
    faults->seed += static_cast<std::uint64_t>(world_.rank());
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
    auto handle = buffer_->dispatch(
        {input_.data(), o().tokens, routing_.ids.data(), routing_.weights.data()}, received_);
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = *handle;
    SHUNT_TRY(buffer_->wait(*handle_));
    SHUNT_TRY(take_records(kept));
    SHUNT_TRY(world_.barrier());
    be_late();
    SHUNT_TRY(buffer_->combine(handle_, {received_.rows, output_.data()}));
    SHUNT_TRY(buffer_->wait(*handle_));
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
    const std::int64_t rows = handle_->total_rows();
    auto* data = static_cast<std::byte*>(received_.rows);
    check_->dispatch(data, received_.origins, rows, result_.correctness);
    check_->run_experts(data, rows);
    SHUNT_TRY(world_.barrier());
    SHUNT_TRY(buffer_->combine(handle_, {received_.rows, output_.data()}));
    SHUNT_TRY(buffer_->wait(*handle_));
    SHUNT_TRY(log_->drain(recorder_));
    check_->combine(output_.data(), result_.correctness);
    return {};
  }

  struct Counters {
    std::uint64_t messages = 0;
    std::optional<bootstrap::LinkCounters> link;  ///< First rank of a node, emulated links only.
  };

  Result<Counters> read_counters() const {
    Counters counters{.messages = buffer_->proxy_stats().messages()};
    if (job_.links == nullptr || job_.shape.local_of(world_.rank()) != 0) return counters;
    auto read = job_.links->counters(node());
    if (!read) return Unexpected(std::move(read).error());
    counters.link = *read;
    return counters;
  }

  Result<RankResult> finish(const Counters& before) {
    SHUNT_TRY(world_.barrier());
    auto after = read_counters();
    if (!after) return Unexpected(std::move(after).error());
    result_.messages = after->messages - before.messages;
    if (before.link && after->link) {
      profile::LinkCounter counter;
      counter.from_node = node();
      counter.source = "token bucket of the emulated link";
      counter.bytes = after->link->wire_bytes - before.link->wire_bytes;
      counter.packets = after->link->wire_packets - before.link->wire_packets;
      if (before.link->resent_segments && after->link->resent_segments) {
        counter.resent_segments = *after->link->resent_segments - *before.link->resent_segments;
      }
      result_.counter = counter;
    }
    SHUNT_TRY(aligner_->sample());
    result_.clocks = aligner_->fits();
    result_.provider = buffer_->provider();
    buffer_->close();
    SHUNT_TRY(log_->finish(recorder_));
    result_.dropped = recorder_.dropped() + log_->lost();
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
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  std::int64_t capacity_ = 0;
  SlowRank slow_;
  std::shared_ptr<engine::BufferState> buffer_;
  std::shared_ptr<engine::HandleState> handle_;
  DispatchOutput received_;
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
}

std::vector<std::byte> to_bytes(const RankResult& r) {
  json j{{"checked", r.correctness.checked},
         {"rows", r.correctness.dispatch_rows},
         {"dispatch_mismatches", r.correctness.dispatch_mismatches},
         {"combine_max_error", r.correctness.combine_max_error},
         {"combine_mismatches", r.correctness.combine_mismatches},
         {"dropped", r.dropped},
         {"messages", r.messages},
         {"provider", r.provider}};
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
  r.provider = j["provider"];
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
