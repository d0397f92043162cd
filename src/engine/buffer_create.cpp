// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Creation of a Buffer: options checked and compared, memory, fabric and threads brought up in the
// order in which they depend on each other.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "engine/buffer_state.hpp"
#include "fabric/libfabric_fabric.hpp"

namespace shunt::engine {
namespace {

constexpr std::uint32_t kCountCredits = 4;
constexpr std::int64_t kProtocolVersion = 1;

Status check_options(const BufferOptions& o, const cluster::Shape& shape) {
  const auto at_least_one = [](const char* name, std::int64_t value) -> Status {
    if (value >= 1) return {};
    return usage_error("{} {} is not allowed; at least 1", name, value);
  };
  SHUNT_TRY(at_least_one("topk", o.topk));
  SHUNT_TRY(at_least_one("hidden", o.hidden));
  SHUNT_TRY(at_least_one("chunk_tokens", o.chunk_tokens));
  SHUNT_TRY(at_least_one("credits", o.credits));
  SHUNT_TRY(at_least_one("qps", o.qps));
  SHUNT_TRY(at_least_one("rdma_blocks", o.rdma_blocks));
  SHUNT_TRY(at_least_one("blocks", o.blocks));
  SHUNT_TRY(at_least_one("heartbeat_ns", static_cast<std::int64_t>(o.heartbeat_ns)));
  SHUNT_TRY(at_least_one("deadline_ns", static_cast<std::int64_t>(o.deadline_ns)));
  if (o.max_tokens < 0) return usage_error("max_tokens {} is not allowed", o.max_tokens);
  const std::uint64_t row = static_cast<std::uint64_t>(o.hidden) * size_of(o.dtype);
  if (row % 16 != 0) {
    return usage_error("hidden {} of {} makes rows of {} bytes; a multiple of 16 bytes is needed",
                       o.hidden,
                       to_string(o.dtype),
                       row);
  }
  if (o.experts < shape.world || o.experts % shape.world != 0) {
    return usage_error("{} experts do not divide over {} ranks; give a multiple of {}",
                       o.experts,
                       shape.world,
                       shape.world);
  }
  const std::uint64_t peers = static_cast<std::uint64_t>(shape.nodes - 1);
  if (peers * static_cast<std::uint64_t>(o.credits) > fabric::kMaxSlots) {
    return usage_error(
        "{} credits for each of {} remote nodes are more slots than a signal can "
        "name ({})",
        o.credits,
        peers,
        fabric::kMaxSlots);
  }
  if (peers > exec::kMaxPeers) {
    return usage_error("{} nodes are more than the {} that a descriptor can name",
                       shape.nodes,
                       exec::kMaxPeers + 1);
  }
  return {};
}

/// The size of a put has 32 bits, in descriptors and in chunk headers.
Status check_put_size(const BufferOptions& o, const memory::Layout& layout) {
  for (const std::size_t bytes : layout.slot_bytes) {
    if (bytes <= std::numeric_limits<std::uint32_t>::max()) continue;
    return usage_error("chunk_tokens {} make puts of {}; less than 4 GiB is allowed",
                       o.chunk_tokens,
                       format_size(bytes));
  }
  return {};
}

/// What all ranks must agree on, by name.
std::vector<std::pair<const char*, std::int64_t>> shared_options(const BufferOptions& o) {
  return {{"protocol version", kProtocolVersion},
          {"ranks_per_node", o.ranks_per_node},
          {"experts", o.experts},
          {"topk", o.topk},
          {"hidden", o.hidden},
          {"dtype", static_cast<std::int64_t>(o.dtype)},
          {"wire_dtype", static_cast<std::int64_t>(o.wire_dtype.value_or(o.dtype))},
          {"max_tokens", o.max_tokens},
          {"chunk_tokens", o.chunk_tokens},
          {"credits", o.credits},
          {"qps", o.qps},
          {"weights", static_cast<std::int64_t>(o.weights)},
          {"heap_bytes", static_cast<std::int64_t>(o.heap_bytes)}};
}

Status compare_options(bootstrap::World& world, const BufferOptions& options) {
  const auto mine = shared_options(options);
  std::vector<std::int64_t> values;
  for (const auto& [name, value] : mine) values.push_back(value);
  auto all = world.all_gather(std::as_bytes(std::span(values)));
  if (!all) return Unexpected(std::move(all).error());
  for (std::size_t r = 0; r < all->size(); ++r) {
    std::vector<std::int64_t> theirs(values.size());
    if ((*all)[r].size() != values.size() * sizeof(std::int64_t)) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "rank {} runs another version of the library than rank {}",
                  r,
                  world.rank());
    }
    std::memcpy(theirs.data(), (*all)[r].data(), (*all)[r].size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (theirs[i] == values[i]) continue;
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kUsage,
                  "{} is {} on rank {} and {} on rank {}; all ranks must agree",
                  mine[i].first,
                  values[i],
                  world.rank(),
                  theirs[i],
                  r);
    }
  }
  return {};
}

}  // namespace

struct BufferBuilder {
  bootstrap::World& world;
  BufferState& state;
  std::unique_ptr<fabric::Fabric> fabric{};

  Status build() {
    const BufferOptions& options = state.options_;
    auto shape = cluster::Shape::create(world.size(), options.ranks_per_node);
    if (!shape) return Unexpected(std::move(shape).error());
    SHUNT_TRY(check_options(options, *shape));
    SHUNT_TRY(compare_options(world, options));
    lay_out(*shape);
    SHUNT_TRY(check_put_size(options, state.view_.layout));
    const std::size_t bytes = state.view_.layout.user + state.options_.heap_bytes;
    auto heap = memory::Heap::create(world, *shape, bytes);
    if (!heap) return Unexpected(std::move(heap).error());
    state.heap_ = std::move(*heap);
    state.allocator_.reset(state.view_.layout.user, bytes);
    SHUNT_TRY(connect());
    wire_view();
    start_proxy();
    // Nobody sends before everybody can receive.
    SHUNT_TRY(world.barrier());
    state.proxy_->start();
    start_workers();
    SHUNT_LOG_INFO("rank {} of {} node {} heap {} of which landing and staging {}",
                   world.rank(),
                   world.size(),
                   state.view_.node,
                   format_size(bytes),
                   format_size(state.view_.layout.user));
    return {};
  }

  void lay_out(const cluster::Shape& shape) {
    const BufferOptions& o = state.options_;
    exec::RankView& view = state.view_;
    view.shape = shape;
    view.rank = world.rank();
    view.node = shape.node_of(view.rank);
    view.local = shape.local_of(view.rank);
    traffic::RecordLayout& record = state.record_;
    record.hidden_bytes = static_cast<std::uint64_t>(o.hidden) * size_of(o.dtype);
    record.topk = o.topk;
    record.has_weights = o.weights;
    record.chunk_tokens = o.chunk_tokens;
    record.ranks_per_node = shape.ranks_per_node;
    state.wire_stride_ =
        memory::align_up(static_cast<std::size_t>(o.hidden) * size_of(state.wire_dtype()), 16);
    memory::ChannelSizes sizes;
    const auto credits = static_cast<std::uint32_t>(o.credits);
    const std::uint32_t capacities[] = {credits, credits, kCountCredits};
    const std::size_t slots[] = {record.max_chunk_bytes(),
                                 sizeof(dispatch::ChunkHeader) +
                                     static_cast<std::size_t>(o.chunk_tokens) * state.wire_stride_,
                                 record.count_message_bytes()};
    for (int kind = 0; kind < 3; ++kind) {
      sizes.capacity[kind] = capacities[kind];
      sizes.slot_bytes[kind] = slots[kind];
    }
    view.layout = memory::Layout(shape, sizes);
  }

  Status connect() {
    const exec::RankView& view = state.view_;
    if (view.peers() == 0) return {};
    const int queue_pairs = state.options_.qps + 1;
    auto made = state.hooks_.make_fabric ? state.hooks_.make_fabric(queue_pairs) : libfabric();
    std::vector<std::byte> address;
    if (made) {
      fabric = std::move(*made);
      const Status exposed = fabric->expose({state.heap_->base(), state.heap_->size()});
      auto own =
          exposed ? fabric->address() : Result<std::vector<std::byte>>(Unexpected(exposed.error()));
      if (own) {
        address = std::move(*own);
      } else {
        made = Unexpected(std::move(own).error());
      }
    }
    // A rank that failed still takes part, with an empty address, so that nobody waits for it.
    auto all = world.all_gather(address);
    if (!made) return Unexpected(std::move(made).error());
    if (!all) return Unexpected(std::move(all).error());
    std::vector<std::vector<std::byte>> peers;
    for (int p = 0; p < view.peers(); ++p) {
      peers.push_back(std::move((*all)[static_cast<std::size_t>(view.rail_rank(p))]));
      if (peers.back().empty()) {
        return fail(ErrorCode::kPeerLost,
                    ErrorScope::kFatal,
                    "rank {} has no fabric; its own message says why",
                    view.rail_rank(p));
      }
    }
    state.provider_ = fabric->provider();
    return fabric->connect(peers);
  }

  Result<std::unique_ptr<fabric::Fabric>> libfabric() const {
    const auto peers = static_cast<std::size_t>(state.view_.peers());
    const std::size_t data =
        peers * (2 * static_cast<std::size_t>(state.options_.credits) + kCountCredits);
    fabric::LibfabricOptions o;
    o.provider = state.options_.provider;
    o.bind_address = state.options_.bind_address;
    o.qps = state.options_.qps + 1;
    // Data within the credits; credits, heartbeats and control words beside them.
    o.depth = std::max<std::size_t>(256, data * 2 + peers * 16);
    o.arrivals = std::max<std::size_t>(1024, data * 4 + peers * 32);
    return fabric::create_libfabric(o);
  }

  void wire_view() {
    exec::RankView& view = state.view_;
    const auto peers = static_cast<std::size_t>(view.peers());
    for (const memory::Window& window : state.heap_->windows()) {
      state.windows_.push_back(window.base);
    }
    view.heap = state.heap_->base();
    view.windows = state.windows_.data();
    state.words_.assign(static_cast<std::size_t>(exec::Word::kCount) * 8 + 8, 0);
    view.words = reinterpret_cast<std::uint64_t*>(
        memory::align_up(reinterpret_cast<std::uintptr_t>(state.words_.data()), memory::kLine));
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
    const auto locals = static_cast<std::size_t>(view.shape.ranks_per_node);
    const auto rdma = static_cast<std::size_t>(state.options_.rdma_blocks);
    state.send_scratch_.resize(rdma * peers);
    state.receive_scratch_.resize(rdma * (peers + locals));
    const int fanout = std::min(state.options_.topk, view.shape.ranks_per_node);
    const auto most_blocks = std::max(rdma, static_cast<std::size_t>(state.options_.blocks));
    state.terms_.resize(3 * most_blocks * static_cast<std::size_t>(fanout + view.shape.nodes));
  }

  void start_proxy() {
    record::Recorder* recorder = state.hooks_.recorder;
    ProxyOptions o;
    o.rank = state.view_;
    o.fabric = std::move(fabric);
    o.failure = &state.failure_;
    o.lane = recorder != nullptr ? recorder->add_lane() : nullptr;
    o.qps = state.options_.qps;
    o.heartbeat_ns = state.options_.heartbeat_ns;
    state.proxy_ = std::make_unique<Proxy>(std::move(o));
    Proxy* proxy = state.proxy_.get();
    exec::cpu::CpuContext& context = state.context_;
    context.rank = state.view_;
    context.ring = &proxy->ring();
    context.wake_proxy = [proxy] { proxy->wake(); };
    context.proxy_sleeps = &proxy->sleeps();
    context.failure = &state.failure_;
    context.on_failure = [proxy, rank = state.view_.rank](Error error) {
      proxy->fail(std::move(error), ControlCode::kFailed, rank);
    };
    context.on_abort = [proxy](std::uint64_t word) { proxy->absorb_abort(word); };
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
          if (!exec.failed()) s.run_block(operation, block.role, exec);
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
  if (proxy_ != nullptr) proxy_->stop();
}

}  // namespace shunt::engine
