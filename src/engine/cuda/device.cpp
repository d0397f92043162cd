// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The public classes of device.hpp: thin, so that users need none of the inside.
#include "shunt/device.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "engine/cuda/buffer.hpp"
#include "memory/cuda/device.hpp"

namespace shunt {

struct DeviceHandle::State {
  std::unique_ptr<engine::cuda::Handle> handle;
  std::int64_t capacity = 0;  ///< Of the latest dispatch.
};
struct DeviceBuffer::State {
  std::unique_ptr<engine::cuda::Buffer> buffer;
  int topk = 1;
};

namespace {
using memory::cuda::check;

cudaStream_t native(DeviceStream stream) {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t native_event(DeviceEvent event) {
  return static_cast<cudaEvent_t>(event);
}

/// The answer to a query of a stream or event.
Result<bool> ended(cudaError_t code, const char* what) {
  if (code == cudaErrorNotReady) {
    // Not a failure, and the caller's next look at the last error shall not find it.
    (void)cudaGetLastError();
    return false;
  }
  SHUNT_TRY(check(code, what));
  return true;
}
}  // namespace

DeviceHandle::DeviceHandle(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceHandle::DeviceHandle(DeviceHandle&&) noexcept = default;
DeviceHandle& DeviceHandle::operator=(DeviceHandle&&) noexcept = default;
DeviceHandle::~DeviceHandle() = default;

DeviceBuffer::DeviceBuffer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept = default;
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&&) noexcept = default;
DeviceBuffer::~DeviceBuffer() = default;

Status DeviceBuffer::available() {
  return engine::cuda::check_device();
}

Result<DeviceBuffer> DeviceBuffer::create(World& world,
                                          const BufferOptions& options,
                                          const DeviceOptions& device) {
  engine::cuda::Geometry geometry;
  geometry.blocks = device.sms;
  geometry.warps = device.warps;
  geometry.row_warps = device.row_warps;
  geometry.rdma_blocks = device.rdma_blocks;
  engine::cuda::Hooks hooks;
  hooks.near_cpus = device.near_cpus;
  hooks.heap = device.heap;
  hooks.staging = device.staging;
  auto made = engine::cuda::Buffer::create(world.impl(), options, geometry, hooks);
  if (!made) return Unexpected(std::move(made).error());
  return DeviceBuffer(std::make_unique<State>(State{std::move(*made), options.topk}));
}

Result<void*> DeviceBuffer::allocate(std::size_t bytes) {
  return state_->buffer->allocate(bytes);
}
void DeviceBuffer::release(void* pointer) {
  state_->buffer->release(pointer);
}

Result<DeviceHandle> DeviceBuffer::plan(const DeviceRouting& routing) {
  auto made = state_->buffer->plan({routing.tokens, state_->topk, routing.ids, routing.weights});
  if (!made) return Unexpected(std::move(made).error());
  return DeviceHandle(std::make_unique<DeviceHandle::State>(DeviceHandle::State{std::move(*made)}));
}

Result<DeviceHandle> DeviceBuffer::make_handle(std::int64_t max_tokens) {
  auto made = state_->buffer->make_handle(max_tokens);
  if (!made) return Unexpected(std::move(made).error());
  return DeviceHandle(std::make_unique<DeviceHandle::State>(DeviceHandle::State{std::move(*made)}));
}

Status DeviceBuffer::plan_on_device(DeviceHandle& handle,
                                    const DeviceRouting& routing,
                                    DeviceStream stream) {
  return state_->buffer->plan_on_device(
      *handle.state_->handle,
      {routing.tokens, state_->topk, routing.ids, routing.weights},
      native(stream));
}

Status DeviceBuffer::dispatch(DeviceHandle& handle,
                              const void* rows,
                              const DispatchOutput& output,
                              DeviceStream stream) {
  Status status = state_->buffer->dispatch(*handle.state_->handle, rows, output, native(stream));
  if (status) handle.state_->capacity = output.capacity;
  return status;
}

Status DeviceBuffer::combine(DeviceHandle& handle,
                             const CombineBuffers& buffers,
                             DeviceStream stream) {
  return state_->buffer->combine(*handle.state_->handle, buffers, native(stream));
}

Status DeviceBuffer::wait(DeviceStream stream) {
  return state_->buffer->wait(native(stream));
}
Status DeviceBuffer::wait_event(DeviceEvent event) {
  SHUNT_TRY(check(cudaEventSynchronize(native_event(event)), "waiting for the event"));
  return status();
}
Result<bool> DeviceBuffer::query(DeviceStream stream) const {
  SHUNT_TRY(status());
  auto done = ended(cudaStreamQuery(native(stream)), "asking whether the stream has ended");
  if (done && *done) SHUNT_TRY(status());
  return done;
}
Result<bool> DeviceBuffer::query_event(DeviceEvent event) const {
  SHUNT_TRY(status());
  auto done = ended(cudaEventQuery(native_event(event)), "asking whether the event has come");
  if (done && *done) SHUNT_TRY(status());
  return done;
}
Status DeviceBuffer::status() const {
  return state_->buffer->status();
}

Result<Received> DeviceBuffer::received(const DeviceHandle& handle) const {
  auto rows = state_->buffer->rows_from(*handle.state_->handle);
  if (!rows) return Unexpected(std::move(rows).error());
  Received received;
  received.rows_from = std::move(*rows);
  std::int64_t total = 0;
  for (const std::int64_t n : received.rows_from) total += n;
  received.rows = std::min(total, handle.state_->capacity);
  received.overflow = total - received.rows;
  return received;
}

std::string DeviceBuffer::provider() const {
  return state_->buffer->provider();
}

std::string DeviceBuffer::staging() const {
  return state_->buffer->staging();
}

}  // namespace shunt
