// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/buffer.hpp"

#include <atomic>

#include "base/error.hpp"
#include "engine/cuda/nvtx.hpp"
#include "exec/wait.hpp"

namespace shunt::engine::cuda {

using exec::cuda::FailureRecord;
using memory::cuda::check;

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
  const std::int64_t warps =
      static_cast<std::int64_t>(geometry_.blocks - 2 * context_.rdma_blocks) * geometry_.warps;
  context.row_warps = 1;
  while (context.row_warps < 4 && geometry_.warps % (2 * context.row_warps) == 0 &&
         tokens * context.row_warps < warps) {
    context.row_warps *= 2;
  }
  return context;
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
  const NvtxRange range("shunt dispatch");
  SHUNT_TRY(status());
  if (!handle.planned_) return usage_error("the handle has no plan; call plan_on_device() first");
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
  args.hash = exec::operation_hash(
      args.hash, args.cached ? exec::OperationKind::kReplay : exec::OperationKind::kDispatch);
  announce(stream);
  SHUNT_TRY(check(launch_dispatch(context_for(handle.plan_.tokens), args, geometry_, stream),
                  "launching the dispatch kernel"));
  handle.counted_ = true;
  handle.capacity_ = output.capacity;
  return {};
}

Status Buffer::combine(Handle& handle, const CombineBuffers& buffers, cudaStream_t stream) {
  const NvtxRange range("shunt combine");
  SHUNT_TRY(status());
  if (!handle.counted_) {
    return usage_error("the handle has no dispatch that combine could reverse; dispatch() first");
  }
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
  announce(stream);
  return check(launch_combine(context_for(handle.plan_.tokens), args, geometry_, stream),
               "launching the combine kernel");
}

void Buffer::announce(cudaStream_t stream) {
  if (context_.ended == nullptr) return;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  // A captured launch runs later, any number of times: the progress threads find those by
  // themselves.
  if (cudaStreamIsCapturing(stream, &capture) == cudaSuccess &&
      capture != cudaStreamCaptureStatusNone) {
    return;
  }
  launched_.fetch_add(1, std::memory_order_seq_cst);
  progress_->wake_sleepers();
}

Status Buffer::wait(cudaStream_t stream) {
  const NvtxRange range("shunt wait");
  if (waited_ != nullptr) {
    // Between nodes a wait is long, and progress threads need the cores: sleep, do not spin.
    SHUNT_TRY(check(cudaEventRecord(waited_, stream), "waiting for the stream"));
    SHUNT_TRY(check(cudaEventSynchronize(waited_), "waiting for the stream"));
  } else {
    SHUNT_TRY(check(cudaStreamSynchronize(stream), "waiting for the stream"));
  }
  SHUNT_TRY(status());
  return spans_ != nullptr ? spans_->drain(stream) : Status{};
}

Status Buffer::status() const {
  absorb_device_failure();
  if (auto error = failures_.error()) return Unexpected(std::move(*error));
  return {};
}

void Buffer::report_own_failure() const {
  const std::uint64_t kind =
      std::atomic_ref<std::uint64_t>(failure_->kind).load(std::memory_order_acquire);
  if (kind == FailureRecord::kNone) return;
  progress_->alarm().raise(describe_device_failure(static_cast<FailureRecord::Kind>(kind)),
                           ControlCode::kFailed,
                           rank());
}

void Buffer::absorb_device_failure() const {
  if (failures_.failed()) return;
  report_own_failure();
  const std::uint64_t by =
      std::atomic_ref<std::uint64_t>(failure_->aborted_by).load(std::memory_order_acquire);
  if (by != 0) progress_->alarm().absorb(by);
}

Error Buffer::describe_device_failure(FailureRecord::Kind kind) const {
  const FailureRecord& f = *failure_;
  const auto protocol = [](std::string text) {
    return Error{ErrorCode::kProtocol, ErrorScope::kFatal, std::move(text), 0};
  };
  switch (kind) {
    case FailureRecord::kExpired:
      return exec::describe(f.wait, shape(), rank());
    case FailureRecord::kMismatch:
      return exec::describe_mismatch(f.source, f.other_op, f.hash, rank(), f.wait.op, f.own_hash);
    case FailureRecord::kRows:
      return exec::describe_too_many_rows(
          f.wait.op, f.source, static_cast<std::int64_t>(f.other_op));
    case FailureRecord::kChunk:
      return protocol(fmt::format(
          "rank {} got chunk {} of operation {} from rank {} in {} where chunk {} of operation {} "
          "belongs",
          rank(),
          f.chunk,
          f.other_op,
          f.wait.site.peer,
          to_string(f.wait.site.phase),
          f.wait.site.chunk,
          f.wait.op));
    case FailureRecord::kId:
      return {ErrorCode::kInvalidArgument,
              ErrorScope::kFatal,
              fmt::format("rank {}: expert id {} (token {}, slot {}) is not allowed; -1 for none, "
                          "or 0 to {}",
                          rank(),
                          f.id,
                          f.token,
                          f.slot,
                          options_.experts - 1),
              0};
    case FailureRecord::kNone:
      break;
  }
  return Error{ErrorCode::kInternal, ErrorScope::kFatal, "the device reports no failure", 0};
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
