// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// device.h over device.hpp, in builds with and without device code. Nothing but translation. What
// can be said without the buffer is checked before it is touched.
#include <string>

#include "engine/c_interface.hpp"
#include "shunt/device.h"
#include "shunt/device.hpp"

struct shunt_device_buffer {
  shunt::DeviceBuffer buffer;
  std::string provider;
  std::string staging;
};
struct shunt_device_handle {
  shunt::DeviceHandle handle;
};

namespace shunt::c {
namespace {

static_assert(SHUNT_HEAP_ALLOCATED == static_cast<int>(HeapKind::kAllocated));
static_assert(SHUNT_HEAP_VIRTUAL == static_cast<int>(HeapKind::kVirtual));
static_assert(SHUNT_STAGING_AUTO == static_cast<int>(Staging::kAuto));
static_assert(SHUNT_STAGING_HOST == static_cast<int>(Staging::kHost));
static_assert(SHUNT_STAGING_DEVICE == static_cast<int>(Staging::kDevice));

Result<DeviceOptions> to_device_options(const shunt_device_options* from) {
  if (from == nullptr) return DeviceOptions{};
  shunt_device_options known = SHUNT_DEVICE_OPTIONS_INIT;
  SHUNT_TRY(take(from, "device options", &known));
  if (known.heap != SHUNT_HEAP_ALLOCATED && known.heap != SHUNT_HEAP_VIRTUAL) {
    return usage_error("heap {} is not allowed; SHUNT_HEAP_ALLOCATED or SHUNT_HEAP_VIRTUAL",
                       known.heap);
  }
  if (known.staging < SHUNT_STAGING_AUTO || known.staging > SHUNT_STAGING_DEVICE) {
    return usage_error(
        "staging {} is not allowed; SHUNT_STAGING_AUTO, SHUNT_STAGING_HOST or SHUNT_STAGING_DEVICE",
        known.staging);
  }
  return DeviceOptions{.sms = known.sms,
                       .warps = known.warps,
                       .row_warps = known.row_warps,
                       .rdma_blocks = known.rdma_blocks,
                       .heap = static_cast<HeapKind>(known.heap),
                       .staging = static_cast<Staging>(known.staging),
                       .near_cpus = known.near_cpus != 0};
}

Result<DeviceRouting> to_routing(const shunt_device_routing* from) {
  shunt_device_routing known = SHUNT_DEVICE_ROUTING_INIT;
  SHUNT_TRY(take(from, "routing", &known));
  return DeviceRouting{known.tokens, known.ids, known.weights};
}

Status give_handle(Result<DeviceHandle> made, shunt_device_handle** handle) {
  if (!made) return Unexpected(std::move(made).error());
  *handle = new shunt_device_handle{std::move(*made)};
  return {};
}

Status give_answer(const Result<bool>& ended, int* done) {
  if (!ended) return Unexpected(ended.error());
  *done = *ended ? 1 : 0;
  return {};
}

}  // namespace
}  // namespace shunt::c

using shunt::Status;
using shunt::Unexpected;
using shunt::c::guarded;
using shunt::c::not_null;

extern "C" {

shunt_status shunt_device_available(void) {
  return guarded([] { return shunt::DeviceBuffer::available(); });
}

shunt_status shunt_device_buffer_create(shunt_world* world,
                                        const shunt_buffer_options* options,
                                        const shunt_device_options* device,
                                        shunt_device_buffer** buffer) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(world, "world"));
    SHUNT_TRY(not_null(buffer, "buffer"));
    auto translated = shunt::c::to_options(options);
    if (!translated) return Unexpected(std::move(translated).error());
    auto geometry = shunt::c::to_device_options(device);
    if (!geometry) return Unexpected(std::move(geometry).error());
    auto made = shunt::DeviceBuffer::create(world->world, *translated, *geometry);
    if (!made) return Unexpected(std::move(made).error());
    std::string provider = made->provider();
    std::string staging = made->staging();
    *buffer = new shunt_device_buffer{std::move(*made), std::move(provider), std::move(staging)};
    return {};
  });
}

void shunt_device_buffer_destroy(shunt_device_buffer* buffer) {
  delete buffer;
}

shunt_status shunt_device_buffer_allocate(shunt_device_buffer* buffer,
                                          size_t bytes,
                                          void** memory) {
  return shunt::c::allocate(buffer, bytes, memory);
}

void shunt_device_buffer_release(shunt_device_buffer* buffer, void* memory) {
  shunt::c::release(buffer, memory);
}

shunt_status shunt_device_buffer_status(const shunt_device_buffer* buffer) {
  return shunt::c::status_of(buffer);
}

const char* shunt_device_buffer_provider(const shunt_device_buffer* buffer) {
  return buffer != nullptr ? buffer->provider.c_str() : nullptr;
}

const char* shunt_device_buffer_staging(const shunt_device_buffer* buffer) {
  return buffer != nullptr ? buffer->staging.c_str() : nullptr;
}

shunt_status shunt_device_plan(shunt_device_buffer* buffer,
                               const shunt_device_routing* routing,
                               shunt_device_handle** handle) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    const auto translated = shunt::c::to_routing(routing);
    if (!translated) return Unexpected(translated.error());
    return shunt::c::give_handle(buffer->buffer.plan(*translated), handle);
  });
}

shunt_status shunt_device_make_handle(shunt_device_buffer* buffer,
                                      int64_t max_tokens,
                                      shunt_device_handle** handle) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    return shunt::c::give_handle(buffer->buffer.make_handle(max_tokens), handle);
  });
}

shunt_status shunt_device_plan_on_device(shunt_device_buffer* buffer,
                                         shunt_device_handle* handle,
                                         const shunt_device_routing* routing,
                                         void* stream) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    const auto translated = shunt::c::to_routing(routing);
    if (!translated) return Unexpected(translated.error());
    return buffer->buffer.plan_on_device(handle->handle, *translated, stream);
  });
}

shunt_status shunt_device_dispatch(shunt_device_buffer* buffer,
                                   shunt_device_handle* handle,
                                   const void* rows,
                                   const shunt_dispatch_output* output,
                                   void* stream) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    const auto translated = shunt::c::to_output(output);
    if (!translated) return Unexpected(translated.error());
    return buffer->buffer.dispatch(handle->handle, rows, *translated, stream);
  });
}

shunt_status shunt_device_combine(shunt_device_buffer* buffer,
                                  shunt_device_handle* handle,
                                  const void* rows,
                                  void* output,
                                  void* stream) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    return buffer->buffer.combine(handle->handle, {rows, output}, stream);
  });
}

shunt_status shunt_device_wait(shunt_device_buffer* buffer, void* stream) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    return buffer->buffer.wait(stream);
  });
}

shunt_status shunt_device_wait_event(shunt_device_buffer* buffer, void* event) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(event, "event"));
    return buffer->buffer.wait_event(event);
  });
}

shunt_status shunt_device_query(const shunt_device_buffer* buffer, void* stream, int* done) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(done, "done"));
    return shunt::c::give_answer(buffer->buffer.query(stream), done);
  });
}

shunt_status shunt_device_query_event(const shunt_device_buffer* buffer, void* event, int* done) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(event, "event"));
    SHUNT_TRY(not_null(done, "done"));
    return shunt::c::give_answer(buffer->buffer.query_event(event), done);
  });
}

shunt_status shunt_device_received(const shunt_device_buffer* buffer,
                                   const shunt_device_handle* handle,
                                   int64_t* rows,
                                   int64_t* overflow,
                                   int64_t* rows_from) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    const auto received = buffer->buffer.received(handle->handle);
    if (!received) return Unexpected(received.error());
    shunt::c::give(*received, rows, overflow, rows_from);
    return {};
  });
}

void shunt_device_handle_destroy(shunt_device_handle* handle) {
  delete handle;
}

}  // extern "C"
