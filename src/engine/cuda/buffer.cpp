// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/buffer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.hpp"
#include "base/random.hpp"
#include "bootstrap/collective.hpp"
#include "exec/wait.hpp"
#include "memory/cuda/heap.hpp"

namespace shunt::engine::cuda {
namespace {

using exec::cuda::FailureRecord;
using memory::cuda::check;
using memory::cuda::DeviceMemory;

/// Lays arrays out one behind the other, then copies them to the device at once.
class Blob {
 public:
  template <typename T>
  std::size_t add(const std::vector<T>& values) {
    return add(values.data(), values.size());
  }
  template <typename T>
  std::size_t add(const T* values, std::size_t count) {
    const std::size_t at = take<T>(count);
    if (count > 0) std::memcpy(bytes_.data() + at, values, count * sizeof(T));
    return at;
  }
  /// Room for `count` values, zeroed.
  template <typename T>
  std::size_t take(std::size_t count) {
    const std::size_t at = memory::align_up(bytes_.size(), 256);
    bytes_.resize(at + count * sizeof(T));
    return at;
  }
  Result<DeviceMemory> upload() const {
    auto memory = DeviceMemory::create(bytes_.size());
    if (!memory) return memory;
    SHUNT_TRY(
        check(cudaMemcpy(memory->data(), bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice),
              "copying the plan to the device"));
    return memory;
  }

 private:
  std::vector<std::byte> bytes_;
};

template <typename T>
T* pointer(const DeviceMemory& memory, std::size_t offset) {
  return reinterpret_cast<T*>(memory.data() + offset);
}

std::uint64_t parameters_hash(const BufferOptions& o) {
  std::uint64_t hash = 0x637564'61U;
  for (const std::int64_t value : {std::int64_t{o.experts},
                                   std::int64_t{o.topk},
                                   o.hidden,
                                   static_cast<std::int64_t>(o.dtype),
                                   static_cast<std::int64_t>(o.weights)}) {
    hash = Random::mix(hash ^ static_cast<std::uint64_t>(value));
  }
  return hash;
}

Status check_options(const BufferOptions& o, const cluster::Shape& shape, const Geometry& g) {
  if (shape.nodes != 1) {
    return fail(ErrorCode::kUnsupported,
                ErrorScope::kUsage,
                "device buffers serve worlds of one node so far; {} ranks per node make {} nodes",
                shape.ranks_per_node,
                shape.nodes);
  }
  if (g.blocks < 1) return usage_error("{} blocks are not allowed; at least 1", g.blocks);
  if (g.warps < 1 || g.warps > kMaxWarps) {
    return usage_error("{} warps per block are not allowed; 1 to {}", g.warps, kMaxWarps);
  }
  if (g.row_warps < 0 || (g.row_warps > 0 && g.warps % g.row_warps != 0)) {
    return usage_error("{} warps per row do not divide {} warps per block", g.row_warps, g.warps);
  }
  if (o.topk < 1 || o.hidden < 1) return usage_error("topk and hidden must be at least 1");
  const std::uint64_t row = static_cast<std::uint64_t>(o.hidden) * size_of(o.dtype);
  if (row % 16 != 0) {
    return usage_error("hidden {} of {} makes rows of {} bytes; a multiple of 16 bytes is needed",
                       o.hidden,
                       to_string(o.dtype),
                       row);
  }
  return {};
}

struct Resident {
  char bus[32] = {};
  std::int32_t blocks = 0;
};

}  // namespace

Result<std::unique_ptr<Buffer>> Buffer::create(bootstrap::World& world,
                                               const BufferOptions& options,
                                               const Geometry& geometry) {
  std::unique_ptr<Buffer> buffer(new Buffer());
  buffer->options_ = options;
  buffer->geometry_ = geometry;

  SHUNT_TRY(bootstrap::agree(world, buffer->build(world), "creating the device buffer"));
  const std::size_t bytes = buffer->context_.rank.layout.user + options.heap_bytes;
  auto heap = memory::cuda::create_heap(world, buffer->shape(), bytes);
  if (!heap) return Unexpected(std::move(heap).error());
  buffer->heap_ = std::move(*heap);
  buffer->allocator_.reset(buffer->context_.rank.layout.user, bytes);
  exec::RankView& view = buffer->context_.rank;
  view.heap = buffer->heap_->base();
  std::vector<std::byte*> windows;
  for (const memory::Window& window : buffer->heap_->windows()) windows.push_back(window.base);
  SHUNT_TRY(check(cudaMemcpy(const_cast<std::byte**>(view.windows),
                             windows.data(),
                             windows.size() * sizeof(std::byte*),
                             cudaMemcpyHostToDevice),
                  "copying the windows' addresses"));
  SHUNT_TRY(buffer->check_residency(world));
  return buffer;
}

Status Buffer::build(bootstrap::World& world) {
  auto shape = cluster::Shape::create(world.size(), options_.ranks_per_node);
  if (!shape) return Unexpected(std::move(shape).error());
  SHUNT_TRY(check_options(options_, *shape, geometry_));
  exec::RankView& view = context_.rank;
  view.shape = *shape;
  view.rank = world.rank();
  view.node = shape->node_of(view.rank);
  view.local = shape->local_of(view.rank);
  view.layout = memory::Layout(*shape, {});
  record_.hidden_bytes = static_cast<std::uint64_t>(options_.hidden) * size_of(options_.dtype);
  record_.topk = options_.topk;
  record_.has_weights = options_.weights;
  record_.chunk_tokens = options_.chunk_tokens;
  record_.ranks_per_node = shape->ranks_per_node;

  constexpr std::size_t kWords = static_cast<std::size_t>(exec::Word::kCount) * memory::kLine;
  const std::size_t windows = static_cast<std::size_t>(shape->ranks_per_node) * sizeof(std::byte*);
  auto words = DeviceMemory::create(kWords + 2 * memory::kLine + windows);
  if (!words) return Unexpected(std::move(words).error());
  words_ = std::move(*words);
  view.words = pointer<std::uint64_t>(words_, 0);
  context_.claimed = pointer<std::uint64_t>(words_, kWords);
  context_.exchanges = pointer<std::uint64_t>(words_, kWords + memory::kLine);
  view.windows = pointer<std::byte*>(words_, kWords + 2 * memory::kLine);

  SHUNT_TRY(
      check(cudaHostAlloc(
                reinterpret_cast<void**>(&failure_), sizeof(FailureRecord), cudaHostAllocMapped),
            "allocating pinned memory for failures"));
  *failure_ = FailureRecord{};
  SHUNT_TRY(
      check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&context_.failure), failure_, 0),
            "mapping pinned memory"));
  context_.deadline_ns = options_.deadline_ns;
  context_.abort = abort_word(ControlCode::kFailed, view.rank);
  return {};
}

Status Buffer::check_residency(bootstrap::World& world) const {
  Resident mine;
  mine.blocks = geometry_.blocks;
  int device = 0;
  const auto look = [&]() -> Result<int> {
    SHUNT_TRY(check(cudaGetDevice(&device), "asking for the current device"));
    SHUNT_TRY(check(cudaDeviceGetPCIBusId(mine.bus, sizeof(mine.bus), device),
                    "asking for the device's address"));
    const int fanout = std::min(options_.topk, shape().ranks_per_node);
    int blocks = 0;
    SHUNT_TRY(check(
        resident_blocks(geometry_.warps, shape().ranks_per_node, fanout + shape().nodes, &blocks),
        "asking how many blocks fit (fewer warps or a smaller top-k need less)"));
    return blocks;
  };
  const Result<int> room = look();
  const auto all = bootstrap::all_gather_value(world, mine);
  if (!all) return Unexpected(all.error());
  Status status = room ? Status{} : Status(Unexpected(room.error()));
  if (room) {
    int blocks = 0;
    for (const Resident& other : *all) {
      if (std::strcmp(other.bus, mine.bus) == 0) blocks += other.blocks;
    }
    if (blocks > *room) {
      status = usage_error(
          "the ranks on device {} launch {} blocks of {} warps, and it holds {} at once; blocks "
          "wait for one another, so give each rank fewer blocks, or fewer warps per block",
          mine.bus,
          blocks,
          geometry_.warps,
          *room);
    }
  }
  return bootstrap::agree(world, status, "checking that all blocks fit");
}

Buffer::~Buffer() {
  if (failure_ != nullptr) (void)cudaFreeHost(failure_);
}

Result<void*> Buffer::allocate(std::size_t bytes) {
  auto offset = allocator_.allocate(bytes);
  if (!offset) return Unexpected(std::move(offset).error());
  return static_cast<void*>(heap_->base() + *offset);
}

void Buffer::release(void* pointer) {
  if (pointer == nullptr) return;
  allocator_.release(static_cast<std::size_t>(static_cast<std::byte*>(pointer) - heap_->base()));
}

exec::cuda::Context Buffer::context_for(std::int64_t tokens) const {
  exec::cuda::Context context = context_;
  context.row_warps = geometry_.row_warps;
  if (geometry_.row_warps > 0) return context;
  // While there are warps without a row; measured to pay up to 2 to 4 warps per row.
  const std::int64_t warps = static_cast<std::int64_t>(geometry_.blocks) * geometry_.warps;
  context.row_warps = 1;
  while (context.row_warps < 4 && geometry_.warps % (2 * context.row_warps) == 0 &&
         tokens * context.row_warps < warps) {
    context.row_warps *= 2;
  }
  return context;
}

Result<std::unique_ptr<Handle>> Buffer::plan(const routing::RoutingView& routing) {
  auto handle = std::make_unique<Handle>();
  auto made = plan::make_plan(routing, shape(), rank(), {options_.experts, options_.chunk_tokens});
  if (!made) return Unexpected(std::move(made).error());
  handle->plan_ = std::move(*made);
  const plan::Plan& p = handle->plan_;
  const auto slots = static_cast<std::size_t>(routing.tokens) * static_cast<std::size_t>(p.topk);
  if (slots > 0 && options_.weights && routing.weights == nullptr) {
    return usage_error("{} tokens need weights; or create the buffer with weights off",
                       routing.tokens);
  }
  Blob blob;
  const std::size_t ids = blob.add(routing.ids, slots);
  const std::size_t weights = blob.add(routing.weights, options_.weights ? slots : 0);
  const std::size_t rows_to_rank = blob.add(p.rows_to_rank);
  const std::size_t send_begin = blob.add(p.send_begin);
  const std::size_t chunk_begin = blob.add(p.chunk_begin);
  const std::size_t own_tokens = blob.add(p.own_tokens);
  const std::size_t own_rows = blob.add(p.own_rows);
  const std::size_t copies_begin = blob.add(p.copies_begin);
  const std::size_t copies = blob.add(p.copies);
  const auto locals = static_cast<std::size_t>(shape().ranks_per_node);
  const std::size_t row_base =
      blob.take<std::int32_t>(static_cast<std::size_t>(shape().nodes) * locals);
  const std::size_t serve_begin = blob.take<std::int64_t>(1);
  const std::size_t rows_from = blob.take<std::int64_t>(static_cast<std::size_t>(shape().world));
  auto memory = blob.upload();
  if (!memory) return Unexpected(std::move(memory).error());
  handle->memory_ = std::move(*memory);
  const DeviceMemory& m = handle->memory_;

  dispatch::DispatchArgs& d = handle->dispatch_;
  d.layout = record_;
  d.hash = parameters_hash(options_);
  d.experts_per_rank = p.experts_per_rank;
  d.fanout = p.fanout;
  d.ids = pointer<std::int32_t>(m, ids);
  d.weights = options_.weights ? pointer<float>(m, weights) : nullptr;
  d.rows_to_rank = pointer<std::int32_t>(m, rows_to_rank);
  d.send_begin = pointer<std::int64_t>(m, send_begin);
  d.chunk_begin = pointer<std::int64_t>(m, chunk_begin);
  d.own_tokens = pointer<std::int32_t>(m, own_tokens);
  d.own_rows = pointer<plan::RowRef>(m, own_rows);
  d.own_count = static_cast<std::int64_t>(p.own_tokens.size());
  d.maps.row_base = pointer<std::int32_t>(m, row_base);
  d.maps.serve_begin = pointer<std::int64_t>(m, serve_begin);
  d.maps.rows_from = pointer<std::int64_t>(m, rows_from);

  combine::CombineArgs& c = handle->combine_;
  const DType wire = options_.wire_dtype.value_or(options_.dtype);
  c.hidden = static_cast<std::uint64_t>(options_.hidden);
  c.row_type = options_.dtype;
  c.types = {wire, options_.dtype};
  c.wire_stride = memory::align_up(static_cast<std::size_t>(options_.hidden) * size_of(wire), 16);
  c.chunk_tokens = options_.chunk_tokens;
  c.fanout = p.fanout;
  c.tokens = p.tokens;
  c.send_begin = d.send_begin;
  c.chunk_begin = d.chunk_begin;
  c.copies_begin = pointer<std::int64_t>(m, copies_begin);
  c.copies = pointer<plan::NodeCopy>(m, copies);
  c.own_rows = d.own_rows;
  c.maps = d.maps;
  c.max_terms = p.fanout + shape().nodes;
  return handle;
}

Status Buffer::place(const void* wanted,
                     std::size_t bytes,
                     const char* name,
                     std::uint64_t* offset) const {
  *offset = dispatch::kNoOffset;
  if (wanted == nullptr) return {};
  const auto at = reinterpret_cast<std::uintptr_t>(wanted);
  const auto begin = reinterpret_cast<std::uintptr_t>(heap_->base());
  if (at < begin + context_.rank.layout.user || at - begin > heap_->size() ||
      bytes > heap_->size() - (at - begin)) {
    return usage_error(
        "{} of {} bytes do not lie in this buffer's heap; take them from allocate()", name, bytes);
  }
  if (at % 16 != 0) return usage_error("{} are not aligned to 16 bytes", name);
  *offset = at - begin;
  return {};
}

Status Buffer::dispatch(Handle& handle,
                        const void* rows,
                        const DispatchOutput& output,
                        cudaStream_t stream) {
  SHUNT_TRY(status());
  if (handle.plan_.tokens > 0 && rows == nullptr) {
    return usage_error("{} tokens need rows", handle.plan_.tokens);
  }
  if (reinterpret_cast<std::uintptr_t>(rows) % 16 != 0) {
    return usage_error("the input rows are not aligned to 16 bytes");
  }
  if (output.capacity < 0 || (output.rows == nullptr && output.capacity > 0)) {
    return usage_error("an output of {} rows needs memory for them", output.capacity);
  }
  dispatch::DispatchArgs args = handle.dispatch_;
  const auto capacity = static_cast<std::size_t>(output.capacity);
  const auto topk = static_cast<std::size_t>(options_.topk);
  SHUNT_TRY(
      place(output.rows, capacity * record_.hidden_bytes, "output rows", &args.output.rows_offset));
  SHUNT_TRY(place(
      output.ids, capacity * topk * sizeof(std::int32_t), "output ids", &args.output.ids_offset));
  SHUNT_TRY(place(output.weights,
                  capacity * topk * sizeof(float),
                  "output weights",
                  &args.output.weights_offset));
  SHUNT_TRY(place(
      output.origins, capacity * sizeof(RowOrigin), "output origins", &args.output.sources_offset));
  args.output.capacity_rows = capacity;
  args.rows = static_cast<const std::byte*>(rows);
  args.cached = handle.counted_;
  SHUNT_TRY(check(launch_dispatch(context_for(handle.plan_.tokens), args, geometry_, stream),
                  "launching the dispatch kernel"));
  handle.counted_ = true;
  handle.capacity_ = output.capacity;
  return {};
}

Status Buffer::combine(Handle& handle, const CombineBuffers& buffers, cudaStream_t stream) {
  SHUNT_TRY(status());
  if (handle.plan_.tokens > 0 && buffers.output == nullptr) {
    return usage_error("{} tokens need an output", handle.plan_.tokens);
  }
  if (reinterpret_cast<std::uintptr_t>(buffers.output) % 16 != 0) {
    return usage_error("the output is not aligned to 16 bytes");
  }
  combine::CombineArgs args = handle.combine_;
  const auto capacity = static_cast<std::size_t>(handle.capacity_);
  SHUNT_TRY(place(
      buffers.rows, capacity * record_.hidden_bytes, "combine rows", &args.input.rows_offset));
  args.input.capacity_rows = buffers.rows != nullptr ? capacity : 0;
  args.output = static_cast<std::byte*>(buffers.output);
  return check(launch_combine(context_for(handle.plan_.tokens), args, geometry_, stream),
               "launching the combine kernel");
}

Status Buffer::wait(cudaStream_t stream) {
  SHUNT_TRY(check(cudaStreamSynchronize(stream), "waiting for the stream"));
  return status();
}

Status Buffer::status() const {
  const std::uint64_t kind =
      std::atomic_ref<std::uint64_t>(failure_->kind).load(std::memory_order_acquire);
  const FailureRecord& f = *failure_;
  switch (static_cast<FailureRecord::Kind>(kind)) {
    case FailureRecord::kNone:
      break;
    case FailureRecord::kExpired:
      return Unexpected(exec::describe(f.wait, shape(), rank()));
    case FailureRecord::kMismatch:
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "rank {} issues operation {} with parameters {:016x} where rank {} issues "
                  "operation {} with {:016x}; all ranks must issue the same operations",
                  f.source,
                  f.other_op,
                  f.hash,
                  rank(),
                  f.wait.op,
                  f.own_hash);
    case FailureRecord::kChunk:
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "rank {} got chunk {} of operation {} where chunk {} of operation {} belongs",
                  rank(),
                  f.chunk,
                  f.other_op,
                  f.wait.site.chunk,
                  f.wait.op);
    case FailureRecord::kNoProxy:
      return fail(ErrorCode::kInternal,
                  ErrorScope::kFatal,
                  "rank {} posted to another node in a world of one node",
                  rank());
  }
  const std::uint64_t by =
      std::atomic_ref<const std::uint64_t>(f.aborted_by).load(std::memory_order_acquire);
  if (by == 0) return {};
  return fail(ErrorCode::kPeerLost,
              ErrorScope::kFatal,
              "rank {} has failed and ended the operation; its own message says why",
              static_cast<int>(by & 0xffff'ffffU) - 1);
}

Result<std::vector<std::int64_t>> Buffer::rows_from(const Handle& handle) const {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shape().world));
  SHUNT_TRY(check(cudaMemcpy(rows.data(),
                             handle.dispatch_.maps.rows_from,
                             rows.size() * sizeof(std::int64_t),
                             cudaMemcpyDeviceToHost),
                  "reading the row counts"));
  return rows;
}

}  // namespace shunt::engine::cuda
