// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU executor: one block is one thread with one warp of one lane. Supplies what phases use:
// block and warp ids, copy, sum, wait_until, signal, post, spans. in: CpuContext of the rank, role
// and block → out: Exec, handed to the phase templates of dispatch/ and combine/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "exec/cpu/descriptor_ring.hpp"
#include "exec/cpu/flags.hpp"
#include "exec/cpu/kernels.hpp"
#include "exec/failure.hpp"
#include "exec/rank_view.hpp"
#include "exec/targets.hpp"
#include "exec/wait.hpp"
#include "record/lane.hpp"

namespace shunt::exec::cpu {

/// A progress thread as blocks reach it.
struct ProgressPort {
  DescriptorRing* ring = nullptr;
  std::atomic<bool>* sleeps = nullptr;
  std::function<void()> wake;  ///< Called only when `sleeps` is set.
};

/// What all blocks of one rank share. Set up before any block runs; outlives them.
struct CpuContext {
  RankView rank;
  std::vector<ProgressPort> progress;  ///< Peers are dealt out by PeerShare::thread_of.
  FailureBox* failure = nullptr;
  std::function<void(Error)> on_failure;        ///< Called once per failed wait, from the block.
  std::function<void(std::uint64_t)> on_abort;  ///< The own heap's abort word is set.
  std::uint64_t deadline_ns = 0;                ///< Of every single wait.
  const Kernels* kernels = nullptr;
};

/// One block of one operation. Used by one thread.
class CpuExec {
 public:
  CpuExec(const CpuContext& context, int block, int blocks, record::Lane* lane)
      : context_(context), block_(block), blocks_(blocks), lane_(lane) {}

  /// Whether operations cannot overlap by themselves, so that none needs to wait for its turn.
  static constexpr bool kInOrder = false;
  /// Whether it knows of rows that come ahead; if not, there are none.
  static constexpr bool kRowsAhead = true;
  /// Whether a rank has posted before its blocks take up their roles.
  static constexpr bool kPostsFirst = false;

  void begin(std::uint64_t op) { op_ = op; }

  [[nodiscard]] const RankView& rank() const { return context_.rank; }
  [[nodiscard]] int block() const { return block_; }
  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] int warp() const { return 0; }
  [[nodiscard]] int warps() const { return 1; }
  /// Warps that share a row; divides warps().
  [[nodiscard]] int row_warps() const { return 1; }
  /// True on the one lane that does scalar work for its block; warp_leader() for its warp.
  [[nodiscard]] bool block_leader() const { return true; }
  [[nodiscard]] bool warp_leader() const { return true; }
  [[nodiscard]] int lane() const { return 0; }
  [[nodiscard]] int lanes() const { return 1; }
  /// All warps of the block meet; their stores are visible to each other after it.
  void block_sync() {}
  /// The same for the lanes of a warp.
  void warp_sync() {}
  /// Meet, and learn whether all said true.
  [[nodiscard]] bool warp_agree(bool ok) const { return ok; }
  [[nodiscard]] bool block_agree(bool ok) const { return ok; }
  /// Meet, and learn what the block's leader says.
  [[nodiscard]] std::int64_t block_broadcast(std::int64_t value) const { return value; }
  /// The sum over the warps of the block, for a record; any number while recording is off.
  [[nodiscard]] std::uint64_t block_total(std::uint64_t of_warp) const { return of_warp; }

  /// Where this lane stands among those of its warp that said true.
  [[nodiscard]] Packed warp_pack(bool holds) const { return {0, holds ? 1 : 0}; }

  /// Fast memory of this block, of this warp, or what is given if there is none faster.
  [[nodiscard]] RowTarget* target_table(RowTarget* memory) const { return memory; }
  [[nodiscard]] RowBatch& row_batch(RowBatch& memory) const { return memory; }
  /// Fast memory of this warp for the terms of a sum, or `memory` if there is none faster.
  [[nodiscard]] SumTerm* term_scratch(SumTerm* memory) const { return memory; }

  /// Copies that somebody reads soon (staging): through the cache.
  void copy(std::byte* dst, const std::byte* src, std::size_t bytes) {
    __builtin_memcpy(dst, src, bytes);
  }
  /// Ids, weights: multiples of 4 bytes.
  void copy_small(std::byte* dst, const std::byte* src, std::size_t bytes) {
    __builtin_memcpy(dst, src, bytes);
  }
  void copy_multi(std::byte* const* dst, int count, const std::byte* src, std::size_t bytes) {
    context_.kernels->copy_multi(dst, count, src, bytes);
  }
  /// Sums that somebody reads soon (staging): through the cache.
  void sum(std::byte* dst, std::span<const SumTerm> terms, std::size_t elements, SumTypes types) {
    context_.kernels->sum(dst, terms, elements, types);
  }
  /// Sums that nobody reads soon: past the caches.
  void sum_stream(std::byte* dst,
                  std::span<const SumTerm> terms,
                  std::size_t elements,
                  SumTypes types) {
    context_.kernels->sum_stream(dst, terms, elements, types);
  }

  /// `at` will be read soon. A hint, and no harm where nothing lies there.
  void prefetch(const void* at) const { __builtin_prefetch(at); }

  [[nodiscard]] std::uint64_t load(const std::uint64_t* word) const { return load_acquire(word); }

  /// Waits until `*word` ≥ `at_least`; all waited-on words lie in the own heap or among the own
  /// words. False once the operation has failed anywhere: the caller leaves at once.
  [[nodiscard]] bool wait_until(const std::uint64_t* word,
                                std::uint64_t at_least,
                                const WaitSite& site) {
    if (load_acquire(word) >= at_least) return true;
    return wait_any([=] { return load_acquire(word) >= at_least; }, word, at_least, site);
  }

  /// The same for any condition over such words; `word` and `at_least` are what an expiry reports.
  template <typename Done>
  [[nodiscard]] bool wait_any(Done&& done,
                              const std::uint64_t* word,
                              std::uint64_t at_least,
                              const WaitSite& site) {
    if (done()) return true;
    Waiting waiting(*this, word, at_least, site);
    while (!done()) {
      if (!waiting.step([&] { return done(); })) return false;
    }
    waiting.end();
    return true;
  }

  /// Everything stored so far by this block is visible to who acquires `value` in `word` of the
  /// heap of node peer `local`.
  void signal(int local, std::uint64_t* word, std::uint64_t value) {
    __builtin_ia32_sfence();  // Non-temporal stores are not ordered by release alone.
    store_release(word, value);
    ring_bell(context_.rank.control(local));
  }
  /// What was there before this operation is visible to who acquires any of the words of a
  /// memory::PostingLine. They may be seen one by one: each tells by itself that it is new.
  void signal_line(int local, std::uint64_t* to, const std::uint64_t* words) {
    __builtin_ia32_sfence();
    for (int w = 0; w < memory::PostingLine::kWords; ++w) store_release(to + w, words[w]);
    ring_bell(context_.rank.control(local));
  }
  void signal_self(std::uint64_t* word, std::uint64_t value) {
    signal(context_.rank.local, word, value);
  }

  /// Whether blocks tell the peers one by one, by signal_add. Here they are few, and waking a
  /// sleeper once is better than several times: the last of them tells.
  [[nodiscard]] bool adds_at_peers() const { return false; }
  /// As signal, to a word that several blocks add to.
  void signal_add(int local, std::uint64_t* word, std::uint64_t value) {
    __builtin_ia32_sfence();
    std::atomic_ref<std::uint64_t>(*word).fetch_add(value, std::memory_order_release);
    ring_bell(context_.rank.control(local));
  }

  /// The last thing that the blocks of a rank do in an operation, for those behind it.
  void end_operation() { signal_self(context_.rank.word(Word::kIntraDone), op_ + 1); }

  /// This block has ended its part of a role. True for the last of `blocks()`: what all of them
  /// stored is visible to it.
  [[nodiscard]] bool last_to_arrive(Word counter) {
    __builtin_ia32_sfence();
    const std::uint64_t before = std::atomic_ref<std::uint64_t>(*context_.rank.word(counter))
                                     .fetch_add(1, std::memory_order_acq_rel);
    return (before + 1) % static_cast<std::uint64_t>(blocks_) == 0;
  }
  /// Which unit of work a warp gets next (for_my_rows): draw before working on `unit`, so that the
  /// answer is there when it ends.
  [[nodiscard]] std::int64_t draw_unit() { return 0; }
  [[nodiscard]] std::int64_t next_unit(std::int64_t unit, std::int64_t /*ticket*/) const {
    return unit + blocks_;
  }
  /// Subtracts from a counter in rank-private memory; returns what is left.
  [[nodiscard]] std::uint32_t subtract(std::uint32_t* counter, std::uint32_t amount) {
    return std::atomic_ref<std::uint32_t>(*counter).fetch_sub(amount, std::memory_order_acq_rel) -
           amount;
  }

  /// Hands a descriptor to its peer's progress thread; staging stores of the block come before it.
  void post(const Descriptor& descriptor);

  /// Spans. begin and end from stamp(), end 0 for now; does nothing while recording is off.
  [[nodiscard]] bool recording() const { return lane_ != nullptr; }
  [[nodiscard]] std::uint64_t stamp() const { return lane_ != nullptr ? now_ns() : 0; }
  /// When this block began the operation: now, or, where it has done something before its role
  /// (kPostsFirst), before that.
  [[nodiscard]] std::uint64_t entered() const { return stamp(); }
  void span(const WaitSite& site,
            record::SpanKind kind,
            std::uint64_t begin,
            std::uint64_t bytes,
            std::uint64_t end = 0) {
    if (lane_ != nullptr) write_span(site, kind, begin, bytes, end != 0 ? end : now_ns());
  }

  /// A wait whose span is written later. Here it is written at once.
  struct Waited {};
  [[nodiscard]] bool wait_until(const std::uint64_t* word,
                                std::uint64_t at_least,
                                const WaitSite& site,
                                Waited& /*waited*/) {
    return wait_until(word, at_least, site);
  }
  template <typename Done>
  [[nodiscard]] bool wait_any(Done&& done,
                              const std::uint64_t* word,
                              std::uint64_t at_least,
                              const WaitSite& site,
                              Waited& /*waited*/) {
    return wait_any(std::forward<Done>(done), word, at_least, site);
  }
  void write_wait(Waited& /*waited*/) {}

  /// The operation cannot go on: what a rank sent does not belong to this operation.
  void fail_mismatch(int source, std::uint64_t op, std::uint64_t hash, std::uint64_t own_hash);
  void fail_rows(int target, std::int64_t rows);
  void fail_chunk(const WaitSite& site, std::uint64_t op, int chunk);
  [[nodiscard]] bool failed() const { return context_.failure->failed(); }
  [[nodiscard]] std::uint64_t op() const { return op_; }

 private:
  /// A wait in progress: spins, then yields, then sleeps on the bell, until its deadline.
  class Waiting {
   public:
    Waiting(CpuExec& exec, const std::uint64_t* word, std::uint64_t at_least, const WaitSite& site)
        : exec_(exec), word_(word), at_least_(at_least), site_(site), begin_(now_ns()) {}
    /// Lets some time pass. False when the wait has failed.
    template <typename Done>
    [[nodiscard]] bool step(Done&& done) {
      if (!pause()) return true;
      if (expired_or_aborted()) return false;
      sleep_on_bell(exec_.context_.rank.control(exec_.context_.rank.local), kNap_ns, [&] {
        return done() || exec_.aborted();
      });
      return true;
    }
    void end();

   private:
    /// Burns or gives away a moment; true once it is time to sleep.
    bool pause();
    bool expired_or_aborted();

    CpuExec& exec_;
    const std::uint64_t* word_;
    std::uint64_t at_least_;
    const WaitSite& site_;
    std::uint64_t begin_;
    int rounds_ = 0;
  };
  /// Longest sleep before abort words and deadlines are looked at again.
  static constexpr std::uint64_t kNap_ns = 20'000'000;

  bool aborted() const;

  void write_span(const WaitSite& site,
                  record::SpanKind kind,
                  std::uint64_t begin,
                  std::uint64_t bytes,
                  std::uint64_t end);

  const CpuContext& context_;
  const int block_;
  const int blocks_;
  record::Lane* const lane_;
  std::uint64_t op_ = 0;
};

}  // namespace shunt::exec::cpu
