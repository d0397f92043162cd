/* SPDX-FileCopyrightText: 2026 The shunt authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * shunt.h from C: ranks as threads that meet through an all-gather of their own. Prints what
 * differs and returns non-zero.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shunt/shunt.h"

enum { kRanks = 3, kExperts = 6, kTopk = 2, kTokens = 5, kHidden = 8, kMaxBytes = 4096 };

static pthread_barrier_t meeting;
static unsigned char gathered[kRanks * kMaxBytes];

struct rank {
  int rank;
  const char* failure;
  char text[512];
};

static int all_gather(const void* mine, size_t bytes, void* all, void* user) {
  const struct rank* self = user;
  if (bytes > kMaxBytes) return 1;
  memcpy(gathered + (size_t)self->rank * bytes, mine, bytes);
  pthread_barrier_wait(&meeting);
  memcpy(all, gathered, bytes * kRanks);
  pthread_barrier_wait(&meeting);
  return 0;
}

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      self->failure = #condition;                                         \
      snprintf(self->text, sizeof(self->text), "%s", shunt_last_error()); \
      return;                                                             \
    }                                                                     \
  } while (0)

/* Element e of token t of a rank. */
static float value_of(int rank, int token, int element) {
  return (float)(rank * 1000 + token * 10 + element);
}

static void round_trip(struct rank* self, shunt_world* world, shunt_buffer* buffer) {
  float rows[kTokens * kHidden];
  int32_t ids[kTokens * kTopk];
  float weights[kTokens * kTopk];
  for (int t = 0; t < kTokens; ++t) {
    for (int e = 0; e < kHidden; ++e) rows[t * kHidden + e] = value_of(self->rank, t, e);
    /* Experts 2r and 2r + 1 live on rank r: tokens go to two ranks, the last to none. */
    ids[t * kTopk] = t == kTokens - 1 ? -1 : (2 * t) % kExperts;
    ids[t * kTopk + 1] = t == kTokens - 1 ? -1 : (2 * t + 3) % kExperts;
    weights[t * kTopk] = 1.0F;
    weights[t * kTopk + 1] = 1.0F;
  }
  const int64_t capacity = kRanks * kTokens;
  void* memory = NULL;
  CHECK(shunt_buffer_allocate(buffer, (size_t)capacity * kHidden * sizeof(float), &memory) ==
        SHUNT_OK);
  shunt_row_origin origins[kRanks * kTokens];
  shunt_dispatch_input input = SHUNT_DISPATCH_INPUT_INIT;
  input.rows = rows;
  input.tokens = kTokens;
  input.ids = ids;
  input.weights = weights;
  shunt_dispatch_output output = SHUNT_DISPATCH_OUTPUT_INIT;
  output.rows = memory;
  output.origins = origins;
  output.capacity = capacity;
  shunt_handle* handle = NULL;
  CHECK(shunt_dispatch(buffer, &input, &output, &handle) == SHUNT_OK);
  for (int replay = 0; replay < 2; ++replay) {
    if (replay == 1) CHECK(shunt_replay(buffer, handle, rows, &output) == SHUNT_OK);
    CHECK(shunt_handle_wait(handle) == SHUNT_OK);
    int64_t received = 0;
    int64_t overflow = -1;
    int64_t rows_from[kRanks];
    CHECK(shunt_handle_received(handle, &received, &overflow, rows_from) == SHUNT_OK);
    CHECK(overflow == 0 && rows_from[0] + rows_from[1] + rows_from[2] == received);
    for (int64_t i = 0; i < received; ++i) {
      for (int e = 0; e < kHidden; ++e) {
        CHECK(((float*)memory)[i * kHidden + e] == value_of(origins[i].rank, origins[i].token, e));
      }
    }
  }
  float sums[kTokens * kHidden];
  CHECK(shunt_combine(buffer, handle, memory, sums) == SHUNT_OK);
  CHECK(shunt_handle_wait(handle) == SHUNT_OK);
  for (int t = 0; t < kTokens; ++t) {
    const float copies = t == kTokens - 1 ? 0.0F : 2.0F;
    for (int e = 0; e < kHidden; ++e) {
      CHECK(sums[t * kHidden + e] == copies * value_of(self->rank, t, e));
    }
  }
  shunt_handle_destroy(handle);
  shunt_buffer_release(buffer, memory);
  CHECK(shunt_buffer_status(buffer) == SHUNT_OK);
  CHECK(shunt_world_barrier(world) == SHUNT_OK);
}

static void run(struct rank* self) {
  shunt_world* world = NULL;
  CHECK(shunt_world_create(self->rank, kRanks, all_gather, self, &world) == SHUNT_OK);
  CHECK(shunt_world_rank(world) == self->rank && shunt_world_size(world) == kRanks);

  shunt_buffer* buffer = NULL;
  shunt_buffer_options options = SHUNT_BUFFER_OPTIONS_INIT;
  options.ranks_per_node = kRanks;
  options.experts = kExperts;
  options.topk = kTopk;
  options.dtype = SHUNT_F32;
  options.hidden = kHidden;
  options.max_tokens = kTokens;
  options.heap_bytes = 1 << 20;

  /* What is wrong comes back as a code and a sentence, and nothing is made. */
  options.dtype = 7;
  CHECK(shunt_buffer_create(world, &options, &buffer) == SHUNT_INVALID_ARGUMENT);
  CHECK(buffer == NULL && strstr(shunt_last_error(), "dtype 7") != NULL);
  options.dtype = SHUNT_F32;
  options.proxy_threads = -1;
  CHECK(shunt_buffer_create(world, &options, &buffer) == SHUNT_INVALID_ARGUMENT);
  CHECK(buffer == NULL && strstr(shunt_last_error(), "proxy_threads -1") != NULL);
  options.proxy_threads = 0; /* What older callers have there: the default. */
  options.struct_size = 0;
  CHECK(shunt_buffer_create(world, &options, &buffer) == SHUNT_INVALID_ARGUMENT);
  options.struct_size = sizeof(options);
  CHECK(shunt_buffer_create(NULL, &options, &buffer) == SHUNT_INVALID_ARGUMENT);

  /* A newer caller: zeros beyond what the library knows are fine, anything else is not. */
  struct {
    shunt_buffer_options known;
    int64_t later;
  } newer;
  memset(&newer, 0, sizeof(newer));
  newer.known = options;
  newer.known.struct_size = sizeof(newer);
  newer.later = 5;
  CHECK(shunt_buffer_create(world, &newer.known, &buffer) == SHUNT_INVALID_ARGUMENT);
  newer.later = 0;
  CHECK(shunt_buffer_create(world, &newer.known, &buffer) == SHUNT_OK);
  round_trip(self, world, buffer);
  shunt_buffer_destroy(buffer);
  shunt_world_destroy(world);
}

static void* start(void* argument) {
  run(argument);
  return NULL;
}

int main(void) {
  if (shunt_api_version() != SHUNT_API_VERSION) return 2;
  struct rank ranks[kRanks];
  pthread_t threads[kRanks];
  memset(ranks, 0, sizeof(ranks));
  pthread_barrier_init(&meeting, NULL, kRanks);
  for (int r = 0; r < kRanks; ++r) {
    ranks[r].rank = r;
    if (pthread_create(&threads[r], NULL, start, &ranks[r]) != 0) return 2;
  }
  for (int r = 0; r < kRanks; ++r) pthread_join(threads[r], NULL);
  int failed = 0;
  for (int r = 0; r < kRanks; ++r) {
    if (ranks[r].failure == NULL) continue;
    fprintf(stderr, "rank %d: not true: %s (%s)\n", r, ranks[r].failure, ranks[r].text);
    failed = 1;
  }
  return failed;
}
