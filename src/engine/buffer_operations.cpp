// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The operations of a Buffer: checked, planned and handed to the workers; and what each block does.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/random.hpp"
#include "engine/buffer_state.hpp"
#include "engine/setup.hpp"

namespace shunt::engine {

using exec::cpu::CpuExec;

namespace {

static_assert(exec::Executor<CpuExec>);
static_assert(sizeof(RowOrigin) == sizeof(dispatch::RowSource));

std::int64_t records_of_chunk(const plan::Plan& plan, int peer, std::int64_t chunk) {
  return std::min<std::int64_t>(plan.chunk_tokens, plan.records(peer) - chunk * plan.chunk_tokens);
}

}  // namespace

HandleState::~HandleState() {
  if (buffer) buffer->keep(std::move(plan));
}

void BufferState::keep(plan::Plan used) {
  const MutexLock lock(spare_mutex_);
  spare_plan_ = std::move(used);
}

plan::Plan BufferState::take_spare_plan() {
  const MutexLock lock(spare_mutex_);
  return std::exchange(spare_plan_, {});
}

std::int64_t HandleState::total_rows() const {
  return std::accumulate(rows_from.begin(), rows_from.end(), std::int64_t{0});
}

Result<void*> BufferState::allocate(std::size_t bytes) {
  auto offset = allocator_.allocate(bytes);
  if (!offset) return Unexpected(std::move(offset).error());
  return static_cast<void*>(view_.heap + *offset);
}

void BufferState::release(void* pointer) {
  if (pointer != nullptr && in_heap(pointer, 1)) allocator_.release(offset_of(pointer));
}

bool BufferState::in_heap(const void* pointer, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  const auto begin = reinterpret_cast<std::uintptr_t>(view_.heap) + view_.layout.user;
  const auto end = reinterpret_cast<std::uintptr_t>(view_.heap) + heap_->size();
  return at >= begin && at <= end && bytes <= end - at;
}

std::size_t BufferState::offset_of(const void* pointer) const {
  return static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - view_.heap);
}

Status BufferState::status() const {
  if (auto error = failure_.error()) return Unexpected(std::move(*error));
  return {};
}

Status BufferState::wait(const HandleState& handle) {
  workers_->wait_finished(handle.last_op);
  return status();
}

Result<memory::Posting> BufferState::place_output(const DispatchOutput& output,
                                                  Operation& operation) {
  if (output.capacity < 0) return usage_error("capacity {} is not allowed", output.capacity);
  if (output.rows == nullptr && output.capacity > 0) {
    return usage_error("an output of {} rows needs memory for them", output.capacity);
  }
  reclaim();
  const auto capacity = static_cast<std::size_t>(output.capacity);
  const auto topk = static_cast<std::size_t>(options_.topk);
  memory::Posting posting;
  posting.capacity_rows = capacity;
  const auto place =
      [&](const void* wanted, std::size_t bytes, bool& bounce) -> Result<std::size_t> {
    if (wanted == nullptr) return dispatch::kNoOffset;
    bounce = !in_heap(wanted, bytes);
    if (!bounce) return offset_of(wanted);
    auto at = allocator_.allocate(bytes);
    if (at) operation.bounced.push_back(*at);
    return at;
  };
  struct Part {
    const void* pointer;
    std::size_t bytes;
    std::uint64_t* offset;
  };
  const Part parts[] = {{output.rows, capacity * record_.hidden_bytes, &posting.rows_offset},
                        {output.ids, capacity * topk * sizeof(std::int32_t), &posting.ids_offset},
                        {output.weights, capacity * topk * sizeof(float), &posting.weights_offset},
                        {output.origins, capacity * sizeof(RowOrigin), &posting.sources_offset}};
  bool bounced[4] = {};
  for (int i = 0; i < 4; ++i) {
    auto at = place(parts[i].pointer, parts[i].bytes, bounced[i]);
    if (!at) {
      for (const std::size_t offset : operation.bounced) allocator_.release(offset);
      return Unexpected(std::move(at).error());
    }
    *parts[i].offset = *at;
  }
  operation.copy_out.rows = bounced[0] ? output.rows : nullptr;
  operation.copy_out.ids = bounced[1] ? output.ids : nullptr;
  operation.copy_out.weights = bounced[2] ? output.weights : nullptr;
  operation.copy_out.origins = bounced[3] ? output.origins : nullptr;
  operation.copy_out.capacity = output.capacity;
  return posting;
}

Result<std::shared_ptr<HandleState>> BufferState::dispatch(const DispatchInput& input,
                                                           const DispatchOutput& output) {
  SHUNT_TRY(status());
  if (input.tokens < 0 || input.tokens > options_.max_tokens) {
    return usage_error(
        "{} tokens are not allowed; 0 to max_tokens {}", input.tokens, options_.max_tokens);
  }
  if (input.tokens > 0 && (input.rows == nullptr || input.ids == nullptr)) {
    return usage_error("{} tokens need rows and ids", input.tokens);
  }
  if (input.tokens > 0 && options_.weights && input.weights == nullptr) {
    return usage_error("{} tokens need weights; or create the Buffer with weights off",
                       input.tokens);
  }
  auto handle = std::make_shared<HandleState>();
  handle->buffer = shared_from_this();
  handle->routing.tokens = input.tokens;
  handle->routing.topk = options_.topk;
  handle->routing.experts = options_.experts;
  const auto slots =
      static_cast<std::size_t>(input.tokens) * static_cast<std::size_t>(options_.topk);
  handle->routing.ids.assign(input.ids, input.ids + slots);
  if (options_.weights) {
    handle->routing.weights.assign(input.weights, input.weights + slots);
  }
  auto plan = plan::make_plan(handle->routing.view(),
                              view_.shape,
                              view_.rank,
                              {options_.experts, options_.chunk_tokens},
                              take_spare_plan());
  if (!plan) return Unexpected(std::move(plan).error());
  handle->plan = std::move(*plan);
  const auto peers = static_cast<std::size_t>(view_.peers());
  const auto locals = static_cast<std::size_t>(view_.shape.ranks_per_node);
  handle->row_base.resize(static_cast<std::size_t>(view_.shape.nodes) * locals);
  handle->serve_begin.assign(peers + 1, 0);
  handle->records_from.assign(peers, 0);
  handle->rows_from.assign(static_cast<std::size_t>(view_.shape.world), 0);
  handle->forward_count = peers * static_cast<std::size_t>(options_.max_tokens) *
                          static_cast<std::size_t>(handle->plan.fanout);
  handle->forward_rows = std::make_unique_for_overwrite<plan::RowRef[]>(handle->forward_count);
  for (int p = 0; p < view_.peers(); ++p) {
    for (std::int64_t c = 0; c < handle->plan.chunks(p); ++c) {
      handle->pending.push_back(static_cast<std::uint32_t>(records_of_chunk(handle->plan, p, c)));
    }
  }
  SHUNT_TRY(issue_dispatch(handle, input.rows, output, false));
  return handle;
}

Status BufferState::replay(const std::shared_ptr<HandleState>& handle,
                           const void* rows,
                           const DispatchOutput& output) {
  SHUNT_TRY(status());
  if (handle->plan.tokens > 0 && rows == nullptr) {
    return usage_error("{} tokens need rows", handle->plan.tokens);
  }
  return issue_dispatch(handle, rows, output, true);
}

Status BufferState::issue_dispatch(const std::shared_ptr<HandleState>& handle,
                                   const void* rows,
                                   const DispatchOutput& output,
                                   bool cached) {
  auto operation = std::make_unique<Operation>();
  auto posting = place_output(output, *operation);
  if (!posting) return Unexpected(std::move(posting).error());
  operation->kind = Operation::Kind::kDispatch;
  operation->handle = handle;
  dispatch::DispatchArgs& args = operation->dispatch;
  fill_plan(args, *handle);
  args.cached = cached;
  args.exchange = cached ? 0 : exchanges_++;
  args.rows = static_cast<const std::byte*>(rows);
  args.output = *posting;
  handle->capacity = output.capacity;
  issue(std::move(operation));
  return {};
}

void BufferState::fill_plan(dispatch::DispatchArgs& args, HandleState& handle) const {
  const plan::Plan& plan = handle.plan;
  args.layout = record_;
  args.experts_per_rank = plan.experts_per_rank;
  args.fanout = plan.fanout;
  args.ids = handle.routing.ids.data();
  args.weights = options_.weights ? handle.routing.weights.data() : nullptr;
  args.rows_to_rank = plan.rows_to_rank.data();
  args.send_begin = plan.send_begin.data();
  args.send_tokens = plan.send_tokens.data();
  args.chunk_begin = plan.chunk_begin.data();
  args.chunk_prefix = plan.chunk_prefix.data();
  args.own_tokens = plan.own_tokens.data();
  args.own_rows = plan.own_rows.data();
  args.own_count = static_cast<std::int64_t>(plan.own_tokens.size());
  args.maps = {handle.row_base.data(),
               handle.serve_begin.data(),
               handle.records_from.data(),
               handle.rows_from.data(),
               handle.forward_rows.get(),
               options_.max_tokens};
  args.send_scratch = const_cast<std::int32_t*>(send_scratch_.data());
  args.receive_scratch = const_cast<std::int32_t*>(receive_scratch_.data());
  const std::size_t role = targets_.size() / 3;
  args.targets = {targets_.data(), targets_.data() + role, targets_.data() + 2 * role};
}

Status BufferState::combine(const std::shared_ptr<HandleState>& handle,
                            const CombineBuffers& buffers) {
  SHUNT_TRY(status());
  if (handle->plan.tokens > 0 && buffers.output == nullptr) {
    return usage_error("{} tokens need an output", handle->plan.tokens);
  }
  auto operation = std::make_unique<Operation>();
  const auto capacity = static_cast<std::size_t>(handle->capacity);
  const std::size_t bytes = capacity * record_.hidden_bytes;
  combine::CombineArgs& args = operation->combine;
  args.input.capacity_rows = buffers.rows != nullptr ? capacity : 0;
  if (buffers.rows != nullptr && !in_heap(buffers.rows, bytes)) {
    reclaim();
    auto at = allocator_.allocate(bytes);
    if (!at) return Unexpected(std::move(at).error());
    operation->bounced.push_back(*at);
    operation->copy_in = static_cast<const std::byte*>(buffers.rows);
    args.input.rows_offset = *at;
  } else if (buffers.rows != nullptr) {
    args.input.rows_offset = offset_of(buffers.rows);
  }
  operation->kind = Operation::Kind::kCombine;
  operation->handle = handle;
  const plan::Plan& plan = handle->plan;
  args.hidden = static_cast<std::uint64_t>(options_.hidden);
  args.row_type = options_.dtype;
  args.types = {wire_dtype(), options_.dtype};
  args.wire_stride = wire_stride_;
  args.chunk_tokens = options_.chunk_tokens;
  args.fanout = plan.fanout;
  args.output = static_cast<std::byte*>(buffers.output);
  args.tokens = plan.tokens;
  args.send_begin = plan.send_begin.data();
  args.chunk_begin = plan.chunk_begin.data();
  args.copies_begin = plan.copies_begin.data();
  args.copies = plan.copies.data();
  args.own_rows = plan.own_rows.data();
  dispatch::DispatchArgs maps;
  fill_plan(maps, *handle);
  args.maps = maps.maps;
  args.send_scratch = maps.send_scratch;
  args.targets = maps.targets;
  args.pending = handle->pending.data();
  args.terms = terms_.data();
  args.terms_region = terms_.size() / 3;
  args.max_terms = plan.fanout + view_.shape.nodes;
  issue(std::move(operation));
  return {};
}

void BufferState::issue(std::unique_ptr<Operation> operation) {
  operation->op = next_op_++;
  const bool combines = operation->kind == Operation::Kind::kCombine;
  const bool cached = operation->dispatch.cached;
  if (!combines && !cached) operation->handle->first_op = operation->op;
  // What kind of operation, and of which handle: handles are named by the dispatch that made them.
  const std::uint64_t step =
      operation->handle->first_op * 4 + (combines ? 2U : static_cast<unsigned>(cached));
  history_ = Random::mix(history_ ^ step);
  operation->dispatch.op = operation->op;
  const auto kind = combines ? exec::OperationKind::kCombine
                    : cached ? exec::OperationKind::kReplay
                             : exec::OperationKind::kDispatch;
  operation->dispatch.hash = exec::operation_hash(history_, kind);
  operation->combine.op = operation->op;
  operation->combine.hash = operation->dispatch.hash;
  operation->handle->last_op = operation->op + 1;
  if (!operation->bounced.empty()) {
    bounced_.push_back({operation->op, std::move(operation->bounced)});
  }
  workers_->wait_for_room();
  workers_->issue(std::move(operation));
}

void BufferState::reclaim() {
  const std::uint64_t finished = workers_->finished();
  while (!bounced_.empty() && bounced_.front().op < finished) {
    for (const std::size_t offset : bounced_.front().offsets) allocator_.release(offset);
    bounced_.pop_front();
  }
}

void BufferState::copy_out(const Operation& operation, CpuExec& exec) {
  const DispatchOutput& to = operation.copy_out;
  if (to.rows == nullptr && to.ids == nullptr && to.weights == nullptr && to.origins == nullptr) {
    return;
  }
  const exec::SpanScope phase(
      exec,
      {record::Phase::kDispatchOutputCopy, record::WaitReason::kNone, -1, -1},
      record::SpanKind::kPhase);
  const auto rows = static_cast<std::size_t>(std::min(operation.handle->total_rows(), to.capacity));
  const auto topk = static_cast<std::size_t>(options_.topk);
  const memory::Posting& from = operation.dispatch.output;
  const auto copy = [&](void* target, std::uint64_t offset, std::size_t row_bytes) {
    if (target == nullptr || rows == 0) return;
    exec.copy(static_cast<std::byte*>(target), view_.heap + offset, rows * row_bytes);
  };
  copy(to.rows, from.rows_offset, record_.hidden_bytes);
  copy(to.ids, from.ids_offset, topk * sizeof(std::int32_t));
  copy(to.weights, from.weights_offset, topk * sizeof(float));
  copy(to.origins, from.sources_offset, sizeof(RowOrigin));
}

void BufferState::copy_in(const Operation& operation, CpuExec& exec) {
  if (operation.copy_in == nullptr) return;
  // Not the handle's capacity: a replay issued since then may have changed it.
  const auto capacity = static_cast<std::int64_t>(operation.combine.input.capacity_rows);
  const auto rows = static_cast<std::size_t>(std::min(operation.handle->total_rows(), capacity));
  const exec::WaitSite site{record::Phase::kCombineSync, record::WaitReason::kNone, -1, -1};
  exec::SpanScope copy(exec, site, record::SpanKind::kCopy);
  copy.add_bytes(rows * record_.hidden_bytes);
  if (rows == 0) return;
  exec.copy(view_.heap + operation.combine.input.rows_offset,
            operation.copy_in,
            rows * record_.hidden_bytes);
}

bool BufferState::run_role(const Operation& operation, const Block& block, CpuExec& exec) {
  if (hooks_.run_role) return hooks_.run_role(context_, operation, block, exec.blocks());
  return operation.kind == Operation::Kind::kDispatch
             ? engine::run_role(exec, block.role, operation.dispatch)
             : engine::run_role(exec, block.role, operation.combine);
}

void BufferState::run_block(const Operation& operation, const Block& block, CpuExec& exec) {
  if (block.role != Role::kIntra) {
    (void)run_role(operation, block, exec);
    return;
  }
  const bool dispatching = operation.kind == Operation::Kind::kDispatch;
  exec::SpanScope whole(exec,
                        {dispatching ? record::Phase::kDispatch : record::Phase::kCombine,
                         record::WaitReason::kNone,
                         -1,
                         -1},
                        record::SpanKind::kPhase);
  if (!dispatching && exec.block() == 0) {
    if (!shunt::exec::enter_operation(exec, record::Phase::kCombineSync)) return;
    copy_in(operation, exec);
  }
  if (run_role(operation, block, exec) && dispatching) copy_out(operation, exec);
}

}  // namespace shunt::engine
