// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions of the CUDA driver, found at run time: nothing links it.
#pragma once

#include <cuda.h>

#include "memory/cuda/device.hpp"

namespace shunt::memory::cuda {

/// Finds a function as of CUDA 12, unless *status is an error already. `instead` says what to do
/// without it.
template <typename Function>
void find_in_driver(const char* name, Function* function, const char* instead, Status* status) {
  if (!*status) return;
  constexpr unsigned kVersion = 12000;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult query{};
  *status =
      check(cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &query),
            "asking the CUDA driver for its functions");
  if (*status && (query != cudaDriverEntryPointSuccess || found == nullptr)) {
    *status = fail(ErrorCode::kUnsupported,
                   ErrorScope::kDevice,
                   "the CUDA driver has no {}: {}",
                   name,
                   instead);
  }
  *function = reinterpret_cast<Function>(found);
}

}  // namespace shunt::memory::cuda
