// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of the CPU executor, one table per instruction set, chosen once at start. Every
// table gives the same bits.
#pragma once

#include <cstddef>
#include <span>

#include "exec/sum.hpp"

namespace shunt::exec::cpu {

/// All sizes in bytes are multiples of 16; pointers are 16-byte aligned.
struct Kernels {
  const char* name;
  /// Copies past the caches where the size makes that pay; the caller fences before it signals.
  void (*copy_stream)(std::byte* dst, const std::byte* src, std::size_t bytes);
  /// One source read once, `count` destinations, past the caches.
  void (*copy_multi)(std::byte* const* dst, int count, const std::byte* src, std::size_t bytes);
  /// dst[e] = sum of the terms: within a partial in order in fp32, rounded to types.partial; over
  /// the partials in order in fp32, rounded to types.output. No terms: zeros. Sums start with their
  /// first addend, so that a single row passes through unchanged.
  void (*sum)(std::byte* dst, std::span<const SumTerm> terms, std::size_t elements, SumTypes types);
  /// The same past the caches, as copy_stream: for who does not read it soon.
  void (*sum_stream)(std::byte* dst,
                     std::span<const SumTerm> terms,
                     std::size_t elements,
                     SumTypes types);
};

/// The best table for this processor; SHUNT_CPU_KERNELS=generic|avx2|avx512 asks for another.
[[nodiscard]] const Kernels& kernels();
/// All tables that run on this processor.
[[nodiscard]] std::span<const Kernels* const> all_kernels();

extern const Kernels kGenericKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

}  // namespace shunt::exec::cpu
