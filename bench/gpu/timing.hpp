// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Times dispatch and combine of one rank among others on the same device, and in the same run what
// bounds them. in: World, sizes → out: Samples of this rank; the caller takes maxima over ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/world.hpp"
#include "memory/layout.hpp"
#include "shunt/device.hpp"
#include "shunt/result.hpp"

namespace shunt::bench::gpu {

struct TimingOptions {
  std::int64_t tokens = 4096;
  std::int64_t hidden = 7168;
  DType dtype = DType::kBF16;  ///< Of rows, partials and sums.
  int topk = 8;
  int experts = 256;
  int blocks = 16;
  int warps = 16;
  int row_warps = 0;
  std::optional<memory::AheadRows> ahead;  ///< As Hooks::ahead.
  HeapKind heap = HeapKind::kAllocated;
  int gpus = 1;  ///< Rank r runs on device r mod gpus.
  int iterations = 40;
  bool verify = true;
  bool record = false;  ///< Blocks write spans meanwhile.
};

/// Microseconds of each iteration on this rank, from a start common to all ranks.
struct Samples {
  std::vector<double> dispatch;
  std::vector<double> combine;
  std::vector<double> uncached;    ///< Planned on the device, counts exchanged, then dispatched.
  std::vector<double> plan;        ///< The planning of it alone.
  std::vector<double> copy_mix;    ///< The bytes of dispatch, moved by a plain copy kernel.
  std::vector<double> read_mix;    ///< The bytes of combine, likewise.
  double input_bytes = 0;          ///< Rows of this rank: read by dispatch, written by combine.
  double output_bytes = 0;         ///< Rows that this rank sends: written by dispatch, read back.
  double memory_bytes_per_us = 0;  ///< Rank 0 alone, whole device, bytes read plus written.
  unsigned long long wrong = 0;    ///< Elements that differed.
  std::vector<double> launch;      ///< An empty kernel of the same shape.

  // Between devices; empty on one.
  std::vector<double> push;     ///< This rank's input, copied to the next device …
  std::vector<double> pull;     ///< … and from it, all ranks at once.
  double link_row_bytes = 0;    ///< Rows that dispatch stores on other devices, and combine reads.
  double link_extra_bytes = 0;  ///< Ids, weights and origins that go with them in dispatch.
  /// What the first rank of a device saw its NVLink counters do; −1 where they cannot be read.
  double dispatch_sent = -1;     ///< Bytes that left this device during all dispatches …
  double combine_received = -1;  ///< … that came to it during all combines.
  int counted_operations = 0;
};

/// Collective.
[[nodiscard]] Result<Samples> run_timing(bootstrap::World& world, const TimingOptions& options);

}  // namespace shunt::bench::gpu
