// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// An executor whose blocks have several warps of several lanes, as threads of the CPU: what is
// wrong in the text of a phase for a GPU (done by all lanes where one should, read before all have
// written, met by some only) is wrong here too, and a data race under thread sanitizer. Slow.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "engine/buffer_state.hpp"
#include "exec/phase.hpp"

namespace shunt::testing {

/// Where lanes meet. A lane that does not come, or comes for something else, is an error.
class Meeting {
 public:
  enum class Purpose { kSync, kAgree, kBroadcast, kSum, kPack };
  struct Outcome {
    bool all = true;
    std::int64_t value = 0;
    const char* error = nullptr;
  };

  explicit Meeting(int lanes) : lanes_(lanes) {}

  /// `value` counts from the lane that is the speaker.
  Outcome meet(Purpose purpose, bool ok, std::int64_t value, bool speaker) {
    std::unique_lock lock(mutex_);
    if (arrived_ == 0) {
      purpose_ = purpose;
      all_ = true;
    }
    if (purpose != purpose_) broken_ = "lanes meet for different purposes";
    all_ = all_ && ok;
    if (speaker) value_ = value;
    const std::uint64_t round = round_;
    if (++arrived_ == lanes_ || broken_ != nullptr) {
      outcomes_[round % 2] = {all_, value_, nullptr};
      arrived_ = 0;
      ++round_;
      everybody_.notify_all();
    } else if (!everybody_.wait_for(lock, std::chrono::seconds(kPatience_s), [&] {
                 return round_ != round || broken_ != nullptr;
               })) {
      broken_ = "some lanes of a meeting did not come";
      everybody_.notify_all();
    }
    if (broken_ != nullptr) return {false, 0, broken_};
    // Kept until all lanes have come to the meeting after the next.
    return outcomes_[round % 2];
  }

 private:
  static constexpr int kPatience_s = 200;
  const int lanes_;
  std::mutex mutex_;
  std::condition_variable everybody_;
  Purpose purpose_ = Purpose::kSync;
  int arrived_ = 0;
  bool all_ = true;
  std::int64_t value_ = 0;
  std::uint64_t round_ = 0;
  Outcome outcomes_[2];
  const char* broken_ = nullptr;
};

/// What the lanes of a block share.
struct LockstepBlock {
  LockstepBlock(int warp_count, int lane_count)
      : warps(warp_count), lanes(lane_count), all(warp_count * lane_count) {
    for (int w = 0; w < warps; ++w) {
      warp.push_back(std::make_unique<Meeting>(lanes));
      holds.emplace_back(static_cast<std::size_t>(lanes), 0);
    }
    batches.resize(static_cast<std::size_t>(warps));
  }
  const int warps;
  const int lanes;
  Meeting all;
  std::vector<std::unique_ptr<Meeting>> warp;
  std::vector<std::vector<int>> holds;  ///< [warps][lanes], of warp_pack.
  std::vector<exec::RowBatch> batches;  ///< [warps]
};

/// One lane. Waits, flags, posts and failures are those of the CPU executor.
class LockstepExec {
 public:
  LockstepExec(const exec::cpu::CpuContext& context,
               LockstepBlock& shared,
               exec::cpu::CpuExec inner,
               int warp,
               int lane)
      : context_(context), shared_(shared), inner_(inner), warp_(warp), lane_(lane) {}

  static constexpr bool kInOrder = false;
  static constexpr bool kRowsAhead = true;
  static constexpr bool kPostsFirst = false;

  [[nodiscard]] const exec::RankView& rank() const { return inner_.rank(); }
  [[nodiscard]] int block() const { return inner_.block(); }
  [[nodiscard]] int blocks() const { return inner_.blocks(); }
  [[nodiscard]] int warp() const { return warp_; }
  [[nodiscard]] int warps() const { return shared_.warps; }
  /// All warps of a block share a row, so that slices are tried too.
  [[nodiscard]] int row_warps() const { return shared_.warps; }
  [[nodiscard]] int lane() const { return lane_; }
  [[nodiscard]] int lanes() const { return shared_.lanes; }
  [[nodiscard]] bool warp_leader() const { return lane_ == 0; }
  [[nodiscard]] bool block_leader() const { return warp_ == 0 && lane_ == 0; }

  void block_sync() { (void)meet_block(Meeting::Purpose::kSync, true, 0); }
  void warp_sync() { (void)meet_warp(Meeting::Purpose::kSync, true); }
  [[nodiscard]] bool warp_agree(bool ok) { return meet_warp(Meeting::Purpose::kAgree, ok).all; }
  [[nodiscard]] bool block_agree(bool ok) {
    return meet_block(Meeting::Purpose::kAgree, ok, 0).all;
  }
  [[nodiscard]] std::int64_t block_broadcast(std::int64_t value) {
    const Meeting::Outcome outcome = meet_block(Meeting::Purpose::kBroadcast, true, value);
    return outcome.error == nullptr ? outcome.value : -2;
  }
  [[nodiscard]] std::uint64_t block_total(std::uint64_t of_warp) const { return of_warp; }
  [[nodiscard]] exec::Packed warp_pack(bool own) {
    std::vector<int>& holds = shared_.holds[static_cast<std::size_t>(warp_)];
    holds[static_cast<std::size_t>(lane_)] = own ? 1 : 0;
    (void)meet_warp(Meeting::Purpose::kPack, true);
    exec::Packed packed;
    for (int l = 0; l < lanes(); ++l) {
      packed.all += holds[static_cast<std::size_t>(l)];
      if (l < lane_) packed.before += holds[static_cast<std::size_t>(l)];
    }
    (void)meet_warp(Meeting::Purpose::kPack, true);
    return packed;
  }
  [[nodiscard]] exec::RowTarget* target_table(exec::RowTarget* memory) const { return memory; }
  [[nodiscard]] exec::RowBatch& row_batch(exec::RowBatch& /*memory*/) const {
    return shared_.batches[static_cast<std::size_t>(warp_)];
  }
  [[nodiscard]] std::int64_t draw_unit() const { return 0; }
  [[nodiscard]] std::int64_t next_unit(std::int64_t unit, std::int64_t /*ticket*/) const {
    return unit + static_cast<std::int64_t>(blocks()) * warps();
  }
  [[nodiscard]] exec::SumTerm* term_scratch(exec::SumTerm* memory) const { return memory; }

  void copy(std::byte* dst, const std::byte* src, std::size_t bytes) {
    copy_multi(&dst, 1, src, bytes);
  }
  void copy_small(std::byte* dst, const std::byte* src, std::size_t bytes) {
    stripe(bytes, 4, [&](std::size_t at) { std::memcpy(dst + at, src + at, 4); });
  }
  void copy_multi(std::byte* const* dst, int count, const std::byte* src, std::size_t bytes) {
    stripe(bytes, 16, [&](std::size_t at) {
      for (int d = 0; d < count; ++d) std::memcpy(dst[d] + at, src + at, 16);
    });
  }
  void sum(std::byte* dst,
           std::span<const exec::SumTerm> terms,
           std::size_t elements,
           exec::SumTypes types) {
    (void)meet_warp(Meeting::Purpose::kSum, true);
    constexpr std::size_t kGroup = 8;
    std::vector<exec::SumTerm> shifted(terms.begin(), terms.end());
    for (auto e = static_cast<std::size_t>(lane_) * kGroup; e < elements;
         e += static_cast<std::size_t>(lanes()) * kGroup) {
      for (std::size_t t = 0; t < terms.size(); ++t) {
        shifted[t].data = terms[t].data + e * size_of(terms[t].type);
      }
      context_.kernels->sum(
          dst + e * size_of(types.output), shifted, std::min(kGroup, elements - e), types);
    }
    (void)meet_warp(Meeting::Purpose::kSum, true);
  }

  void sum_stream(std::byte* dst,
                  std::span<const exec::SumTerm> terms,
                  std::size_t elements,
                  exec::SumTypes types) {
    sum(dst, terms, elements, types);
  }

  [[nodiscard]] std::uint64_t load(const std::uint64_t* word) const { return inner_.load(word); }
  [[nodiscard]] bool wait_until(const std::uint64_t* word,
                                std::uint64_t at_least,
                                const exec::WaitSite& site) {
    return inner_.wait_until(word, at_least, site);
  }
  template <typename Done>
  [[nodiscard]] bool wait_any(Done&& done,
                              const std::uint64_t* word,
                              std::uint64_t at_least,
                              const exec::WaitSite& site) {
    return inner_.wait_any(std::forward<Done>(done), word, at_least, site);
  }
  void signal(int local, std::uint64_t* word, std::uint64_t value) {
    inner_.signal(local, word, value);
  }
  void signal_line(int local, std::uint64_t* to, const std::uint64_t* words) {
    inner_.signal_line(local, to, words);
  }
  void prefetch(const void* at) const { inner_.prefetch(at); }
  void signal_self(std::uint64_t* word, std::uint64_t value) { inner_.signal_self(word, value); }
  /// As a device does it, though the CPU does not.
  [[nodiscard]] bool adds_at_peers() const { return true; }
  void signal_add(int local, std::uint64_t* word, std::uint64_t value) {
    inner_.signal_add(local, word, value);
  }
  void end_operation() { inner_.end_operation(); }
  [[nodiscard]] bool last_to_arrive(exec::Word counter) {
    block_sync();
    return block_broadcast(block_leader() && inner_.last_to_arrive(counter) ? 1 : 0) == 1;
  }
  [[nodiscard]] std::uint32_t subtract(std::uint32_t* counter, std::uint32_t amount) {
    return inner_.subtract(counter, amount);
  }
  void post(const exec::Descriptor& descriptor) { inner_.post(descriptor); }

  [[nodiscard]] bool recording() const { return false; }
  [[nodiscard]] std::uint64_t stamp() const { return 0; }
  [[nodiscard]] std::uint64_t entered() const { return 0; }
  void span(const exec::WaitSite&, record::SpanKind, std::uint64_t, std::uint64_t, std::uint64_t) {}
  using Waited = exec::cpu::CpuExec::Waited;
  [[nodiscard]] bool wait_until(const std::uint64_t* word,
                                std::uint64_t at_least,
                                const exec::WaitSite& site,
                                Waited& /*waited*/) {
    return inner_.wait_until(word, at_least, site);
  }
  template <typename Done>
  [[nodiscard]] bool wait_any(Done&& done,
                              const std::uint64_t* word,
                              std::uint64_t at_least,
                              const exec::WaitSite& site,
                              Waited& /*waited*/) {
    return inner_.wait_any(std::forward<Done>(done), word, at_least, site);
  }
  void write_wait(Waited& /*waited*/) {}

  void fail_mismatch(int source, std::uint64_t op, std::uint64_t hash, std::uint64_t own_hash) {
    inner_.fail_mismatch(source, op, hash, own_hash);
  }
  void fail_rows(int target, std::int64_t rows) { inner_.fail_rows(target, rows); }
  void fail_chunk(const exec::WaitSite& site, std::uint64_t op, int chunk) {
    inner_.fail_chunk(site, op, chunk);
  }
  [[nodiscard]] bool failed() const { return inner_.failed(); }
  [[nodiscard]] std::uint64_t op() const { return inner_.op(); }

 private:
  template <typename Move>
  void stripe(std::size_t bytes, std::size_t unit, Move&& move) const {
    for (auto at = static_cast<std::size_t>(lane_) * unit; at < bytes;
         at += static_cast<std::size_t>(lanes()) * unit) {
      move(at);
    }
  }
  Meeting::Outcome checked(const Meeting::Outcome& outcome) {
    if (outcome.error != nullptr) {
      context_.on_failure(
          Error{ErrorCode::kInternal,
                ErrorScope::kFatal,
                fmt::format("block {} warp {} lane {}: {}", block(), warp_, lane_, outcome.error),
                0});
    }
    return outcome;
  }
  Meeting::Outcome meet_block(Meeting::Purpose purpose, bool ok, std::int64_t value) {
    return checked(shared_.all.meet(purpose, ok, value, block_leader()));
  }
  Meeting::Outcome meet_warp(Meeting::Purpose purpose, bool ok) {
    return checked(shared_.warp[static_cast<std::size_t>(warp_)]->meet(purpose, ok, 0, lane_ == 0));
  }

  const exec::cpu::CpuContext& context_;
  LockstepBlock& shared_;
  exec::cpu::CpuExec inner_;
  const int warp_;
  const int lane_;
};
static_assert(exec::Executor<LockstepExec>);

/// Makes a Buffer run its blocks as `warps` warps of `lanes` lanes.
inline void run_in_lockstep(engine::BufferHooks& hooks, int warps, int lanes) {
  hooks.warps = warps;
  hooks.run_role = [warps, lanes](const exec::cpu::CpuContext& context,
                                  const engine::Operation& operation,
                                  const engine::Block& block,
                                  int blocks) {
    LockstepBlock shared(warps, lanes);
    std::atomic<int> last{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < warps * lanes; ++i) {
      threads.emplace_back([&, i] {
        exec::cpu::CpuExec inner(context, block.index, blocks, nullptr);
        inner.begin(operation.op);
        LockstepExec exec(context, shared, inner, i / lanes, i % lanes);
        const bool ended = operation.kind == engine::Operation::Kind::kDispatch
                               ? engine::run_role(exec, block.role, operation.dispatch)
                               : engine::run_role(exec, block.role, operation.combine);
        last += ended ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return last.load() == warps * lanes;
  };
}

}  // namespace shunt::testing
