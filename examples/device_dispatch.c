/* SPDX-FileCopyrightText: 2026 The shunt authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From C, on one GPU: tokens go to two experts of a world of one rank and their sums come back,
 * ordered by a CUDA stream. With more ranks, shunt_world_create takes the caller's all-gather and
 * everything else stays as it is.
 */
#include <cuda_runtime_api.h>
#include <shunt/device.h>
#include <stdio.h>

enum { kTokens = 4, kTopk = 2, kHidden = 64, kBytes = kTokens * kHidden * sizeof(float) };

/* The error text of whichever library failed. */
static int failed(const char* call) {
  fprintf(stderr, "%s: %s %s\n", call, shunt_last_error(), cudaGetErrorString(cudaGetLastError()));
  return 1;
}
#define TRY(call) \
  if ((call) != 0) return failed(#call)

static int run(shunt_device_buffer* buffer, cudaStream_t stream) {
  /* Token t: a row of the value t, for both experts of this rank. */
  float rows[kTokens * kHidden], sums[kTokens * kHidden], weights[kTokens * kTopk];
  int32_t ids[kTokens * kTopk];
  for (int i = 0; i < kTokens * kHidden; ++i) rows[i] = (float)(i / kHidden);
  for (int i = 0; i < kTokens * kTopk; ++i) ids[i] = i % 2, weights[i] = 0.5F;

  /* Received rows lie where node peers write; any device memory would do for input and sums. */
  void *input, *output;
  shunt_dispatch_output received = SHUNT_DISPATCH_OUTPUT_INIT;
  received.capacity = kTokens;
  TRY(shunt_device_buffer_allocate(buffer, kBytes, &received.rows));
  TRY(cudaMalloc(&input, kBytes));
  TRY(cudaMalloc(&output, kBytes));
  TRY(cudaMemcpyAsync(input, rows, kBytes, cudaMemcpyHostToDevice, stream));

  shunt_device_routing routing = SHUNT_DEVICE_ROUTING_INIT;
  routing.tokens = kTokens;
  routing.ids = ids;
  routing.weights = weights;
  shunt_device_handle* handle;
  TRY(shunt_device_plan(buffer, &routing, &handle));
  TRY(shunt_device_dispatch(buffer, handle, input, &received, stream));
  /* Here the experts would compute on received.rows, in place, on the same stream. */
  TRY(shunt_device_combine(buffer, handle, received.rows, output, stream));
  TRY(cudaMemcpyAsync(sums, output, kBytes, cudaMemcpyDeviceToHost, stream));
  TRY(shunt_device_wait(buffer, stream));

  int64_t count;
  TRY(shunt_device_received(buffer, handle, &count, NULL, NULL));
  printf("%d rows received, last sum %g\n", (int)count, (double)sums[kTokens * kHidden - 1]);
  shunt_device_handle_destroy(handle);
  return cudaFree(input) != cudaSuccess || cudaFree(output) != cudaSuccess;
}

int main(void) {
  if (shunt_device_available() != SHUNT_OK) return puts(shunt_last_error()), 0;
  shunt_world* world;
  shunt_device_buffer* buffer;
  cudaStream_t stream;
  shunt_buffer_options options = SHUNT_BUFFER_OPTIONS_INIT;
  options.experts = options.topk = kTopk;
  options.hidden = kHidden;
  options.dtype = SHUNT_F32;
  options.max_tokens = kTokens;
  TRY(shunt_world_single(&world));
  TRY(shunt_device_buffer_create(world, &options, NULL, &buffer));
  TRY(cudaStreamCreate(&stream));
  const int status = run(buffer, stream);
  shunt_device_buffer_destroy(buffer);
  shunt_world_destroy(world);
  return status;
}
