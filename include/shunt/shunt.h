/* SPDX-FileCopyrightText: 2026 The shunt authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The interface of shunt.hpp for C. Meanings, shapes, units and errors are those documented there.
 *
 * Every function that can fail returns a shunt_status; shunt_last_error() then says what failed, in
 * words, on the calling thread. Structs begin with their size as the caller knows it, set by
 * their SHUNT_..._INIT: fields that a newer library has beyond it take their defaults; fields that
 * an older library does not know must be zero.
 *
 *   shunt_buffer_options options = SHUNT_BUFFER_OPTIONS_INIT;
 *   options.experts = 256;
 *   …
 *   if (shunt_buffer_create(world, &options, &buffer) != SHUNT_OK) puts(shunt_last_error());
 */
#ifndef SHUNT_SHUNT_H
#define SHUNT_SHUNT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Grows when a function or field is added; what exists stays. */
#define SHUNT_API_VERSION 3

/** shunt::ErrorCode, moved by one. New codes are added at the end. */
typedef enum shunt_status {
  SHUNT_OK = 0,
  SHUNT_INVALID_ARGUMENT = 1,
  SHUNT_UNSUPPORTED = 2,
  SHUNT_OUT_OF_MEMORY = 3,
  SHUNT_SYSTEM = 4,
  SHUNT_TIMEOUT = 5,
  SHUNT_PEER_LOST = 6,
  SHUNT_PROTOCOL = 7,
  SHUNT_CORRUPT = 8,
  SHUNT_PERMISSION = 9,
  SHUNT_POISONED = 10,
  SHUNT_INTERNAL = 11
} shunt_status;

/** shunt::DType. */
typedef enum shunt_dtype { SHUNT_F32 = 0, SHUNT_BF16 = 1, SHUNT_F16 = 2 } shunt_dtype;

typedef struct shunt_world shunt_world;
typedef struct shunt_buffer shunt_buffer;
typedef struct shunt_handle shunt_handle;

/** SHUNT_API_VERSION of the library. */
int shunt_api_version(void);
/** What the latest failed call of this thread says; "" before any. Valid until the next failure. */
const char* shunt_last_error(void);

/** Gathers `bytes` bytes of every rank, in rank order, into `all`. Returns 0 on success. */
typedef int (*shunt_all_gather)(const void* mine, size_t bytes, void* all, void* user);

shunt_status shunt_world_single(shunt_world** world);
shunt_status shunt_world_create(
    int rank, int size, shunt_all_gather all_gather, void* user, shunt_world** world);
int shunt_world_rank(const shunt_world* world);
int shunt_world_size(const shunt_world* world);
shunt_status shunt_world_barrier(shunt_world* world);
/** After its buffers. Null is allowed, as in all destroy functions. */
void shunt_world_destroy(shunt_world* world);

/** shunt::BufferOptions. */
typedef struct shunt_buffer_options {
  size_t struct_size;
  int32_t ranks_per_node;
  int32_t experts;
  int32_t topk;
  int32_t dtype;      /**< shunt_dtype */
  int32_t wire_dtype; /**< shunt_dtype; −1: dtype. */
  int32_t weights;    /**< Boolean. */
  int64_t hidden;
  int64_t max_tokens;
  int32_t chunk_tokens;
  int32_t credits;
  int32_t qps;
  int32_t rdma_blocks;
  int32_t blocks;
  int32_t proxy_threads; /**< 0: the default, 1. */
  uint64_t heap_bytes;
  uint64_t deadline_ns;
  uint64_t heartbeat_ns;
  const char* provider;     /**< Null or empty: tcp. */
  const char* bind_address; /**< Null or empty: none. */
} shunt_buffer_options;

/** The defaults of shunt::BufferOptions. */
#define SHUNT_BUFFER_OPTIONS_INIT                                                      \
  {                                                                                    \
    sizeof(shunt_buffer_options), 1, 1, 1, SHUNT_BF16, -1, 1, 0, 0, 64, 8, 1, 1, 1, 0, \
        (uint64_t)256 << 20, UINT64_C(30000000000), UINT64_C(1000000000), NULL, NULL   \
  }

/** Collective. */
shunt_status shunt_buffer_create(shunt_world* world,
                                 const shunt_buffer_options* options,
                                 shunt_buffer** buffer);
void shunt_buffer_destroy(shunt_buffer* buffer);
shunt_status shunt_buffer_allocate(shunt_buffer* buffer, size_t bytes, void** memory);
void shunt_buffer_release(shunt_buffer* buffer, void* memory);
/** The first failure, if any. */
shunt_status shunt_buffer_status(const shunt_buffer* buffer);

/** shunt::DispatchInput. */
typedef struct shunt_dispatch_input {
  size_t struct_size;
  const void* rows;
  int64_t tokens;
  const int32_t* ids;
  const float* weights;
} shunt_dispatch_input;
#define SHUNT_DISPATCH_INPUT_INIT \
  { sizeof(shunt_dispatch_input), NULL, 0, NULL, NULL }

/** shunt::RowOrigin. */
typedef struct shunt_row_origin {
  int32_t rank;
  int32_t token;
} shunt_row_origin;

/** shunt::DispatchOutput. */
typedef struct shunt_dispatch_output {
  size_t struct_size;
  void* rows;
  int32_t* ids;
  float* weights;
  shunt_row_origin* origins;
  int64_t capacity;
} shunt_dispatch_output;
#define SHUNT_DISPATCH_OUTPUT_INIT \
  { sizeof(shunt_dispatch_output), NULL, NULL, NULL, NULL, 0 }

/** Asynchronous; on success *handle is the caller's to destroy. */
shunt_status shunt_dispatch(shunt_buffer* buffer,
                            const shunt_dispatch_input* input,
                            const shunt_dispatch_output* output,
                            shunt_handle** handle);
shunt_status shunt_replay(shunt_buffer* buffer,
                          shunt_handle* handle,
                          const void* rows,
                          const shunt_dispatch_output* output);
shunt_status shunt_combine(shunt_buffer* buffer,
                           shunt_handle* handle,
                           const void* rows,
                           void* output);

/** Waits until the latest operation of the handle has ended on this rank. */
shunt_status shunt_handle_wait(shunt_handle* handle);
/** After a wait. `rows` and `overflow` may be null; rows_from is null or [size of the world]. */
shunt_status shunt_handle_received(const shunt_handle* handle,
                                   int64_t* rows,
                                   int64_t* overflow,
                                   int64_t* rows_from);
void shunt_handle_destroy(shunt_handle* handle);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SHUNT_SHUNT_H */
