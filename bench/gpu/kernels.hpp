// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels that the benchmark needs beside the library's: a start shot for all ranks of a device,
// copies that only move bytes, inputs that can be recomputed, and their checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "shunt/types.hpp"

namespace shunt::bench::gpu {

/// Holds the stream until *flag ≥ value, at most 5 s (a time that no honest measurement shows).
void launch_gate(const std::uint64_t* flag, std::uint64_t value, cudaStream_t stream);
/// Sets flags[0 … count − 1] (a list in memory of the device) at once: gates of all processes open,
/// each of which polls one in memory of its own device.
void launch_raise(std::uint64_t* const* flags, int count, std::uint64_t value, cudaStream_t stream);

/// A kernel that does nothing: what a launch costs.
void launch_nothing(int blocks, int warps, cudaStream_t stream);

/// Rows of a token in `begin`: reads row t once, writes it to rows begin[t] … begin[t + 1] − 1.
/// Nothing but bytes: dispatch's mix of reads and writes without its lists, flags and scattering.
void launch_copy_mix(std::byte* to,
                     const std::byte* from,
                     const std::int32_t* begin,
                     std::int64_t tokens,
                     std::size_t row_bytes,
                     int blocks,
                     cudaStream_t stream);
/// The reverse: reads rows begin[t] … begin[t + 1] − 1, writes one; combine's mix.
void launch_read_mix(std::byte* to,
                     const std::byte* from,
                     const std::int32_t* begin,
                     std::int64_t tokens,
                     std::size_t row_bytes,
                     int blocks,
                     cudaStream_t stream);

/// Rows of a type in device memory: [count][hidden].
struct Rows {
  void* data = nullptr;
  std::int64_t count = 0;
  std::int64_t hidden = 0;
  DType type = DType::kBF16;
};

/// Fills a rank's rows, one a token, with values that depend on (rank, token, element) alone.
void launch_fill(const Rows& rows, int rank, cudaStream_t stream);
/// Adds to *wrong the elements of received rows that differ from what launch_fill wrote at their
/// origin (pairs of rank and token).
void launch_verify_rows(const Rows& rows,
                        const std::int32_t* origins,
                        unsigned long long* wrong,
                        cudaStream_t stream);
/// … the elements of combine's output, one row a token, that are not the sum of as many equal rows
/// as the token has ranks.
void launch_verify_sums(const Rows& sums,
                        const std::int32_t* begin,
                        int rank,
                        unsigned long long* wrong,
                        cudaStream_t stream);

/// Adds to *wrong how many of all pairs of 16-bit elements the packed add of a sum of two rows adds
/// otherwise than fp32 and a rounding do. Sums that are NaN may differ in their payload.
void launch_verify_pairs(DType type, unsigned long long* wrong, cudaStream_t stream);

}  // namespace shunt::bench::gpu
