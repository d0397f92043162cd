/* SPDX-FileCopyrightText: 2026 The shunt authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The interface of device.hpp for C: dispatch and combine on CUDA devices, one kernel an operation,
 * on the caller's stream. Meanings, shapes, units and errors are those documented there; status
 * codes, error text and structs follow shunt.h. No CUDA header is needed to include this: a
 * `void* stream` is a cudaStream_t (null: the default stream), a `void* event` a cudaEvent_t.
 *
 *   cudaSetDevice(local_rank);
 *   shunt_device_buffer_create(world, &options, NULL, &buffer);
 *   shunt_device_buffer_allocate(buffer, bytes, &output.rows);
 *   shunt_device_plan(buffer, &routing, &handle);                      // host memory
 *   shunt_device_dispatch(buffer, handle, x, &output, stream);
 *   …the experts compute, on the same stream…
 *   shunt_device_combine(buffer, handle, y, sums, stream);
 *   shunt_device_wait(buffer, stream);
 *
 * In a build without device code every function is there; creation and shunt_device_available()
 * return SHUNT_UNSUPPORTED with a text that says what is missing.
 *
 * CUDA graphs. shunt_device_plan_on_device, shunt_device_dispatch and shunt_device_combine may be
 * captured (mode thread-local or relaxed); nothing else here may be called while the stream is
 * being captured. Then:
 *   - a plan made on the host: dispatch it once before the capture, since the first dispatch
 *     exchanges counts; the graph replays the routing with other rows;
 *   - a plan made on the device: capture the planning together with its dispatch; each replay plans
 *     from the ids that lie there then. The number of tokens is fixed by the capture: fill
 *     up with ids of -1;
 *   - addresses and capacities are fixed by the capture: the memory stays, and so do buffer, handle
 *     and graph until the last replay has ended. A handle that was planned in a capture
 *     is used outside of it only after a replay;
 *   - all ranks replay the same graphs in the same order among their other operations. A replay is
 *     waited for, and its failure found, as for any other work of the stream.
 */
#ifndef SHUNT_DEVICE_H
#define SHUNT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "shunt/shunt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shunt_device_buffer shunt_device_buffer;
typedef struct shunt_device_handle shunt_device_handle;

/** SHUNT_OK where a device buffer can be tried: this build has device code and the machine a
 * device. Otherwise SHUNT_UNSUPPORTED, and shunt_last_error() says which is missing. */
shunt_status shunt_device_available(void);

/** shunt::HeapKind. */
typedef enum shunt_heap_kind { SHUNT_HEAP_ALLOCATED = 0, SHUNT_HEAP_VIRTUAL = 1 } shunt_heap_kind;

/** shunt::Staging. */
typedef enum shunt_staging {
  SHUNT_STAGING_AUTO = 0,
  SHUNT_STAGING_HOST = 1,
  SHUNT_STAGING_DEVICE = 2
} shunt_staging;

/** shunt::DeviceOptions. */
typedef struct shunt_device_options {
  size_t struct_size;
  int32_t sms;         /**< Blocks an operation, ≥ 1; between nodes ≥ 2 · rdma_blocks + 1. */
  int32_t warps;       /**< Per block, 1 … 32. */
  int32_t row_warps;   /**< Warps that share a row, a divisor of warps; 0: chosen. */
  int32_t rdma_blocks; /**< Of the blocks, those that send between nodes, and as many that receive;
                            unused in a world of one node. */
  int32_t near_cpus;   /**< Boolean: progress threads stay on CPUs near the device. */
  int32_t heap;        /**< shunt_heap_kind; all ranks alike. */
  int32_t staging;     /**< shunt_staging; each rank's own, of interest between nodes. */
  int32_t reserved;    /**< 0 */
} shunt_device_options;

/** The defaults of shunt::DeviceOptions. */
#define SHUNT_DEVICE_OPTIONS_INIT \
  { sizeof(shunt_device_options), 16, 16, 0, 2, 1, SHUNT_HEAP_ALLOCATED, SHUNT_STAGING_AUTO, 0 }

/** Collective; on the calling thread's current device. `device` may be null: the defaults. `blocks`
 * and `rdma_blocks` of `options` are ignored. Any rank's error comes back on all of them:
 * SHUNT_INVALID_ARGUMENT (an option or geometry that is not allowed, blocks that do not fit),
 * SHUNT_UNSUPPORTED (no device code, no device), SHUNT_OUT_OF_MEMORY, SHUNT_SYSTEM. */
shunt_status shunt_device_buffer_create(shunt_world* world,
                                        const shunt_buffer_options* options,
                                        const shunt_device_options* device,
                                        shunt_device_buffer** buffer);
/** After its handles and its operations; a barrier of all ranks before. Null is allowed. */
void shunt_device_buffer_destroy(shunt_device_buffer* buffer);
/** Device memory that node peers write and read in place, 256-byte aligned, from `heap_bytes`. */
shunt_status shunt_device_buffer_allocate(shunt_device_buffer* buffer, size_t bytes, void** memory);
void shunt_device_buffer_release(shunt_device_buffer* buffer, void* memory);
/** The first failure of any operation that has been seen so far, without waiting. It
 * stays: the buffer can only be destroyed. */
shunt_status shunt_device_buffer_status(const shunt_device_buffer* buffer);
/** "tcp", "net", …; "" with one node. Valid as long as the buffer. Null for a null buffer. */
const char* shunt_device_buffer_provider(const shunt_device_buffer* buffer);
/** Where records lie between nodes, and why: "pinned host memory (provider tcp has no FI_HMEM for
 * CUDA)"; "" with one node. Valid as long as the buffer. Null for a null buffer. */
const char* shunt_device_buffer_staging(const shunt_device_buffer* buffer);

/** shunt::DeviceRouting: this rank's tokens. */
typedef struct shunt_device_routing {
  size_t struct_size;
  int64_t tokens;       /**< 0 … max_tokens; ranks may differ. */
  const int32_t* ids;   /**< [tokens][topk]: experts, -1 = none. */
  const float* weights; /**< [tokens][topk]; null if shunt_buffer_options::weights is 0. */
} shunt_device_routing;
#define SHUNT_DEVICE_ROUTING_INIT \
  { sizeof(shunt_device_routing), 0, NULL, NULL }

/** Plans on the host: the routing lies in host memory and may go afterwards. On success *handle is
 * the caller's to destroy. */
shunt_status shunt_device_plan(shunt_device_buffer* buffer,
                               const shunt_device_routing* routing,
                               shunt_device_handle** handle);
/** A handle with room for routings of at most `max_tokens` tokens, to be planned on the device. */
shunt_status shunt_device_make_handle(shunt_device_buffer* buffer,
                                      int64_t max_tokens,
                                      shunt_device_handle** handle);
/** Plans on the stream, in place of what the handle held. The routing lies in device memory and
 * stays as it is until the operations of the handle have ended. All ranks plan before the same
 * dispatch. An id that is not allowed ends the operations; the wait names its token and slot. */
shunt_status shunt_device_plan_on_device(shunt_device_buffer* buffer,
                                         shunt_device_handle* handle,
                                         const shunt_device_routing* routing,
                                         void* stream);

/** Asynchronous. `rows`: device memory [tokens][hidden] of dtype, 16-byte aligned. The arrays of
 * `output` come from shunt_device_buffer_allocate(); ids, weights and origins may be null. The
 * first dispatch of a plan exchanges counts, later ones replay the routing. */
shunt_status shunt_device_dispatch(shunt_device_buffer* buffer,
                                   shunt_device_handle* handle,
                                   const void* rows,
                                   const shunt_dispatch_output* output,
                                   void* stream);
/** Asynchronous; the reverse of the handle's latest dispatch. `rows`: [capacity of that dispatch]
 * [hidden] from shunt_device_buffer_allocate(), read in place. `output`: device memory
 * [tokens][hidden] of dtype, 16-byte aligned. */
shunt_status shunt_device_combine(shunt_device_buffer* buffer,
                                  shunt_device_handle* handle,
                                  const void* rows,
                                  void* output,
                                  void* stream);

/** Waits on the host for all work of the stream, or up to the event; then the first failure of any
 * operation, if there was one. Operations end within the deadline of the buffer's options; other
 * work of the stream as it does. */
shunt_status shunt_device_wait(shunt_device_buffer* buffer, void* stream);
shunt_status shunt_device_wait_event(shunt_device_buffer* buffer, void* event);
/** The same without waiting: *done is 1 if that work has ended, else 0. A failure that
 * has been seen is returned at once, whether or not the work has ended. */
shunt_status shunt_device_query(const shunt_device_buffer* buffer, void* stream, int* done);
shunt_status shunt_device_query_event(const shunt_device_buffer* buffer, void* event, int* done);

/** What the handle's latest dispatch has delivered to this rank, after a wait. `rows` (that are
 * there) and `overflow` (that did not fit) may be null; rows_from is null or [size of the world]:
 * rows sent by each rank, overflow included. */
shunt_status shunt_device_received(const shunt_device_buffer* buffer,
                                   const shunt_device_handle* handle,
                                   int64_t* rows,
                                   int64_t* overflow,
                                   int64_t* rows_from);
/** After the operations that use it have ended. Null is allowed. */
void shunt_device_handle_destroy(shunt_device_handle* handle);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SHUNT_DEVICE_H */
