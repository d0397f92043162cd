// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/kernels.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/log.hpp"

namespace shunt::exec::cpu {

std::span<const Kernels* const> all_kernels() {
  static const std::vector<const Kernels*> tables = [] {
    std::vector<const Kernels*> found{&kGenericKernels};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
      found.push_back(&kAvx2Kernels);
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512vl")) {
        found.push_back(&kAvx512Kernels);
      }
    }
    return found;
  }();
  return tables;
}

const Kernels& kernels() {
  static const Kernels& chosen = [&]() -> const Kernels& {
    const char* wanted = std::getenv("SHUNT_CPU_KERNELS");
    if (wanted != nullptr) {
      for (const Kernels* table : all_kernels()) {
        if (std::string_view(table->name) == wanted) return *table;
      }
      SHUNT_LOG_WARN("SHUNT_CPU_KERNELS {} is not available here; using {}",
                     wanted,
                     all_kernels().back()->name);
    }
    return *all_kernels().back();
  }();
  return chosen;
}

}  // namespace shunt::exec::cpu
