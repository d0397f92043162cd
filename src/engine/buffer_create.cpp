// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Creation of a Buffer on the CPU: memory, fabrics and threads brought up in the order in which
// they depend on each other.
#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "engine/buffer_state.hpp"
#include "engine/setup.hpp"

namespace shunt::engine {

struct BufferBuilder {
  bootstrap::World& world;
  BufferState& state;
  SlotMemory slots{};  ///< Where those of chunks lie apart from the heap.
  std::vector<fabric::Region> regions{};
  Fabrics fabrics{};

  Status build() {
    const BufferOptions& options = state.options_;
    exec::RankView& view = state.view_;
    auto sizes = set_up(world, options, view, state.hooks_.ahead);
    if (!sizes) return Unexpected(std::move(sizes).error());
    state.record_ = sizes->record;
    state.wire_stride_ = sizes->wire_stride;
    const std::size_t bytes = view.layout.user + options.heap_bytes;
    auto heap = memory::Heap::create(world, view.shape, bytes);
    if (!heap) return Unexpected(std::move(heap).error());
    state.heap_ = std::move(*heap);
    state.allocator_.reset(view.layout.user, bytes);
    wire_view();
    SHUNT_TRY(place_slots());
    auto connected = connect_fabrics(world, options, view, regions, state.hooks_.make_fabric);
    if (!connected) return Unexpected(std::move(connected).error());
    fabrics = std::move(*connected);
    if (view.peers() > 0) state.provider_ = fabrics.front()->provider();
    make_progress();
    // Nobody sends before everybody can receive.
    SHUNT_TRY(world.barrier());
    state.progress_->start();
    start_workers();
    SHUNT_LOG_INFO("rank {} of {} node {} heap {} of which landing and staging {}",
                   world.rank(),
                   world.size(),
                   view.node,
                   format_size(bytes),
                   format_size(view.layout.user));
    return {};
  }

  void wire_view() {
    exec::RankView& view = state.view_;
    const auto peers = static_cast<std::size_t>(view.peers());
    for (const memory::Window& window : state.heap_->windows()) {
      state.windows_.push_back(window.base);
    }
    view.heap = state.heap_->base();
    view.fabric = view.heap;
    view.slots = view.heap + view.layout.slots_begin;
    view.windows = state.windows_.data();
    state.words_.assign(static_cast<std::size_t>(exec::Word::kCount) * 8 + 8, 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(state.words_.data());
    const std::size_t skipped = memory::align_up(begin, memory::kLine) - begin;
    view.words = state.words_.data() + skipped / sizeof(std::uint64_t);
    state.sequences_.assign(6 * peers, 0);
    std::size_t notes = 0;
    for (const std::uint32_t capacity : view.layout.capacity) notes += peers * capacity;
    state.notes_.resize(notes);
    std::size_t note = 0;
    for (std::size_t kind = 0; kind < 3; ++kind) {
      view.sent[kind] = state.sequences_.data() + kind * peers;
      view.received[kind] = state.sequences_.data() + (3 + kind) * peers;
      view.notes[kind] = state.notes_.data() + note;
      note += peers * view.layout.capacity[kind];
    }
    const auto rdma = static_cast<std::size_t>(state.options_.rdma_blocks);
    state.send_scratch_.resize(rdma * peers);
    state.receive_scratch_.resize(rdma * peers);
    const int fanout = std::min(state.options_.topk, view.shape.ranks_per_node);
    const auto most_blocks = std::max(rdma, static_cast<std::size_t>(state.options_.blocks));
    state.targets_.resize(3 * most_blocks * static_cast<std::size_t>(view.shape.ranks_per_node));
    state.terms_.resize(3 * most_blocks * static_cast<std::size_t>(state.hooks_.warps) *
                        static_cast<std::size_t>(fanout + view.shape.nodes));
  }

  Status place_slots() {
    exec::RankView& view = state.view_;
    const memory::Layout& layout = view.layout;
    std::byte* begin = view.fabric + layout.fabric_begin;
    regions = {{{begin, layout.fabric_end - layout.fabric_begin}}};
    if (!state.hooks_.place_slots || view.peers() == 0) return {};
    auto placed = state.hooks_.place_slots(layout.fabric_end - layout.slots_begin);
    if (!placed) return Unexpected(std::move(placed).error());
    slots = std::move(*placed);
    view.slots = slots.blocks;
    regions = {{{begin, layout.slots_begin - layout.fabric_begin}}, slots.region};
    const auto peers = static_cast<std::size_t>(view.peers());
    state.landed_.resize(peers * (layout.capacity[0] + layout.capacity[1]));
    view.landed[0] = state.landed_.data();
    view.landed[1] = view.landed[0] + peers * layout.capacity[0];
    return {};
  }

  std::vector<ProxyPart> make_parts() {
    record::Recorder* recorder = state.hooks_.recorder;
    const auto threads = static_cast<std::uint32_t>(fabrics.size());
    std::vector<ProxyPart> parts;
    for (std::uint32_t t = 0; t < threads; ++t) {
      const exec::PeerShare share{t, threads};
      state.rings_.push_back(
          std::make_unique<exec::cpu::DescriptorRing>(ring_capacity(state.view_, share)));
      parts.push_back({share,
                       state.rings_.back()->view(),
                       std::move(fabrics[t]),
                       recorder != nullptr ? recorder->add_lane() : nullptr});
    }
    return parts;
  }

  void make_progress() {
    ProgressOptions o;
    o.rank = state.view_;
    if (slots.host != nullptr) {
      o.rank.slots = slots.host;
      o.slots_on_device = true;
      o.flush_arrivals = slots.flush;
    }
    o.qps = state.options_.qps;
    o.nics = std::max<int>(1, static_cast<int>(state.options_.nics.size()));
    o.heartbeat_ns = state.options_.heartbeat_ns;
    o.cpus = state.hooks_.progress_cpus;
    AlarmOptions alarm_options;
    alarm_options.rank = state.view_;
    alarm_options.failure = &state.failure_;
    state.progress_ =
        std::make_unique<ProxyGroup>(std::move(o), std::move(alarm_options), make_parts());
    exec::cpu::CpuContext& context = state.context_;
    context.rank = state.view_;
    for (int t = 0; t < state.progress_->size(); ++t) {
      Proxy& proxy = state.progress_->thread(t);
      context.progress.push_back({state.rings_[static_cast<std::size_t>(t)].get(),
                                  &proxy.sleeps(),
                                  [&proxy] { proxy.wake(); }});
    }
    Alarm& alarm = state.progress_->alarm();
    context.failure = &state.failure_;
    context.on_failure = [&alarm, rank = state.view_.rank](Error error) {
      alarm.raise(std::move(error), ControlCode::kFailed, rank);
    };
    context.on_abort = [&alarm](std::uint64_t word) { alarm.absorb(word); };
    context.deadline_ns = state.options_.deadline_ns;
    context.kernels = &exec::cpu::kernels();
  }

  void start_workers() {
    std::vector<Block> blocks;
    // Blocks that send come before blocks that wait.
    if (state.view_.peers() > 0) {
      for (int i = 0; i < state.options_.rdma_blocks; ++i) blocks.push_back({Role::kSend, i});
      for (int i = 0; i < state.options_.rdma_blocks; ++i) blocks.push_back({Role::kReceive, i});
    }
    for (int i = 0; i < state.options_.blocks; ++i) blocks.push_back({Role::kIntra, i});
    record::Recorder* recorder = state.hooks_.recorder;
    std::map<std::pair<int, int>, record::Lane*> lanes;
    for (const Block& block : blocks) {
      lanes[{static_cast<int>(block.role), block.index}] =
          recorder != nullptr ? recorder->add_lane() : nullptr;
    }
    state.workers_ = std::make_unique<Workers<Operation>>(
        blocks, [&s = state, lanes](Operation& operation, const Block& block) {
          const int count = block.role == Role::kIntra ? s.options_.blocks : s.options_.rdma_blocks;
          exec::cpu::CpuExec exec(s.context_,
                                  block.index,
                                  count,
                                  lanes.at({static_cast<int>(block.role), block.index}));
          exec.begin(operation.op);
          if (s.hooks_.before_operation) {
            s.hooks_.before_operation(static_cast<int>(block.role), block.index, operation.op);
          }
          if (!exec.failed()) s.run_block(operation, block, exec);
        });
  }
};

Result<std::shared_ptr<BufferState>> BufferState::create(bootstrap::World& world,
                                                         const BufferOptions& options,
                                                         const BufferHooks& hooks) {
  std::shared_ptr<BufferState> state(new BufferState());
  state->options_ = options;
  state->hooks_ = hooks;
  BufferBuilder builder{world, *state};
  SHUNT_TRY(builder.build());
  return state;
}

BufferState::~BufferState() {
  close();
}

void BufferState::close() {
  if (workers_ != nullptr) workers_->stop();
  if (progress_ != nullptr) progress_->stop();
}

}  // namespace shunt::engine
