// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// All PTX of the project: flags, clocks and wide accesses that CUDA C++ has no words for.
#pragma once

#include <cstdint>

#include "exec/descriptor.hpp"

namespace shunt::exec::cuda::ptx {

__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

/// Orders all that this thread has stored, or has seen stored, before the value.
__device__ __forceinline__ void store_release(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/// Adds, and orders as store_release does.
__device__ __forceinline__ void add_release(std::uint64_t* word, std::uint64_t value) {
  asm volatile("red.release.sys.global.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/// All that this thread has stored or seen stored precedes what it stores from here on.
__device__ __forceinline__ void fence_release() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/// Two words, each seen as a whole; orders nothing.
__device__ __forceinline__ void store_pair(std::uint64_t* to,
                                           std::uint64_t low,
                                           std::uint64_t high) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(low), "l"(high)
               : "memory");
}

/// Several pairs.
template <int kWords>
__device__ __forceinline__ void store_pairs(std::uint64_t* to, const std::uint64_t* words) {
#pragma unroll
  for (int w = 0; w < kWords; w += 2) store_pair(to + w, words[w], words[w + 1]);
}

/// Brings the line of an address into the second-level cache.
__device__ __forceinline__ void prefetch(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/// Both halves of a descriptor at once, behind all that this thread has stored or seen stored.
__device__ __forceinline__ void store_release(exec::PackedDescriptor* to,
                                              const exec::PackedDescriptor& value) {
  asm volatile(
      "st.release.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value.low), "l"(value.high)
      : "memory");
}

/// The next number of a counter of this device; orders nothing.
__device__ __forceinline__ std::uint64_t take_ticket(std::uint64_t* counter) {
  std::uint64_t before;
  asm volatile("atom.add.relaxed.gpu.global.u64 %0, [%1], 1;"
               : "=l"(before)
               : "l"(counter)
               : "memory");
  return before;
}

/// The same for readers on this device.
__device__ __forceinline__ void store_release_device(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/// Among the blocks of this device.
__device__ __forceinline__ std::uint64_t add_acq_rel(std::uint64_t* word, std::uint64_t value) {
  std::uint64_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(word), "l"(value)
               : "memory");
  return before;
}

__device__ __forceinline__ std::uint32_t add_acq_rel(std::uint32_t* word, std::uint32_t value) {
  std::uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(word), "r"(value)
               : "memory");
  return before;
}

/// Nanoseconds, one clock for all blocks of a device.
__device__ __forceinline__ std::uint64_t global_timer() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(value));
  return value;
}

/// 16 bytes that this SM will not read again.
__device__ __forceinline__ uint4 load_once(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at)
               : "memory");
  return v;
}

__device__ __forceinline__ void store_once(uint4* at, const uint4& v) {
  asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at),
               "r"(v.x),
               "r"(v.y),
               "r"(v.z),
               "r"(v.w)
               : "memory");
}

[[nodiscard]] __device__ __forceinline__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

/// Barriers in shared memory that count the bytes of bulk copies.
__device__ __forceinline__ void barrier_init(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
/// Bounded by the copies that are under way; they end, or the device reports an error.
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}
/// The copy engine brings `bytes` (a multiple of 16) into shared memory, and counts them.
__device__ __forceinline__ void bulk_load(std::byte* to,
                                          const std::byte* from,
                                          std::uint32_t bytes,
                                          std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from),
      "r"(bytes),
      "r"(shared_address(barrier))
      : "memory");
}
/// What this thread has seen in memory is there for bulk copies that it, or who meets it, starts
/// afterwards.
__device__ __forceinline__ void fence_memory_for_bulk() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// What this thread has read from shared memory may be overwritten by such copies.
__device__ __forceinline__ void fence_shared_for_bulk() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Two fp32 rounded to nearest even, `low` in the lower half.
__device__ __forceinline__ std::uint32_t to_bf16x2(float low, float high) {
  std::uint32_t value;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(value) : "f"(high), "f"(low));
  return value;
}

/// The same to fp16, and back; subnormals are kept.
__device__ __forceinline__ std::uint32_t to_f16x2(float low, float high) {
  std::uint32_t value;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(value) : "f"(high), "f"(low));
  return value;
}
__device__ __forceinline__ void from_f16x2(std::uint32_t value, float* low, float* high) {
  asm("{\n"
      ".reg .b16 l, h;\n"
      "mov.b32 {l, h}, %2;\n"
      "cvt.f32.f16 %0, l;\n"
      "cvt.f32.f16 %1, h;\n"
      "}"
      : "=f"(*low), "=f"(*high)
      : "r"(value));
}

/// Sums of two pairs, each rounded once to nearest even; subnormals are kept.
__device__ __forceinline__ std::uint32_t add_bf16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}
__device__ __forceinline__ std::uint32_t add_f16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}

}  // namespace shunt::exec::cuda::ptx
