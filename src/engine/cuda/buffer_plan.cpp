// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Handles of a Buffer on a device: planned on the host and copied there, or planned there.
#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "engine/cuda/blob.hpp"
#include "engine/cuda/buffer.hpp"
#include "engine/cuda/nvtx.hpp"
#include "engine/cuda/plan_kernels.hpp"

namespace shunt::engine::cuda {

using memory::cuda::check;
using memory::cuda::DeviceMemory;

namespace {

/// Tokens of each chunk that this rank sends, peer by peer.
std::vector<std::uint32_t> records_of_chunks(const plan::Plan& p) {
  std::vector<std::uint32_t> records;
  for (std::size_t peer = 0; peer + 1 < p.chunk_begin.size(); ++peer) {
    std::int64_t left = p.send_begin[peer + 1] - p.send_begin[peer];
    for (std::int64_t c = p.chunk_begin[peer]; c < p.chunk_begin[peer + 1]; ++c) {
      records.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(left, p.chunk_tokens)));
      left -= p.chunk_tokens;
    }
  }
  return records;
}

/// Where the arrays of a plan lie in a Blob.
class PlanOffsets {
 public:
  PlanOffsets(Blob& blob, const plan::Plan& p)
      : rows_to_rank_(blob.add(p.rows_to_rank)),
        send_begin_(blob.add(p.send_begin)),
        send_tokens_(blob.add(p.send_tokens)),
        chunk_begin_(blob.add(p.chunk_begin)),
        chunk_prefix_(blob.add(p.chunk_prefix)),
        pending_(blob.add(records_of_chunks(p))),
        own_tokens_(blob.add(p.own_tokens)),
        own_rows_(blob.add(p.own_rows)),
        copies_begin_(blob.add(p.copies_begin)),
        copies_(blob.add(p.copies)) {}

  /// Room for every plan of at most `tokens` tokens.
  PlanOffsets(Blob& blob, const plan::PieceArgs& args, std::size_t tokens) {
    const auto nodes = static_cast<std::size_t>(args.shape.nodes);
    const auto chunk = static_cast<std::size_t>(args.chunk_tokens);
    const std::size_t chunks = (nodes - 1) * ((tokens + chunk - 1) / chunk);
    rows_to_rank_ = blob.take<std::int32_t>(static_cast<std::size_t>(args.shape.world));
    send_begin_ = blob.take<std::int64_t>(nodes);
    send_tokens_ = blob.take<std::int32_t>((nodes - 1) * tokens);
    chunk_begin_ = blob.take<std::int64_t>(nodes);
    chunk_prefix_ =
        blob.take<std::int32_t>(chunks * static_cast<std::size_t>(args.shape.ranks_per_node));
    pending_ = blob.take<std::uint32_t>(chunks);
    own_tokens_ = blob.take<std::int32_t>(tokens);
    own_rows_ = blob.take<plan::RowRef>(tokens * static_cast<std::size_t>(args.fanout));
    copies_begin_ = blob.take<std::int64_t>(tokens + 1);
    copies_ =
        blob.take<plan::NodeCopy>(tokens * std::min(static_cast<std::size_t>(args.topk), nodes));
  }

  [[nodiscard]] plan::PlanArrays in(const DeviceMemory& m) const {
    plan::PlanArrays a;
    a.rows_to_rank = pointer<std::int32_t>(m, rows_to_rank_);
    a.send_begin = pointer<std::int64_t>(m, send_begin_);
    a.send_tokens = pointer<std::int32_t>(m, send_tokens_);
    a.chunk_begin = pointer<std::int64_t>(m, chunk_begin_);
    a.chunk_prefix = pointer<std::int32_t>(m, chunk_prefix_);
    a.pending = pointer<std::uint32_t>(m, pending_);
    a.own_tokens = pointer<std::int32_t>(m, own_tokens_);
    a.own_rows = pointer<plan::RowRef>(m, own_rows_);
    a.copies_begin = pointer<std::int64_t>(m, copies_begin_);
    a.copies = pointer<plan::NodeCopy>(m, copies_);
    return a;
  }

 private:
  std::size_t rows_to_rank_ = 0;
  std::size_t send_begin_ = 0;
  std::size_t send_tokens_ = 0;
  std::size_t chunk_begin_ = 0;
  std::size_t chunk_prefix_ = 0;
  std::size_t pending_ = 0;
  std::size_t own_tokens_ = 0;
  std::size_t own_rows_ = 0;
  std::size_t copies_begin_ = 0;
  std::size_t copies_ = 0;
};

/// The same for what a dispatch learns.
class MapOffsets {
 public:
  MapOffsets(Blob& blob, const cluster::Shape& shape, std::int64_t max_tokens, int fanout)
      : max_tokens_(max_tokens) {
    const auto peers = static_cast<std::size_t>(shape.nodes - 1);
    row_base_ = blob.take<std::int32_t>(static_cast<std::size_t>(shape.world));
    serve_begin_ = blob.take<std::int64_t>(peers + 1);
    records_from_ = blob.take<std::int64_t>(peers);
    forward_rows_ = blob.take<plan::RowRef>(peers * static_cast<std::size_t>(max_tokens) *
                                            static_cast<std::size_t>(fanout));
    rows_from_ = blob.take<std::int64_t>(static_cast<std::size_t>(shape.world));
  }
  [[nodiscard]] dispatch::HandleMaps in(const DeviceMemory& m) const {
    dispatch::HandleMaps maps;
    maps.row_base = pointer<std::int32_t>(m, row_base_);
    maps.serve_begin = pointer<std::int64_t>(m, serve_begin_);
    maps.records_from = pointer<std::int64_t>(m, records_from_);
    maps.rows_from = pointer<std::int64_t>(m, rows_from_);
    maps.forward_rows = pointer<plan::RowRef>(m, forward_rows_);
    maps.max_tokens = max_tokens_;
    return maps;
  }

 private:
  std::int64_t max_tokens_;
  std::size_t row_base_ = 0;
  std::size_t serve_begin_ = 0;
  std::size_t records_from_ = 0;
  std::size_t forward_rows_ = 0;
  std::size_t rows_from_ = 0;
};

template <typename T>
Status read(std::vector<T>& to, const T* from, std::int64_t count) {
  to.resize(static_cast<std::size_t>(count));
  if (count == 0) return {};
  return check(cudaMemcpy(to.data(), from, to.size() * sizeof(T), cudaMemcpyDeviceToHost),
               "reading a plan");
}

}  // namespace

Status Buffer::check_tokens(std::int64_t tokens) const {
  const std::int64_t most = context_.rank.peers() > 0
                                ? options_.max_tokens
                                : std::numeric_limits<std::int32_t>::max() / shape().world;
  if (tokens >= 0 && tokens <= most) return {};
  return usage_error("{} tokens are not allowed; 0 to {} {}",
                     tokens,
                     context_.rank.peers() > 0 ? "max_tokens" : "what a rank can index,",
                     most);
}

void Buffer::bind(Handle& handle,
                  const plan::PlanArrays& arrays,
                  const dispatch::HandleMaps& maps) const {
  handle.arrays_ = arrays;
  dispatch::DispatchArgs& d = handle.dispatch_;
  d.layout = record_;
  d.hash = parameters_hash(options_);
  d.experts_per_rank = handle.plan_.experts_per_rank;
  d.fanout = handle.plan_.fanout;
  d.rows_to_rank = arrays.rows_to_rank;
  d.send_begin = arrays.send_begin;
  d.send_tokens = arrays.send_tokens;
  d.chunk_begin = arrays.chunk_begin;
  d.chunk_prefix = arrays.chunk_prefix;
  d.own_tokens = arrays.own_tokens;
  d.own_rows = arrays.own_rows;
  d.own_count = static_cast<std::int64_t>(handle.plan_.own_tokens.size());
  d.own_count_at = arrays.own_count;
  d.maps = maps;
  d.send_scratch = send_scratch_;
  d.receive_scratch = receive_scratch_;

  combine::CombineArgs& c = handle.combine_;
  const DType wire = options_.wire_dtype.value_or(options_.dtype);
  c.hash = exec::operation_hash(d.hash, exec::OperationKind::kCombine);
  c.hidden = static_cast<std::uint64_t>(options_.hidden);
  c.row_type = options_.dtype;
  c.types = {wire, options_.dtype};
  c.wire_stride = wire_stride_;
  c.chunk_tokens = options_.chunk_tokens;
  c.fanout = handle.plan_.fanout;
  c.tokens = handle.plan_.tokens;
  c.send_begin = arrays.send_begin;
  c.chunk_begin = arrays.chunk_begin;
  c.copies_begin = arrays.copies_begin;
  c.copies = arrays.copies;
  c.own_rows = arrays.own_rows;
  c.maps = maps;
  c.pending = arrays.pending;
  c.send_scratch = send_scratch_;
  c.max_terms = handle.plan_.fanout + shape().nodes;
}

Result<std::unique_ptr<Handle>> Buffer::plan(const routing::RoutingView& routing) {
  const NvtxRange range("shunt plan");
  SHUNT_TRY(check_tokens(routing.tokens));
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
  const PlanOffsets arrays(blob, p);
  const MapOffsets maps(blob, shape(), options_.max_tokens, p.fanout);
  auto memory = blob.upload();
  if (!memory) return Unexpected(std::move(memory).error());
  handle->memory_ = std::move(*memory);
  bind(*handle, arrays.in(handle->memory_), maps.in(handle->memory_));
  handle->dispatch_.ids = pointer<std::int32_t>(handle->memory_, ids);
  handle->dispatch_.weights = options_.weights ? pointer<float>(handle->memory_, weights) : nullptr;
  handle->planned_ = true;
  return handle;
}

Result<std::unique_ptr<Handle>> Buffer::make_handle(std::int64_t max_tokens) {
  SHUNT_TRY(check_tokens(max_tokens));
  auto handle = std::make_unique<Handle>();
  plan::PieceArgs& a = handle->pieces_;
  a.shape = shape();
  a.node = context_.rank.node;
  a.topk = options_.topk;
  a.experts_per_rank = options_.experts / shape().world;
  a.chunk_tokens = options_.chunk_tokens;
  a.fanout = std::min(a.topk, a.shape.ranks_per_node);
  if (!plan_fits(a)) {
    return usage_error(
        "{} ranks on {} nodes are too many to plan for on the device; use plan(), on the host",
        a.shape.world,
        a.shape.nodes);
  }
  a.tokens = max_tokens;
  a.stride = a.pieces();
  a.tokens = 0;
  Blob blob;
  const std::size_t columns = blob.take<std::int32_t>(static_cast<std::size_t>(a.columns_count()) *
                                                      static_cast<std::size_t>(a.stride));
  const std::size_t records = blob.take<std::int32_t>(static_cast<std::size_t>(a.shape.nodes));
  const std::size_t own_count = blob.take<std::int64_t>(1);
  const PlanOffsets arrays(blob, a, static_cast<std::size_t>(max_tokens));
  const MapOffsets maps(blob, shape(), options_.max_tokens, a.fanout);
  auto memory = blob.upload();
  if (!memory) return Unexpected(std::move(memory).error());
  handle->memory_ = std::move(*memory);
  a.columns = pointer<std::int32_t>(handle->memory_, columns);
  a.node_records = pointer<std::int32_t>(handle->memory_, records);
  a.out = arrays.in(handle->memory_);
  a.out.own_count = pointer<std::int64_t>(handle->memory_, own_count);
  plan::Plan& p = handle->plan_;
  p.shape = a.shape;
  p.rank = rank();
  p.topk = a.topk;
  p.experts_per_rank = a.experts_per_rank;
  p.chunk_tokens = a.chunk_tokens;
  p.fanout = a.fanout;
  bind(*handle, a.out, maps.in(handle->memory_));
  handle->max_tokens_ = max_tokens;
  SHUNT_TRY(check(load_plan_kernels(), "loading the kernels that plan"));
  return handle;
}

Status Buffer::plan_on_device(Handle& handle,
                              const routing::RoutingView& routing,
                              cudaStream_t stream) {
  const NvtxRange range("shunt plan");
  SHUNT_TRY(status());
  if (handle.max_tokens_ < 0) {
    return usage_error("the handle was planned on the host; take one from make_handle()");
  }
  if (routing.tokens < 0 || routing.tokens > handle.max_tokens_) {
    return usage_error("{} tokens are not allowed; 0 to the {} that the handle was made for",
                       routing.tokens,
                       handle.max_tokens_);
  }
  if (routing.topk != options_.topk) {
    return usage_error("top-k {} is not the buffer's, {}", routing.topk, options_.topk);
  }
  if (routing.tokens > 0 && routing.ids == nullptr) {
    return usage_error("{} tokens need ids", routing.tokens);
  }
  if (routing.tokens > 0 && options_.weights && routing.weights == nullptr) {
    return usage_error("{} tokens need weights; or create the buffer with weights off",
                       routing.tokens);
  }
  plan::PieceArgs& a = handle.pieces_;
  a.tokens = routing.tokens;
  a.ids = routing.ids;
  handle.plan_.tokens = routing.tokens;
  handle.combine_.tokens = routing.tokens;
  handle.dispatch_.ids = routing.ids;
  handle.dispatch_.weights = options_.weights ? routing.weights : nullptr;
  SHUNT_TRY(
      check(launch_plan(context_, a, geometry_.warps, stream), "launching the kernels that plan"));
  handle.planned_ = true;
  handle.counted_ = false;
  return {};
}

Result<plan::Plan> Buffer::read_plan(const Handle& handle) const {
  const plan::PlanArrays& a = handle.arrays_;
  plan::Plan p = handle.plan_;
  std::vector<std::int64_t> own_count(1, handle.dispatch_.own_count);
  if (a.own_count != nullptr) SHUNT_TRY(read(own_count, a.own_count, 1));
  SHUNT_TRY(read(p.rows_to_rank, a.rows_to_rank, p.shape.world));
  SHUNT_TRY(read(p.send_begin, a.send_begin, p.shape.nodes));
  SHUNT_TRY(read(p.send_tokens, a.send_tokens, p.send_begin.back()));
  SHUNT_TRY(read(p.chunk_begin, a.chunk_begin, p.shape.nodes));
  SHUNT_TRY(read(p.chunk_prefix, a.chunk_prefix, p.chunk_begin.back() * p.shape.ranks_per_node));
  SHUNT_TRY(read(p.own_tokens, a.own_tokens, own_count.front()));
  SHUNT_TRY(read(p.own_rows, a.own_rows, own_count.front() * p.fanout));
  SHUNT_TRY(read(p.copies_begin, a.copies_begin, p.tokens + 1));
  SHUNT_TRY(read(p.copies, a.copies, p.copies_begin.back()));
  return p;
}

}  // namespace shunt::engine::cuda
