// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/kernels.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

#include <cpuid.h>

#include "base/log.hpp"

namespace shunt::exec::cpu {
namespace {

/// clang 14 knows no __builtin_cpu_supports("f16c"). That the system saves the registers it uses is
/// covered by asking for AVX2 as well.
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace

std::span<const Kernels* const> all_kernels() {
  static const std::vector<const Kernels*> tables = [] {
    std::vector<const Kernels*> found{&kGenericKernels};
    if (__builtin_cpu_supports("avx2") && has_f16c()) {
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
