// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace shunt::engine::cuda {

/// In pinned memory: the host asks with a number, the device answers with the time and the number.
struct ClockPage {
  std::uint64_t asked;
  std::uint64_t time;
  std::uint64_t answered;
  std::uint64_t step;
};

/// One lane that answers `asks` questions, and first measures the timer's step. Gives up after
/// `patience_ns`.
[[nodiscard]] cudaError_t launch_clock(ClockPage* page,
                                       int asks,
                                       std::uint64_t patience_ns,
                                       cudaStream_t stream);

}  // namespace shunt::engine::cuda
