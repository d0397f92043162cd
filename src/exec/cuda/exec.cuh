// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA executor: a block is a CTA, a warp 32 lanes. in: Context of the rank, shared memory of
// the block → out: Exec, handed to the phase templates of dispatch/ and combine/. Contracts stand
// at CpuExec and at the concept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "exec/cuda/context.hpp"
#include "exec/cuda/report.cuh"
#include "exec/cuda/rows.cuh"
#include "exec/cuda/spans.cuh"
#include "exec/descriptor.hpp"
#include "exec/targets.hpp"
#include "record/record.hpp"

namespace shunt::exec::cuda {

/// Shared memory of a block that the executor itself needs.
struct Scratch {
  std::int64_t broadcast = 0;
  unsigned long long total = 0;
  BlockSpans spans;
};

/// Shared memory for what the phases look up and sum; what a kernel does not use is null.
struct Tables {
  RowTarget* targets = nullptr;  ///< [ranks_per_node], the block's.
  RowBatch* batch = nullptr;     ///< This warp's, as all that follows.
  SumTerm* terms = nullptr;
  SumStage stage;
};

/// Which of the blocks of its role a block is.
struct Place {
  int block = 0;
  int blocks = 1;
};

/// kRecord: a launch that records spans is another kernel, so that one that does not pays nothing.
/// kAhead: so is one in which no rows of combine come ahead, where registers are scarce.
template <bool kRecord, bool kAhead>
class CudaExec {
 public:
  static constexpr bool kRowsAhead = kAhead;
  /// Kernels of one Buffer follow one another on a stream.
  static constexpr bool kInOrder = true;
  /// The kernel does so as the first of all.
  static constexpr bool kPostsFirst = true;

  /// `rank` and `scratch` lie in shared memory.
  __device__ CudaExec(const Context& context,
                      const RankView& rank,
                      const Place& place,
                      Scratch& scratch,
                      const Tables& tables,
                      std::uint64_t op)
      : context_(context),
        rank_(rank),
        place_(place),
        scratch_(scratch),
        tables_(tables),
        op_(op) {}

  [[nodiscard]] __device__ const RankView& rank() const { return rank_; }
  [[nodiscard]] __device__ int block() const { return place_.block; }
  [[nodiscard]] __device__ int blocks() const { return place_.blocks; }
  [[nodiscard]] __device__ int warp() const { return static_cast<int>(threadIdx.x) / kLanes; }
  [[nodiscard]] __device__ int warps() const { return static_cast<int>(blockDim.x) / kLanes; }
  [[nodiscard]] __device__ int row_warps() const { return context_.row_warps; }
  [[nodiscard]] __device__ int lane() const { return static_cast<int>(threadIdx.x) % kLanes; }
  [[nodiscard]] __device__ int lanes() const { return kLanes; }
  [[nodiscard]] __device__ bool block_leader() const { return threadIdx.x == 0; }
  [[nodiscard]] __device__ bool warp_leader() const { return lane() == 0; }

  __device__ void block_sync() { __syncthreads(); }
  __device__ void warp_sync() { __syncwarp(); }
  [[nodiscard]] __device__ bool warp_agree(bool ok) const {
    const bool all = __all_sync(0xffffffffU, ok) != 0;
    __syncwarp();
    return all;
  }
  [[nodiscard]] __device__ bool block_agree(bool ok) const { return __syncthreads_and(ok) != 0; }
  [[nodiscard]] __device__ std::int64_t block_broadcast(std::int64_t value) {
    if (block_leader()) scratch_.broadcast = value;
    __syncthreads();
    value = scratch_.broadcast;
    __syncthreads();
    return value;
  }
  [[nodiscard]] __device__ std::uint64_t block_total(std::uint64_t of_warp) {
    if constexpr (!kRecord) return of_warp;
    if (block_leader()) scratch_.total = 0;
    __syncthreads();
    if (warp_leader()) atomicAdd(&scratch_.total, static_cast<unsigned long long>(of_warp));
    __syncthreads();
    return scratch_.total;
  }
  [[nodiscard]] __device__ Packed warp_pack(bool holds) const {
    const unsigned lanes = __ballot_sync(0xffffffffU, holds);
    return {__popc(lanes & ((1U << static_cast<unsigned>(lane())) - 1U)), __popc(lanes)};
  }
  [[nodiscard]] __device__ RowTarget* target_table(RowTarget* /*memory*/) const {
    return tables_.targets;
  }
  [[nodiscard]] __device__ RowBatch& row_batch(RowBatch& /*memory*/) const {
    return *tables_.batch;
  }
  [[nodiscard]] __device__ SumTerm* term_scratch(SumTerm* /*memory*/) const {
    return tables_.terms;
  }

  __device__ void copy(std::byte* dst, const std::byte* src, std::size_t bytes) {
    copy_rows(&dst, 1, src, bytes, lane());
  }
  __device__ void copy_small(std::byte* dst, const std::byte* src, std::size_t bytes) {
    auto* to = reinterpret_cast<std::uint32_t*>(dst);
    const auto* from = reinterpret_cast<const std::uint32_t*>(src);
    for (std::size_t i = static_cast<std::size_t>(lane()); i < bytes / 4; i += kLanes) {
      to[i] = from[i];
    }
  }
  __device__ void copy_multi(std::byte* const* dst,
                             int count,
                             const std::byte* src,
                             std::size_t bytes) {
    copy_rows(dst, count, src, bytes, lane());
  }
  /// The terms lie in shared memory, written by the warp's leader.
  __device__ void sum(std::byte* dst,
                      std::span<const SumTerm> terms,
                      std::size_t elements,
                      SumTypes types) {
    __syncwarp();
    sum_rows(
        dst, terms.data(), static_cast<int>(terms.size()), elements, types, lane(), tables_.stage);
    __syncwarp();
  }
  __device__ void sum_stream(std::byte* dst,
                             std::span<const SumTerm> terms,
                             std::size_t elements,
                             SumTypes types) {
    sum(dst, terms, elements, types);
  }

  __device__ void prefetch(const void* at) const { ptx::prefetch(at); }

  [[nodiscard]] __device__ std::uint64_t load(const std::uint64_t* word) const {
    return ptx::load_acquire(word);
  }
  using Waited = std::conditional_t<kRecord, WaitSpan, NoSpan>;

  [[nodiscard]] __device__ bool wait_until(const std::uint64_t* word,
                                           std::uint64_t at_least,
                                           const WaitSite& site) {
    Waited waited;
    const bool ok = wait_until(word, at_least, site, waited);
    write_wait(waited);
    return ok;
  }
  [[nodiscard]] __device__ bool wait_until(const std::uint64_t* word,
                                           std::uint64_t at_least,
                                           const WaitSite& site,
                                           Waited& waited) {
    const auto done = [=] { return ptx::load_acquire(word) >= at_least; };
    return wait_any(done, word, at_least, site, waited);
  }
  template <typename Done>
  [[nodiscard]] __device__ bool wait_any(Done&& done,
                                         const std::uint64_t* word,
                                         std::uint64_t at_least,
                                         const WaitSite& site) {
    Waited waited;
    const bool ok = wait_any(done, word, at_least, site, waited);
    write_wait(waited);
    return ok;
  }
  template <typename Done>
  [[nodiscard]] __device__ bool wait_any(Done&& done,
                                         const std::uint64_t* word,
                                         std::uint64_t at_least,
                                         const WaitSite& site,
                                         Waited& waited) {
    if (!done()) {
      const std::uint64_t begin = ptx::global_timer();
      for (std::uint32_t round = 1; !done(); ++round) {
        if (round % kRoundsPerLook == 0 &&
            expired_or_aborted(context_, rank_, op_, begin, word, at_least, site)) {
          return false;
        }
      }
      if constexpr (kRecord) {
        if (site.recorded) {
          waited = {
              begin, ptx::global_timer(), span_of(site, record::SpanKind::kWait), peer_chunk(site)};
        }
      }
    }
    ptx::fence_memory_for_bulk();
    return true;
  }
  __device__ void write_wait(Waited& waited) {
    if constexpr (kRecord) {
      if (waited.end == 0) return;
      write_span(scratch_.spans, waited.begin, waited.end, 0, waited.what, waited.peer_chunk);
      waited.end = 0;
    }
  }

  __device__ void signal(int /*local*/, std::uint64_t* word, std::uint64_t value) {
    ptx::store_release(word, value);
  }
  /// Own words are read on this device alone.
  __device__ void signal_self(std::uint64_t* word, std::uint64_t value) {
    ptx::store_release_device(word, value);
  }
  [[nodiscard]] __device__ bool adds_at_peers() const { return context_.adds_at_peers; }
  __device__ void signal_add(int /*local*/, std::uint64_t* word, std::uint64_t value) {
    ptx::add_release(word, value);
  }
  /// The end of the kernel precedes the next one. No warp draws any more.
  __device__ void end_operation() {
    *rank_.word(Word::kIntraUnits) = 0;
    *rank_.word(Word::kIntraDone) = op_ + 1;
  }
  [[nodiscard]] __device__ bool last_to_arrive(Word counter) {
    __syncthreads();
    bool last = false;
    if (block_leader()) {
      const std::uint64_t before = ptx::add_acq_rel(rank_.word(counter), 1);
      last = (before + 1) % static_cast<unsigned>(place_.blocks) == 0;
    }
    return __syncthreads_or(last) != 0;
  }

  /// Units behind everybody's first one go to whoever asks, so that no warp is left behind; the
  /// number comes back while the warp works. Lane 0 holds it.
  [[nodiscard]] __device__ unsigned long long draw_unit() {
    if (lane() != 0) return 0;
    return atomicAdd(reinterpret_cast<unsigned long long*>(rank_.word(Word::kIntraUnits)), 1ULL);
  }
  [[nodiscard]] __device__ std::int64_t next_unit(std::int64_t /*unit*/,
                                                  unsigned long long ticket) const {
    return static_cast<std::int64_t>(__shfl_sync(0xffffffffU, ticket, 0)) +
           static_cast<std::int64_t>(blocks()) * warps();
  }
  [[nodiscard]] __device__ std::uint32_t subtract(std::uint32_t* counter, std::uint32_t amount) {
    return ptx::add_acq_rel(counter, 0U - amount) - amount;
  }

  /// The caller's block, or warp, has met: its stores are ordered before the descriptor's.
  __device__ void post(const Descriptor& descriptor) {
    const Rings& rings = context_.rings;
    const std::uint32_t thread = PeerShare::thread_of(descriptor.peer, rings.threads);
    const std::uint64_t index = ptx::take_ticket(&rings.pushers[thread].tail);
    if (!await_room(thread, index)) return;
    const std::uint32_t entry =
        thread * rings.size + (static_cast<std::uint32_t>(index) & (rings.size - 1));
    ptx::store_release(&rings.entries[entry], pack(descriptor, ring_lap(index, rings.size)));
  }

  [[nodiscard]] __device__ bool recording() const { return kRecord; }
  /// Of lanes that write spans; 0 on the others.
  [[nodiscard]] static __device__ std::uint64_t stamp() {
    if constexpr (!kRecord) return 0;
    return threadIdx.x % kLanes == 0 ? ptx::global_timer() : 0;
  }
  /// When the kernel began here: the posting lies between that and the roles.
  [[nodiscard]] __device__ std::uint64_t entered() const { return scratch_.spans.entered; }
  /// Phases are the block's leader's to write, copies and sums each warp's.
  __device__ void span(const WaitSite& site,
                       record::SpanKind kind,
                       std::uint64_t begin,
                       std::uint64_t bytes,
                       std::uint64_t end = 0) {
    if constexpr (!kRecord) return;
    if (kind == record::SpanKind::kPhase ? block_leader() : warp_leader()) {
      write_span(scratch_.spans,
                 begin,
                 end != 0 ? end : ptx::global_timer(),
                 bytes,
                 span_of(site, kind),
                 peer_chunk(site));
    }
  }

  __device__ void fail_mismatch(int source,
                                std::uint64_t op,
                                std::uint64_t hash,
                                std::uint64_t own_hash) {
    if (!claim()) return;
    FailureRecord& record = *context_.failure;
    record.source = source;
    record.other_op = op;
    record.hash = hash;
    record.own_hash = own_hash;
    record.wait.op = op_;
    publish(FailureRecord::kMismatch);
  }
  __device__ void fail_rows(int target, std::int64_t rows) {
    if (!claim()) return;
    FailureRecord& record = *context_.failure;
    record.source = target;
    record.other_op = static_cast<std::uint64_t>(rows);
    record.wait.op = op_;
    publish(FailureRecord::kRows);
  }
  __device__ void fail_chunk(const WaitSite& site, std::uint64_t op, int chunk) {
    if (!claim()) return;
    FailureRecord& record = *context_.failure;
    record.wait.site = site;
    record.wait.op = op_;
    record.other_op = op;
    record.chunk = chunk;
    publish(FailureRecord::kChunk);
  }
  [[nodiscard]] __device__ bool failed() const { return ptx::load_acquire(context_.claimed) != 0; }
  [[nodiscard]] __device__ std::uint64_t op() const { return op_; }

 private:
  /// Polls between two looks at abort words and the clock.
  static constexpr std::uint32_t kRoundsPerLook = 64;

  // What is out of line gets values and references to what lies in memory anyway: an executor whose
  // address went there would have to be read again after everything that touches memory.
  static __device__ __noinline__ bool expired_or_aborted(const Context& context,
                                                         const RankView& rank,
                                                         std::uint64_t op,
                                                         std::uint64_t begin,
                                                         const std::uint64_t* word,
                                                         std::uint64_t at_least,
                                                         WaitSite site) {
    if (ptx::load_acquire(context.claimed) != 0 || ptx::load_acquire(context.host_abort) != 0) {
      return true;
    }
    const std::uint64_t abort = ptx::load_acquire(&rank.control(rank.local)->abort);
    if (abort != 0) {
      context.failure->aborted_by = abort;
      return true;
    }
    // A wait for another block of this rank gives that block time to say what it waits for.
    const std::uint64_t limit = context.deadline_ns * (site.peer == rank.rank ? 2 : 1);
    const std::uint64_t waited = ptx::global_timer() - begin;
    if (waited < limit) return false;
    if (claim_failure(context)) {
      context.failure->wait = {site, op, at_least, ptx::load_acquire(word), waited};
      publish_failure(context, rank, FailureRecord::kExpired, site.peer);
    }
    return true;
  }
  /// Waits until the thread's ring has an entry for `index`. Never long: it holds all that may be
  /// posted.
  __device__ bool await_room(std::uint32_t thread, std::uint64_t index) {
    const std::uint64_t size = context_.rings.size;
    std::uint64_t* seen = &context_.rings.pushers[thread].head_seen;
    if (index - ptx::load_acquire(seen) < size) return true;
    const std::uint64_t* head = &context_.rings.heads[thread].index;
    const bool room = wait_until(
        head, index + 1 - size, {record::Phase::kNone, record::WaitReason::kNone, rank_.rank, -1});
    if (room) ptx::store_release(seen, ptx::load_acquire(head));
    return room;
  }

  __device__ bool claim() { return claim_failure(context_); }
  __device__ void publish(FailureRecord::Kind kind) { publish_failure(context_, rank_, kind); }

  const Context& context_;
  const RankView& rank_;
  const Place place_;
  Scratch& scratch_;
  Tables tables_;
  const std::uint64_t op_;
};

}  // namespace shunt::exec::cuda
