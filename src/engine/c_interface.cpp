// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// shunt.h over shunt.hpp. Nothing but translation.
#include "engine/c_interface.hpp"

#include <algorithm>
#include <string>

struct shunt_buffer {
  shunt::Buffer buffer;
};
struct shunt_handle {
  shunt::Handle handle;
};

namespace shunt {
namespace {

static_assert(SHUNT_INTERNAL == static_cast<int>(ErrorCode::kInternal) + 1);
static_assert(SHUNT_INVALID_ARGUMENT == static_cast<int>(ErrorCode::kInvalidArgument) + 1);
static_assert(SHUNT_F16 == static_cast<int>(DType::kF16));
static_assert(sizeof(shunt_row_origin) == sizeof(RowOrigin));

thread_local std::string last_error;

Result<DType> to_dtype(int value, const char* what) {
  if (value >= SHUNT_F32 && value <= SHUNT_F16) return static_cast<DType>(value);
  return usage_error("{} {} is not allowed; SHUNT_F32, SHUNT_BF16 or SHUNT_F16", what, value);
}

}  // namespace

namespace c {

shunt_status report(const Status& status) {
  if (status) return SHUNT_OK;
  last_error = status.error().to_string();
  return static_cast<shunt_status>(static_cast<int>(status.error().code) + 1);
}

shunt_status report_no_memory() {
  last_error = "out of host memory";
  return SHUNT_OUT_OF_MEMORY;
}

Status not_null(const void* pointer, const char* what) {
  if (pointer != nullptr) return {};
  return usage_error("{} is null", what);
}

Status check_struct(const unsigned char* bytes,
                    std::size_t size,
                    std::size_t known,
                    const char* what) {
  if (size < sizeof(std::size_t)) {
    return usage_error("{}: struct_size {} is not allowed; begin with the INIT macro", what, size);
  }
  for (std::size_t i = known; i < size; ++i) {
    if (bytes[i] == 0) continue;
    return usage_error("{}: byte {} is set, and this library (interface {}) knows {} bytes",
                       what,
                       i,
                       SHUNT_API_VERSION,
                       known);
  }
  return {};
}

Result<BufferOptions> to_options(const shunt_buffer_options* options) {
  shunt_buffer_options from = SHUNT_BUFFER_OPTIONS_INIT;
  SHUNT_TRY(take(options, "options", &from));
  BufferOptions o;
  o.ranks_per_node = from.ranks_per_node;
  o.experts = from.experts;
  o.topk = from.topk;
  o.hidden = from.hidden;
  auto dtype = to_dtype(from.dtype, "dtype");
  if (!dtype) return Unexpected(std::move(dtype).error());
  o.dtype = *dtype;
  if (from.wire_dtype != -1) {
    auto wire = to_dtype(from.wire_dtype, "wire_dtype");
    if (!wire) return Unexpected(std::move(wire).error());
    o.wire_dtype = *wire;
  }
  o.max_tokens = from.max_tokens;
  o.weights = from.weights != 0;
  o.chunk_tokens = from.chunk_tokens;
  o.credits = from.credits;
  o.qps = from.qps;
  // Older callers have a reserved 0 there.
  if (from.proxy_threads != 0) o.proxy_threads = from.proxy_threads;
  o.rdma_blocks = from.rdma_blocks;
  o.blocks = from.blocks;
  o.heap_bytes = from.heap_bytes;
  o.deadline_ns = from.deadline_ns;
  o.heartbeat_ns = from.heartbeat_ns;
  if (from.provider != nullptr) o.provider = from.provider;
  if (from.bind_address != nullptr) o.bind_address = from.bind_address;
  return o;
}

Result<DispatchOutput> to_output(const shunt_dispatch_output* from) {
  shunt_dispatch_output o = SHUNT_DISPATCH_OUTPUT_INIT;
  SHUNT_TRY(take(from, "output", &o));
  return DispatchOutput{
      o.rows, o.ids, o.weights, reinterpret_cast<RowOrigin*>(o.origins), o.capacity};
}

void give(const Received& received, int64_t* rows, int64_t* overflow, int64_t* rows_from) {
  if (rows != nullptr) *rows = received.rows;
  if (overflow != nullptr) *overflow = received.overflow;
  if (rows_from != nullptr) {
    std::copy(received.rows_from.begin(), received.rows_from.end(), rows_from);
  }
}

}  // namespace c
}  // namespace shunt

using shunt::Status;
using shunt::Unexpected;
using shunt::c::guarded;
using shunt::c::not_null;

extern "C" {

int shunt_api_version(void) {
  return SHUNT_API_VERSION;
}

const char* shunt_last_error(void) {
  return shunt::last_error.c_str();
}

shunt_status shunt_world_single(shunt_world** world) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(world, "world"));
    auto made = shunt::World::single();
    if (!made) return Unexpected(std::move(made).error());
    *world = new shunt_world{std::move(*made)};
    return {};
  });
}

shunt_status shunt_world_create(
    int rank, int size, shunt_all_gather all_gather, void* user, shunt_world** world) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(world, "world"));
    SHUNT_TRY(not_null(reinterpret_cast<const void*>(all_gather), "all_gather"));
    auto made = shunt::World::from_all_gather(
        rank, size, [all_gather, user](const void* mine, std::size_t bytes, void* all) {
          return all_gather(mine, bytes, all, user);
        });
    if (!made) return Unexpected(std::move(made).error());
    *world = new shunt_world{std::move(*made)};
    return {};
  });
}

int shunt_world_rank(const shunt_world* world) {
  return world->world.rank();
}

int shunt_world_size(const shunt_world* world) {
  return world->world.size();
}

shunt_status shunt_world_barrier(shunt_world* world) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(world, "world"));
    return world->world.barrier();
  });
}

void shunt_world_destroy(shunt_world* world) {
  delete world;
}

shunt_status shunt_buffer_create(shunt_world* world,
                                 const shunt_buffer_options* options,
                                 shunt_buffer** buffer) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(world, "world"));
    SHUNT_TRY(not_null(buffer, "buffer"));
    auto translated = shunt::c::to_options(options);
    if (!translated) return Unexpected(std::move(translated).error());
    auto made = shunt::Buffer::create(world->world, *translated);
    if (!made) return Unexpected(std::move(made).error());
    *buffer = new shunt_buffer{std::move(*made)};
    return {};
  });
}

void shunt_buffer_destroy(shunt_buffer* buffer) {
  delete buffer;
}

shunt_status shunt_buffer_allocate(shunt_buffer* buffer, size_t bytes, void** memory) {
  return shunt::c::allocate(buffer, bytes, memory);
}

void shunt_buffer_release(shunt_buffer* buffer, void* memory) {
  shunt::c::release(buffer, memory);
}

shunt_status shunt_buffer_status(const shunt_buffer* buffer) {
  return shunt::c::status_of(buffer);
}

shunt_status shunt_dispatch(shunt_buffer* buffer,
                            const shunt_dispatch_input* input,
                            const shunt_dispatch_output* output,
                            shunt_handle** handle) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    shunt_dispatch_input in = SHUNT_DISPATCH_INPUT_INIT;
    SHUNT_TRY(shunt::c::take(input, "input", &in));
    auto out = shunt::c::to_output(output);
    if (!out) return Unexpected(std::move(out).error());
    auto made = buffer->buffer.dispatch({in.rows, in.tokens, in.ids, in.weights}, *out);
    if (!made) return Unexpected(std::move(made).error());
    *handle = new shunt_handle{std::move(*made)};
    return {};
  });
}

shunt_status shunt_replay(shunt_buffer* buffer,
                          shunt_handle* handle,
                          const void* rows,
                          const shunt_dispatch_output* output) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    auto out = shunt::c::to_output(output);
    if (!out) return Unexpected(std::move(out).error());
    return buffer->buffer.replay(handle->handle, rows, *out);
  });
}

shunt_status shunt_combine(shunt_buffer* buffer,
                           shunt_handle* handle,
                           const void* rows,
                           void* output) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(buffer, "buffer"));
    SHUNT_TRY(not_null(handle, "handle"));
    return buffer->buffer.combine(handle->handle, {rows, output});
  });
}

shunt_status shunt_handle_wait(shunt_handle* handle) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(handle, "handle"));
    return handle->handle.wait();
  });
}

shunt_status shunt_handle_received(const shunt_handle* handle,
                                   int64_t* rows,
                                   int64_t* overflow,
                                   int64_t* rows_from) {
  return guarded([&]() -> Status {
    SHUNT_TRY(not_null(handle, "handle"));
    shunt::c::give(handle->handle.received(), rows, overflow, rows_from);
    return {};
  });
}

void shunt_handle_destroy(shunt_handle* handle) {
  delete handle;
}

}  // extern "C"
