// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/clock_kernel.hpp"
#include "exec/cuda/ptx.cuh"

namespace shunt::engine::cuda {
namespace {

__global__ void answer_kernel(ClockPage* page, int asks, std::uint64_t patience_ns) {
  namespace ptx = exec::cuda::ptx;
  const std::uint64_t begin = ptx::global_timer();
  std::uint64_t step = ~std::uint64_t{0};
  std::uint64_t before = begin;
  for (int changes = 0; changes < 32;) {
    const std::uint64_t now = ptx::global_timer();
    if (now == before) continue;
    step = now - before < step ? now - before : step;
    before = now;
    ++changes;
  }
  page->step = step;
  for (std::uint64_t ask = 1; ask <= static_cast<std::uint64_t>(asks); ++ask) {
    while (ptx::load_acquire(&page->asked) < ask) {
      if (ptx::global_timer() - begin > patience_ns) return;
    }
    page->time = ptx::global_timer();
    ptx::store_release(&page->answered, ask);
  }
}

}  // namespace

cudaError_t launch_clock(ClockPage* page,
                         int asks,
                         std::uint64_t patience_ns,
                         cudaStream_t stream) {
  answer_kernel<<<1, 1, 0, stream>>>(page, asks, patience_ns);
  return cudaGetLastError();
}

}  // namespace shunt::engine::cuda
