// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/wire.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/collective.hpp"
#include "engine/cuda/buffer.hpp"
#include "engine/setup.hpp"
#include "gpu/kernels.hpp"
#include "routing/generate.hpp"

namespace shunt::bench::gpu {
namespace {

using engine::cuda::Buffer;
using engine::cuda::Handle;
using memory::cuda::check;
using memory::cuda::DeviceMemory;

constexpr int kWarmUp = 2;
constexpr std::uint64_t kPatience_ns = 20'000'000'000;

BufferOptions buffer_options(const WireOptions& o, int world, int ranks_per_node) {
  BufferOptions b;
  b.ranks_per_node = ranks_per_node;
  b.experts = o.experts;
  b.topk = o.topk;
  b.hidden = o.hidden;
  b.max_tokens = o.tokens;
  b.chunk_tokens = o.chunk_tokens;
  b.credits = o.credits;
  b.qps = o.qps;
  b.proxy_threads = o.proxy_threads;
  b.provider = o.provider;
  const auto row = static_cast<std::size_t>(o.hidden) * 2 + 256;
  b.heap_bytes = static_cast<std::size_t>(o.tokens) * static_cast<std::size_t>(world) * row;
  return b;
}

/// Puts of one size to every rail peer, and as many from each, by one thread.
class PlainPuts {
 public:
  Status open(bootstrap::World& world, const BufferOptions& options) {
    options_ = options;
    options_.proxy_threads = 1;
    auto sizes = engine::set_up(world, options_, view_);
    if (!sizes) return Unexpected(std::move(sizes).error());
    const memory::Layout& layout = view_.layout;
    auto memory = memory::cuda::PinnedMemory::create(layout.fabric_end - layout.fabric_begin);
    if (!memory) return Unexpected(std::move(memory).error());
    memory_ = std::move(*memory);
    const fabric::Region region{{memory_.host(), memory_.bytes()}};
    auto fabrics = engine::connect_fabrics(world, options_, view_, {&region, 1}, {});
    if (!fabrics) return Unexpected(std::move(fabrics).error());
    fabric_ = std::move(fabrics->front());
    put_bytes_ = sizes->record.max_chunk_bytes();
    return world.barrier();
  }
  [[nodiscard]] std::uint64_t put_bytes() const { return put_bytes_; }
  [[nodiscard]] std::string provider() const { return fabric_->provider(); }

  /// `puts` to each peer, as many in flight as the Buffer has credits.
  Result<WireSample> run(std::int64_t puts) {
    const auto peers = static_cast<std::size_t>(view_.peers());
    std::vector<std::int64_t> posted(peers, 0);
    std::vector<std::int64_t> completed(peers, 0);
    std::int64_t open = puts * static_cast<std::int64_t>(peers);
    std::int64_t expected = open;
    WireSample sample;
    sample.first_post_ns = now_ns();
    const Deadline deadline = Deadline::after_ns(kPatience_ns);
    while (open > 0 || expected > 0) {
      for (std::size_t p = 0; p < peers; ++p) {
        while (posted[p] < puts && posted[p] - completed[p] < options_.credits &&
               post(static_cast<int>(p), posted[p])) {
          ++posted[p];
        }
      }
      std::array<fabric::Event, 64> events;
      const std::size_t count = fabric_->poll(events);
      for (std::size_t i = 0; i < count; ++i) {
        const fabric::Event& event = events[i];
        if (event.kind == fabric::Event::Kind::kFailed) return Unexpected(fabric_->last_error());
        if (event.kind == fabric::Event::Kind::kCompleted) {
          ++completed[event.context];
          --open;
          continue;
        }
        --expected;
        sample.arrived_bytes += put_bytes_;
        sample.last_arrival_ns = event.time_ns;
      }
      if (deadline.expired()) {
        return fail(ErrorCode::kTimeout, ErrorScope::kPeer, "plain puts do not arrive");
      }
    }
    return sample;
  }

 private:
  bool post(int peer, std::int64_t number) {
    constexpr int kKind = 0;
    const auto sequence = static_cast<std::uint64_t>(number);
    const memory::Layout& layout = view_.layout;
    const int node = view_.shape.peer_node(view_.node, peer);
    const auto index = static_cast<std::uint32_t>(view_.shape.peer_index(node, view_.node));
    fabric::Put put;
    put.context = static_cast<std::uint64_t>(peer);
    put.source_offset = layout.staging_slot(kKind, static_cast<std::uint32_t>(peer), sequence) -
                        layout.fabric_begin;
    put.target_offset = layout.landing_slot(kKind, index, sequence) - layout.fabric_begin;
    put.bytes = put_bytes_;
    put.immediate = static_cast<std::uint32_t>(number);
    put.peer = peer;
    put.qp = static_cast<std::int32_t>(number % options_.qps);
    return fabric_->post({&put, 1}) == 1;
  }

  BufferOptions options_;
  exec::RankView view_;
  memory::cuda::PinnedMemory memory_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::uint64_t put_bytes_ = 0;
};

/// One rank of the measurement.
class Wire {
 public:
  Wire(bootstrap::World& world, int ranks_per_node, const WireOptions& options)
      : world_(world),
        o_(options),
        buffer_options_(buffer_options(options, world.size(), ranks_per_node)),
        recorder_(1U << 16) {}

  Result<WireSamples> run() {
    SHUNT_TRY(set_up());
    SHUNT_TRY(plain_.open(world_, buffer_options_));
    samples_.put_bytes = plain_.put_bytes();
    for (int i = 0; i < kWarmUp + o_.rounds; ++i) SHUNT_TRY(round(i >= kWarmUp));
    samples_.provider = buffer_->provider();
    samples_.staging = buffer_->staging();
    take_health();
    samples_.timer_step_ns = buffer_->clock().step_ns();
    samples_.timer_error_ns = buffer_->clock().error_ns();
    SHUNT_TRY(world_.barrier());
    return samples_;
  }

 private:
  void take_health() {
    const engine::ProxyGroup& threads = buffer_->progress();
    samples_.proxy_threads = threads.size();
    const auto worst = [](std::uint64_t& of, std::uint64_t value) { of = std::max(of, value); };
    for (int t = 0; t < threads.size(); ++t) {
      const engine::ProxyStats& stats = threads.thread(t).stats();
      worst(samples_.largest_backlog, stats.largest_backlog.get());
      worst(samples_.mean_age_ns,
            stats.total_age_ns.get() / std::max<std::uint64_t>(1, stats.aged.get()));
      worst(samples_.largest_age_ns, stats.largest_age_ns.get());
      worst(samples_.largest_poll_gap_ns, stats.largest_poll_gap_ns.get());
    }
  }

  Status set_up() {
    engine::cuda::Geometry geometry;
    geometry.blocks = o_.blocks;
    geometry.rdma_blocks = o_.rdma_blocks;
    engine::cuda::Hooks hooks;
    hooks.recorder = &recorder_;
    hooks.staging = o_.staging;
    auto buffer = Buffer::create(world_, buffer_options_, geometry, hooks);
    if (!buffer) return Unexpected(std::move(buffer).error());
    buffer_ = std::move(*buffer);
    auto routing = routing::generate({}, o_.tokens, o_.topk, o_.experts, 1, world_.rank());
    if (!routing) return Unexpected(std::move(routing).error());
    auto handle = buffer_->plan(routing->view());
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = std::move(*handle);
    for (int p = 0; p + 1 < buffer_->shape().nodes; ++p) {
      chunks_ = std::max(chunks_, handle_->plan().chunks(p));
    }
    // Plain puts are as many on every rank: each counts on its peers' number.
    const auto all = bootstrap::all_gather_value(world_, chunks_);
    if (!all) return Unexpected(all.error());
    chunks_ = *std::ranges::max_element(*all);
    const std::size_t bytes =
        static_cast<std::size_t>(o_.tokens) * static_cast<std::size_t>(o_.hidden) * 2;
    for (DeviceMemory* memory : {&input_, &sums_}) {
      auto made = DeviceMemory::create(bytes);
      if (!made) return Unexpected(std::move(made).error());
      *memory = std::move(*made);
    }
    launch_fill({input_.data(), o_.tokens, o_.hidden, DType::kBF16}, world_.rank(), nullptr);
    SHUNT_TRY(check(cudaDeviceSynchronize(), "filling the input"));
    const std::int64_t capacity = o_.tokens * world_.size();
    auto rows = buffer_->allocate(static_cast<std::size_t>(capacity) *
                                  static_cast<std::size_t>(o_.hidden) * 2);
    if (!rows) return Unexpected(std::move(rows).error());
    output_ = {*rows, nullptr, nullptr, nullptr, capacity};
    return {};
  }

  template <typename Launch>
  Result<WireSample> operation(Launch&& launch) {
    SHUNT_TRY(world_.barrier());
    WireSample sample;
    sample.first_post_ns = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t cpu = buffer_->progress().cpu_ns();
    const std::uint64_t begin = now_ns();
    SHUNT_TRY(launch());
    SHUNT_TRY(buffer_->wait(nullptr));
    sample.operation_ns = now_ns() - begin;
    sample.progress_cpu_ns = buffer_->progress().cpu_ns() - cpu;
    recorder_.drain([&](record::RecordType type, const unsigned char* body) {
      if (type == record::RecordType::kPut) {
        record::Put put;
        std::memcpy(&put, body, sizeof(put));
        if (put.chunk >= 0) sample.first_post_ns = std::min(sample.first_post_ns, put.posted_ns);
      } else if (type == record::RecordType::kArrival) {
        record::Arrival arrival;
        std::memcpy(&arrival, body, sizeof(arrival));
        if (arrival.chunk < 0) return;
        sample.last_arrival_ns = std::max(sample.last_arrival_ns, arrival.time_ns);
        sample.arrived_bytes += arrival.bytes;
      }
    });
    return sample;
  }

  static Status keep(std::vector<WireSample>& to, bool measured, Result<WireSample> sample) {
    if (!sample) return Unexpected(std::move(sample).error());
    if (measured) to.push_back(*sample);
    return {};
  }

  Status round(bool measured) {
    SHUNT_TRY(keep(samples_.dispatch, measured, operation([&] {
                     return buffer_->dispatch(*handle_, input_.data(), output_, nullptr);
                   })));
    SHUNT_TRY(keep(samples_.combine, measured, operation([&] {
                     return buffer_->combine(*handle_, {output_.rows, sums_.data()}, nullptr);
                   })));
    SHUNT_TRY(world_.barrier());
    return keep(samples_.plain, measured, plain_.run(chunks_));
  }

  bootstrap::World& world_;
  const WireOptions& o_;
  const BufferOptions buffer_options_;
  record::Recorder recorder_;
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<Handle> handle_;
  std::int64_t chunks_ = 0;
  DeviceMemory input_;
  DeviceMemory sums_;
  DispatchOutput output_;
  PlainPuts plain_;
  WireSamples samples_;
};

}  // namespace

Result<WireSamples> run_wire(bootstrap::World& world,
                             int ranks_per_node,
                             const WireOptions& options) {
  Wire wire(world, ranks_per_node, options);
  return wire.run();
}

}  // namespace shunt::bench::gpu
