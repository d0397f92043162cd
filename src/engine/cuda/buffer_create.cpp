// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Creation of a Buffer on a device: options, memory of the device and of the host, in the order in
// which they depend on each other; progress threads last (buffer_progress.cpp).
#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bootstrap/collective.hpp"
#include "engine/cuda/blob.hpp"
#include "engine/cuda/buffer.hpp"
#include "engine/setup.hpp"
#include "memory/cuda/heap.hpp"

namespace shunt::engine::cuda {
namespace {

using exec::cuda::FailureRecord;
using memory::cuda::check;
using memory::cuda::DeviceMemory;
using memory::cuda::PinnedMemory;

Status check_geometry(const Geometry& g, int peers, bool record) {
  const int least = peers > 0 ? 2 * g.rdma_blocks + 1 : 1;
  if (peers > 0 && g.rdma_blocks < 1) {
    return usage_error("{} blocks for each direction between nodes are not allowed; at least 1",
                       g.rdma_blocks);
  }
  if (g.blocks < least) {
    return usage_error(
        "{} blocks are not allowed; at least {}{}",
        g.blocks,
        least,
        peers > 0 ? " (those that send, as many that receive, one inside the node)" : "");
  }
  if (g.warps < 1 || g.warps > max_warps(record)) {
    return usage_error("{} warps per block are not allowed; 1 to {}{}",
                       g.warps,
                       max_warps(record),
                       record ? " while recording" : "");
  }
  if (g.row_warps < 0 || (g.row_warps > 0 && g.warps % g.row_warps != 0)) {
    return usage_error("{} warps per row do not divide {} warps per block", g.row_warps, g.warps);
  }
  return {};
}

}  // namespace

Status check_device() {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code == cudaSuccess && devices > 0) return {};
  (void)cudaGetLastError();
  return fail(
      ErrorCode::kUnsupported,
      ErrorScope::kDevice,
      "no CUDA device can be used here: {}; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or "
      "use the buffers of the CPU",
      code == cudaSuccess ? "there is none" : cudaGetErrorString(code));
}

/// Offsets into the pinned memory of a rank.
struct Buffer::HostPart {
  std::size_t fabric = 0;  ///< Layout::fabric_begin lies here.
  std::size_t entries = 0;
  std::size_t notes = 0;
  std::size_t landed = 0;
  std::size_t heads = 0;
  std::size_t abort = 0;
  std::size_t ended = 0;
  std::size_t failure = 0;
  std::size_t bytes = 0;
  std::uint64_t ring_size = 0;  ///< Entries of each ring.

  /// `apart`: the slots of chunks lie elsewhere.
  HostPart(const exec::RankView& view, std::uint32_t threads, bool apart) {
    const auto take = [this](std::size_t size) {
      const std::size_t at = bytes;
      bytes = memory::align_up(bytes + size, 256);
      return at;
    };
    fabric =
        take((apart ? view.layout.slots_begin : view.layout.fabric_end) - view.layout.fabric_begin);
    // Thread 0 has as many peers as any.
    ring_size = exec::ring_size(ring_capacity(view, {0, threads}));
    entries = take(threads * ring_size * sizeof(exec::PackedDescriptor));
    heads = take(threads * sizeof(exec::cuda::HeadWord));
    std::size_t slots = 0;
    for (const std::uint32_t capacity : view.layout.capacity) {
      slots += static_cast<std::size_t>(view.peers()) * capacity;
    }
    notes = take(slots * sizeof(exec::SlotNote));
    if (apart) landed = take(slots * sizeof(exec::LandedNote));
    abort = take(sizeof(std::uint64_t));
    ended = take(sizeof(std::uint64_t));
    failure = take(sizeof(FailureRecord));
  }

  /// What of a view lies in this memory, whose address is `base` to the view's user.
  void set(exec::RankView& view, std::byte* base) const {
    // May point before the memory; only offsets from fabric_begin on are added to it.
    view.fabric = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + fabric -
                                               view.layout.fabric_begin);
    view.slots = base + fabric + (view.layout.slots_begin - view.layout.fabric_begin);
    auto* note = reinterpret_cast<exec::SlotNote*>(base + notes);
    for (int kind = 0; kind < 3; ++kind) {
      view.notes[kind] = note;
      note += static_cast<std::size_t>(view.peers()) * view.layout.capacity[kind];
    }
    if (landed == 0) return;
    view.landed[0] = reinterpret_cast<exec::LandedNote*>(base + landed);
    view.landed[1] =
        view.landed[0] + static_cast<std::size_t>(view.peers()) * view.layout.capacity[0];
  }
};

Result<std::unique_ptr<Buffer>> Buffer::create(bootstrap::World& world,
                                               const BufferOptions& options,
                                               const Geometry& geometry,
                                               const Hooks& hooks) {
  std::unique_ptr<Buffer> buffer(new Buffer());
  buffer->options_ = options;
  buffer->geometry_ = geometry;
  buffer->hooks_ = hooks;
  SHUNT_TRY(buffer->build(world));
  return buffer;
}

Status Buffer::build(bootstrap::World& world) {
  exec::RankView& view = context_.rank;
  SHUNT_TRY(meet_residents(world));
  auto sizes = set_up(world, options_, view, hooks_.ahead.value_or(choose_ahead()));
  if (!sizes) return Unexpected(std::move(sizes).error());
  record_ = sizes->record;
  wire_stride_ = sizes->wire_stride;
  // The device's heap is spared what lies in memory of the host.
  view.layout.user = view.layout.fabric_begin;
  const auto local_part = [&]() -> Status {
    SHUNT_TRY(check_geometry(geometry_, view.peers(), hooks_.recorder != nullptr));
    SHUNT_TRY(check_device());
    context_.rdma_blocks = view.peers() > 0 ? geometry_.rdma_blocks : 0;
    context_.deadline_ns = options_.deadline_ns;
    context_.rings.threads =
        static_cast<std::uint32_t>(progress_threads(options_.proxy_threads, view.shape));
    context_.abort = abort_word(ControlCode::kFailed, view.rank);
    SHUNT_TRY(take_device_words());
    SHUNT_TRY(place_slots());
    return take_host_part();
  };
  SHUNT_TRY(bootstrap::agree(world, local_part(), "creating the device buffer"));
  SHUNT_TRY(take_heaps(world));
  SHUNT_TRY(bootstrap::agree(world, start_recording(), "creating the rings of spans"));
  SHUNT_TRY(fit(world));
  return start_progress(world);
}

Status Buffer::take_device_words() {
  exec::RankView& view = context_.rank;
  const auto peers = static_cast<std::size_t>(view.peers());
  const auto locals = static_cast<std::size_t>(view.shape.ranks_per_node);
  Blob blob;
  const std::size_t words =
      blob.take<std::byte>(static_cast<std::size_t>(exec::Word::kCount) * memory::kLine);
  const std::size_t claimed = blob.take<std::uint64_t>(1);
  const std::size_t exchanges = blob.take<std::uint64_t>(1);
  const std::size_t pushers = blob.take<exec::cuda::PushWords>(context_.rings.threads);
  const std::size_t windows = blob.take<std::byte*>(locals);
  const std::size_t sequences = blob.take<std::uint64_t>(6 * peers);
  const auto scratch = static_cast<std::size_t>(context_.rdma_blocks) * peers;
  const std::size_t send = blob.take<std::int32_t>(scratch);
  const std::size_t receive = blob.take<std::int32_t>(scratch);
  auto memory = blob.upload();
  if (!memory) return Unexpected(std::move(memory).error());
  words_ = std::move(*memory);
  view.words = pointer<std::uint64_t>(words_, words);
  view.windows = pointer<std::byte*>(words_, windows);
  for (std::size_t kind = 0; kind < 3; ++kind) {
    view.sent[kind] = pointer<std::uint64_t>(words_, sequences) + kind * peers;
    view.received[kind] = pointer<std::uint64_t>(words_, sequences) + (3 + kind) * peers;
  }
  context_.claimed = pointer<std::uint64_t>(words_, claimed);
  context_.exchanges = pointer<std::uint64_t>(words_, exchanges);
  context_.rings.pushers = pointer<exec::cuda::PushWords>(words_, pushers);
  send_scratch_ = pointer<std::int32_t>(words_, send);
  receive_scratch_ = pointer<std::int32_t>(words_, receive);
  return {};
}

Status Buffer::take_host_part() {
  exec::RankView& view = context_.rank;
  const HostPart part(view, context_.rings.threads, choice_.device);
  auto memory = PinnedMemory::create(part.bytes);
  if (!memory) return Unexpected(std::move(memory).error());
  pinned_ = std::move(*memory);
  std::byte* device = pinned_.device();
  std::byte* host = pinned_.host();
  host_view_ = view;
  part.set(view, device);
  part.set(host_view_, host);
  if (choice_.device) {
    view.slots = slots_.data();
    host_view_.slots = nullptr;
  }
  context_.rings.entries = reinterpret_cast<exec::PackedDescriptor*>(device + part.entries);
  context_.rings.heads = reinterpret_cast<exec::cuda::HeadWord*>(device + part.heads);
  context_.rings.size = static_cast<std::uint32_t>(part.ring_size);
  ring_entries_ = reinterpret_cast<exec::PackedDescriptor*>(host + part.entries);
  ring_heads_ = reinterpret_cast<exec::cuda::HeadWord*>(host + part.heads);
  context_.host_abort = reinterpret_cast<std::uint64_t*>(device + part.abort);
  host_abort_ = reinterpret_cast<std::uint64_t*>(host + part.abort);
  if (view.peers() > 0) context_.ended = reinterpret_cast<std::uint64_t*>(device + part.ended);
  ended_ = reinterpret_cast<std::uint64_t*>(host + part.ended);
  context_.failure = reinterpret_cast<FailureRecord*>(device + part.failure);
  failure_ = new (host + part.failure) FailureRecord{};
  if (view.peers() == 0) return {};
  return check(cudaEventCreateWithFlags(&waited_, cudaEventBlockingSync | cudaEventDisableTiming),
               "making an event");
}

Status Buffer::take_heaps(bootstrap::World& world) {
  exec::RankView& view = context_.rank;
  const std::size_t bytes = view.layout.user + options_.heap_bytes;
  auto heap = memory::cuda::create_heap(world, view.shape, bytes, hooks_.heap);
  if (!heap) return Unexpected(std::move(heap).error());
  heap_ = std::move(*heap);
  allocator_.reset(view.layout.user, bytes);
  view.heap = heap_->base();
  std::vector<std::byte*> windows;
  for (const memory::Window& window : heap_->windows()) windows.push_back(window.base);
  SHUNT_TRY(check(cudaMemcpy(const_cast<std::byte**>(view.windows),
                             windows.data(),
                             windows.size() * sizeof(std::byte*),
                             cudaMemcpyHostToDevice),
                  "copying the windows' addresses"));
  // The progress threads of a node watch each other here; they reach no memory of the device.
  constexpr std::size_t kPage = 4096;
  auto controls = memory::Heap::create(world, view.shape, kPage);
  if (!controls) return Unexpected(std::move(controls).error());
  controls_ = std::move(*controls);
  for (const memory::Window& window : controls_->windows()) {
    control_windows_.push_back(window.base);
  }
  host_view_.heap = controls_->base();
  host_view_.windows = control_windows_.data();
  return {};
}

Status Buffer::start_recording() {
  if (hooks_.recorder == nullptr) return {};
  spans_ = std::make_unique<SpanDrain>();
  SHUNT_TRY(spans_->create(*hooks_.recorder, geometry_.blocks));
  SHUNT_TRY(spans_->clock().measure(nullptr));
  context_.spans = spans_->rings();
  SHUNT_LOG_INFO("rank {} device timer moves in steps of {} ns, offset known to {} ns",
                 rank(),
                 spans_->clock().step_ns(),
                 spans_->clock().error_ns());
  return {};
}

Status Buffer::read_bus(std::span<char> to) {
  int device = 0;
  SHUNT_TRY(check(cudaGetDevice(&device), "asking for the current device"));
  return check(cudaDeviceGetPCIBusId(to.data(), static_cast<int>(to.size()), device),
               "asking for the device's address");
}

Status Buffer::meet_residents(bootstrap::World& world) {
  Resident mine;
  mine.blocks = geometry_.blocks;
  mine.warps = geometry_.blocks * geometry_.warps;
  // Where there is no device, check_device() says so later.
  if (!read_bus(mine.bus)) mine.bus[0] = 0;
  auto all = bootstrap::all_gather_value(world, mine);
  if (!all) return Unexpected(std::move(all).error());
  residents_ = std::move(*all);
  return {};
}

/// Where ranks have devices of their own, links are idle until postings have come: a row for each
/// warp, stored meanwhile, costs less than it gains. Not so where few multiprocessors are the
/// limit, and where ranks share a device, through whose memory these rows go twice.
memory::AheadRows Buffer::choose_ahead() const {
  constexpr std::uint32_t kRows = 256;
  constexpr int kLeastWarps = 192;
  const auto peers = static_cast<std::uint32_t>(residents_.size()) - 1;
  std::set<std::string_view> devices;
  bool enough = true;
  for (const Resident& resident : residents_) {
    devices.insert(resident.bus);
    enough = enough && resident.warps >= kLeastWarps &&
             rows_may_come_ahead(resident.warps / resident.blocks);
  }
  if (peers == 0 || !enough || devices.size() != residents_.size()) return {};
  // Far apart, so that links have work to the end, and most are there before they are wanted.
  return {.rows = std::max(1U, kRows / peers), .step_log2 = 3};
}

/// Whether atomics of the current device reach memory of the one at that address. Over PCIe they
/// may not; of a device that this process cannot see nothing is known.
bool Buffer::atomics_reach(const char* bus) {
  int mine = 0;
  int other = 0;
  int reach = 0;
  const bool known =
      cudaGetDevice(&mine) == cudaSuccess && cudaDeviceGetByPCIBusId(&other, bus) == cudaSuccess &&
      cudaDeviceGetP2PAttribute(&reach, cudaDevP2PAttrNativeAtomicSupported, mine, other) ==
          cudaSuccess;
  (void)cudaGetLastError();
  return known && reach != 0;
}

Status Buffer::fit(bootstrap::World& world) {
  const Resident& mine = residents_[static_cast<std::size_t>(rank())];
  int blocks = 0;
  context_.adds_at_peers = hooks_.peer_atomics;
  for (std::size_t r = 0; r < residents_.size(); ++r) {
    const Resident& other = residents_[r];
    if (std::strcmp(other.bus, mine.bus) == 0) {
      blocks += other.blocks;
    } else if (shape().node_of(static_cast<int>(r)) == context_.rank.node) {
      context_.adds_at_peers = context_.adds_at_peers && atomics_reach(other.bus);
    }
  }
  const int fanout = std::min(options_.topk, shape().ranks_per_node);
  int room = 0;
  Status status = check(
      fit_blocks(
          context_, {fanout + shape().nodes, record_.hidden_bytes}, blocks, &geometry_, &room),
      "asking how many blocks fit (fewer warps or a smaller top-k need less)");
  if (status && blocks > room) {
    status = usage_error(
        "the ranks on device {} launch {} blocks of {} warps, and it holds {} at once; blocks "
        "wait for one another, so give each rank fewer blocks, or fewer warps per block",
        mine.bus,
        blocks,
        geometry_.warps,
        room);
  }
  return bootstrap::agree(world, status, "checking that all blocks fit");
}

void Buffer::close() {
  if (progress_ != nullptr) progress_->stop();
}

Buffer::~Buffer() {
  close();
  if (waited_ != nullptr) (void)cudaEventDestroy(waited_);
}

}  // namespace shunt::engine::cuda
