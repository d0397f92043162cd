// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What recording costs: a record that is off, on, with its two clock reads, dropped, and drained.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>

#include "base/clock.hpp"
#include "profile/rank_log.hpp"
#include "record/lane.hpp"

namespace shunt::record {
namespace {

/// As in the data path: a null lane means that recording is off.
void leave(Lane* lane, const Span& span) {
  if (lane != nullptr) lane->push(span);
}

void BM_Off(benchmark::State& state) {
  Lane* lane = nullptr;
  benchmark::DoNotOptimize(lane);
  Span span;
  for (auto _ : state) {
    benchmark::DoNotOptimize(span);
    leave(lane, span);
  }
}
BENCHMARK(BM_Off);

/// Emptied as seldom as an operation would; the visitor does nothing.
void BM_Push(benchmark::State& state) {
  Lane lane(1U << 14);
  Span span;
  std::uint64_t pushed = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(span);
    leave(&lane, span);
    if ((++pushed & 0x1fff) == 0) lane.drain([](RecordType, const unsigned char*) {});
  }
  if (lane.dropped() != 0) state.SkipWithError("records were dropped");
}
BENCHMARK(BM_Push);

void BM_PushWithTwoClockReads(benchmark::State& state) {
  Lane lane(1U << 14);
  Span span;
  std::uint64_t pushed = 0;
  for (auto _ : state) {
    span.begin_ns = now_ns();
    span.end_ns = now_ns();
    leave(&lane, span);
    if ((++pushed & 0x1fff) == 0) lane.drain([](RecordType, const unsigned char*) {});
  }
  if (lane.dropped() != 0) state.SkipWithError("records were dropped");
}
BENCHMARK(BM_PushWithTwoClockReads);

void BM_PushToAFullRing(benchmark::State& state) {
  Lane lane(64);
  Span span;
  for (auto _ : state) {
    benchmark::DoNotOptimize(span);
    leave(&lane, span);
  }
}
BENCHMARK(BM_PushToAFullRing);

/// Ring to file, checksums included; per record.
void BM_DrainToFile(benchmark::State& state) {
  std::string directory = "/tmp/shunt-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return state.SkipWithError("no directory");
  auto log = profile::RankLog::create(directory, 0, 1, 0);
  if (!log) return state.SkipWithError("no record file");
  Recorder recorder(1U << 13);
  Lane* lane = recorder.add_lane();
  constexpr int kRecords = 4096;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kRecords; ++i) lane->push(Span{});
    state.ResumeTiming();
    if (!log->drain(recorder)) return state.SkipWithError("writing failed");
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
  std::remove(log->path().c_str());
  std::remove(directory.c_str());
}
BENCHMARK(BM_DrainToFile)->Iterations(200);

}  // namespace
}  // namespace shunt::record
