/* SPDX-FileCopyrightText: 2026 The shunt authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * device.h from C, in every build: what is wrong with the arguments is said with or without a
 * device; what is missing is said where there is none; where there is one, tokens get through.
 * Prints what differs and returns non-zero.
 */
#include <stdio.h>
#include <string.h>

#include "shunt/device.h"

enum { kTokens = 2, kTopk = 2, kHidden = 8 };

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, shunt_last_error()); \
      return 1;                                                                        \
    }                                                                                  \
  } while (0)

/* The status, and a text that names what is wrong. */
#define CHECK_WRONG(call, name)                      \
  do {                                               \
    CHECK((call) == SHUNT_INVALID_ARGUMENT);         \
    CHECK(strstr(shunt_last_error(), name) != NULL); \
  } while (0)

static int null_arguments(void) {
  /* Never touched: every call here is refused for another argument. */
  static char nothing[256];
  shunt_device_buffer* buffer = (shunt_device_buffer*)nothing;
  shunt_device_handle* handle = (shunt_device_handle*)nothing;
  shunt_device_routing routing = SHUNT_DEVICE_ROUTING_INIT;
  shunt_dispatch_output output = SHUNT_DISPATCH_OUTPUT_INIT;
  shunt_device_handle* made = NULL;
  void* memory = NULL;
  int done = 7;

  CHECK_WRONG(shunt_device_buffer_allocate(NULL, 16, &memory), "buffer is null");
  CHECK_WRONG(shunt_device_buffer_allocate(buffer, 16, NULL), "memory is null");
  CHECK_WRONG(shunt_device_buffer_status(NULL), "buffer is null");
  CHECK(shunt_device_buffer_provider(NULL) == NULL);
  CHECK(shunt_device_buffer_staging(NULL) == NULL);
  CHECK_WRONG(shunt_device_plan(NULL, &routing, &made), "buffer is null");
  CHECK_WRONG(shunt_device_plan(buffer, &routing, NULL), "handle is null");
  CHECK_WRONG(shunt_device_plan(buffer, NULL, &made), "routing is null");
  CHECK_WRONG(shunt_device_make_handle(NULL, 1, &made), "buffer is null");
  CHECK_WRONG(shunt_device_make_handle(buffer, 1, NULL), "handle is null");
  CHECK_WRONG(shunt_device_plan_on_device(NULL, handle, &routing, NULL), "buffer is null");
  CHECK_WRONG(shunt_device_plan_on_device(buffer, NULL, &routing, NULL), "handle is null");
  CHECK_WRONG(shunt_device_plan_on_device(buffer, handle, NULL, NULL), "routing is null");
  CHECK_WRONG(shunt_device_dispatch(NULL, handle, memory, &output, NULL), "buffer is null");
  CHECK_WRONG(shunt_device_dispatch(buffer, NULL, memory, &output, NULL), "handle is null");
  CHECK_WRONG(shunt_device_dispatch(buffer, handle, memory, NULL, NULL), "output is null");
  CHECK_WRONG(shunt_device_combine(NULL, handle, memory, memory, NULL), "buffer is null");
  CHECK_WRONG(shunt_device_combine(buffer, NULL, memory, memory, NULL), "handle is null");
  CHECK_WRONG(shunt_device_wait(NULL, NULL), "buffer is null");
  CHECK_WRONG(shunt_device_wait_event(NULL, nothing), "buffer is null");
  CHECK_WRONG(shunt_device_wait_event(buffer, NULL), "event is null");
  CHECK_WRONG(shunt_device_query(NULL, NULL, &done), "buffer is null");
  CHECK_WRONG(shunt_device_query(buffer, NULL, NULL), "done is null");
  CHECK_WRONG(shunt_device_query_event(NULL, nothing, &done), "buffer is null");
  CHECK_WRONG(shunt_device_query_event(buffer, NULL, &done), "event is null");
  CHECK_WRONG(shunt_device_query_event(buffer, nothing, NULL), "done is null");
  CHECK_WRONG(shunt_device_received(NULL, handle, NULL, NULL, NULL), "buffer is null");
  CHECK_WRONG(shunt_device_received(buffer, NULL, NULL, NULL, NULL), "handle is null");
  CHECK(made == NULL && memory == NULL && done == 7);

  /* Nothing to do, and nothing happens. */
  shunt_device_buffer_release(NULL, nothing);
  shunt_device_buffer_destroy(NULL);
  shunt_device_handle_destroy(NULL);
  return 0;
}

static int struct_sizes(void) {
  static char nothing[256];
  shunt_device_buffer* buffer = (shunt_device_buffer*)nothing;
  shunt_device_handle* made = NULL;
  shunt_device_routing unset = {0};
  CHECK_WRONG(shunt_device_plan(buffer, &unset, &made), "routing: struct_size 0");

  /* A newer caller sets what this library does not know. */
  struct {
    shunt_device_routing known;
    int64_t later;
  } newer = {SHUNT_DEVICE_ROUTING_INIT, 5};
  newer.known.struct_size = sizeof(newer);
  CHECK_WRONG(shunt_device_plan(buffer, &newer.known, &made), "routing: byte");
  CHECK_WRONG(
      shunt_device_plan_on_device(buffer, (shunt_device_handle*)nothing, &newer.known, NULL),
      "routing: byte");
  CHECK(made == NULL);
  return 0;
}

static shunt_buffer_options small_options(void) {
  shunt_buffer_options options = SHUNT_BUFFER_OPTIONS_INIT;
  options.experts = 2;
  options.topk = kTopk;
  options.dtype = SHUNT_F32;
  options.hidden = kHidden;
  options.max_tokens = kTokens;
  options.heap_bytes = 1 << 20;
  return options;
}

/* SHUNT_INVALID_ARGUMENT where the build can tell, or that it cannot. */
static int bad_geometry(
    shunt_world* world, int32_t sms, int32_t warps, int32_t row_warps, const char* name) {
  const shunt_buffer_options options = small_options();
  shunt_device_options device = SHUNT_DEVICE_OPTIONS_INIT;
  shunt_device_buffer* buffer = NULL;
  device.sms = sms;
  device.warps = warps;
  device.row_warps = row_warps;
  const shunt_status status = shunt_device_buffer_create(world, &options, &device, &buffer);
  CHECK(buffer == NULL);
#ifdef SHUNT_HAVE_CUDA
  CHECK(status == SHUNT_INVALID_ARGUMENT && strstr(shunt_last_error(), name) != NULL);
#else
  (void)name;
  CHECK(status == SHUNT_UNSUPPORTED && strstr(shunt_last_error(), "no device code") != NULL);
#endif
  return 0;
}

static int creation(shunt_world* world) {
  shunt_buffer_options options = small_options();
  shunt_device_options device = SHUNT_DEVICE_OPTIONS_INIT;
  shunt_device_buffer* buffer = NULL;
  CHECK_WRONG(shunt_device_buffer_create(NULL, &options, &device, &buffer), "world is null");
  CHECK_WRONG(shunt_device_buffer_create(world, NULL, &device, &buffer), "options is null");
  CHECK_WRONG(shunt_device_buffer_create(world, &options, &device, NULL), "buffer is null");
  options.dtype = 9;
  CHECK_WRONG(shunt_device_buffer_create(world, &options, &device, &buffer), "dtype 9");
  options = small_options();
  device.heap = 7;
  CHECK_WRONG(shunt_device_buffer_create(world, &options, &device, &buffer), "heap 7");
  device.heap = SHUNT_HEAP_ALLOCATED;
  device.staging = 3;
  CHECK_WRONG(shunt_device_buffer_create(world, &options, &device, &buffer), "staging 3");
  device.staging = SHUNT_STAGING_AUTO;
  device.struct_size = 3;
  CHECK_WRONG(shunt_device_buffer_create(world, &options, &device, &buffer),
              "device options: struct_size 3");
  CHECK(buffer == NULL);
  return bad_geometry(world, 0, 16, 0, "0 blocks") || bad_geometry(world, -4, 16, 0, "-4 blocks") ||
         bad_geometry(world, 4, 0, 0, "0 warps per block") ||
         bad_geometry(world, 4, 33, 0, "33 warps per block") ||
         bad_geometry(world, 4, 16, 3, "3 warps per row") ||
         bad_geometry(world, 4, 16, -1, "-1 warps per row");
}

/* Rows of zeros to the own rank and back: what can be looked at without CUDA's headers. */
static int round_trip(shunt_device_buffer* buffer) {
  const int32_t ids[kTokens * kTopk] = {0, -1, 1, 0};
  const float weights[kTokens * kTopk] = {1.0F, 0.0F, 1.0F, 1.0F};
  const size_t bytes = kTokens * kHidden * sizeof(float);
  void* memory[3] = {NULL, NULL, NULL}; /* input, received, sums */
  for (int i = 0; i < 3; ++i) {
    CHECK(shunt_device_buffer_allocate(buffer, bytes, &memory[i]) == SHUNT_OK);
  }
  shunt_device_routing routing = SHUNT_DEVICE_ROUTING_INIT;
  routing.tokens = kTokens;
  routing.ids = ids;
  routing.weights = weights;
  shunt_device_handle* handle = NULL;
  CHECK(shunt_device_plan(buffer, &routing, &handle) == SHUNT_OK);
  CHECK_WRONG(shunt_device_combine(buffer, handle, memory[1], memory[2], NULL), "no dispatch");
  shunt_dispatch_output output = SHUNT_DISPATCH_OUTPUT_INIT;
  output.rows = (void*)ids;
  output.capacity = kTokens;
  CHECK_WRONG(shunt_device_dispatch(buffer, handle, memory[0], &output, NULL), "heap");
  output.rows = memory[1];
  CHECK(shunt_device_dispatch(buffer, handle, memory[0], &output, NULL) == SHUNT_OK);
  CHECK(shunt_device_combine(buffer, handle, memory[1], memory[2], NULL) == SHUNT_OK);
  int done = 0;
  while (!done) CHECK(shunt_device_query(buffer, NULL, &done) == SHUNT_OK);
  CHECK(shunt_device_wait(buffer, NULL) == SHUNT_OK);
  int64_t rows = 0;
  int64_t overflow = -1;
  int64_t rows_from = 0;
  CHECK(shunt_device_received(buffer, handle, &rows, &overflow, &rows_from) == SHUNT_OK);
  CHECK(rows == kTokens && overflow == 0 && rows_from == kTokens);
  shunt_device_handle_destroy(handle);
  for (int i = 0; i < 3; ++i) shunt_device_buffer_release(buffer, memory[i]);
  CHECK(strcmp(shunt_device_buffer_provider(buffer), "") == 0);
  CHECK(strcmp(shunt_device_buffer_staging(buffer), "") == 0);
  CHECK(shunt_device_buffer_status(buffer) == SHUNT_OK);
  return 0;
}

static int with_or_without_device(shunt_world* world) {
  const shunt_buffer_options options = small_options();
  shunt_device_buffer* buffer = NULL;
  const shunt_status available = shunt_device_available();
  const shunt_status created = shunt_device_buffer_create(world, &options, NULL, &buffer);
  if (available == SHUNT_OK) {
    CHECK(created == SHUNT_OK);
    const int failed = round_trip(buffer);
    shunt_device_buffer_destroy(buffer);
    return failed;
  }
  CHECK(available == SHUNT_UNSUPPORTED && created == SHUNT_UNSUPPORTED && buffer == NULL);
  printf("%s\n", shunt_last_error());
#ifdef SHUNT_HAVE_CUDA
  CHECK(strstr(shunt_last_error(), "no CUDA device can be used here") != NULL);
#else
  CHECK(strstr(shunt_last_error(), "configure with -DSHUNT_WITH_CUDA=ON") != NULL);
#endif
  return 0;
}

int main(void) {
  shunt_world* world = NULL;
  CHECK(shunt_world_single(&world) == SHUNT_OK);
  const int failed =
      null_arguments() || struct_sizes() || creation(world) || with_or_without_device(world);
  shunt_world_destroy(world);
  return failed;
}
