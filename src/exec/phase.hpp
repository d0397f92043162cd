// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "exec/descriptor.hpp"
#include "exec/rank_view.hpp"
#include "exec/wait.hpp"

namespace shunt::exec {

/// What a phase may ask of the machine it runs on. Contracts stand at CpuExec; every executor keeps
/// them.
template <typename E>
concept Executor = requires(E& e,
                            std::byte* bytes,
                            std::byte* const* many,
                            std::uint64_t* word,
                            const WaitSite& site,
                            const Descriptor& descriptor) {
  { e.rank() } -> std::convertible_to<const RankView&>;
  { e.block() } -> std::convertible_to<int>;
  { e.blocks() } -> std::convertible_to<int>;
  { e.warp() } -> std::convertible_to<int>;
  { e.warps() } -> std::convertible_to<int>;
  { e.block_leader() } -> std::convertible_to<bool>;
  e.block_sync();
  e.copy(bytes, bytes, std::size_t{});
  e.copy_multi(many, int{}, bytes, std::size_t{});
  { e.wait_until(word, std::uint64_t{}, site) } -> std::convertible_to<bool>;
  e.signal(int{}, word, std::uint64_t{});
  e.signal_self(word, std::uint64_t{});
  { e.last_to_arrive(Word::kSendArrivals) } -> std::convertible_to<bool>;
  e.post(descriptor);
  { e.stamp() } -> std::convertible_to<std::uint64_t>;
  e.span(site, record::SpanKind::kPhase, std::uint64_t{}, std::uint64_t{});
};

/// Records a phase (or a copy, a sum …) of this block from construction to destruction.
template <typename Exec>
class SpanScope {
 public:
  SpanScope(Exec& exec, const WaitSite& site, record::SpanKind kind)
      : exec_(exec), site_(site), kind_(kind), begin_(exec.stamp()) {}
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;
  ~SpanScope() { exec_.span(site_, kind_, begin_, bytes_); }
  void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }

 private:
  Exec& exec_;
  const WaitSite site_;
  const record::SpanKind kind_;
  const std::uint64_t begin_;
  std::uint64_t bytes_ = 0;
};

/// Operations of a rank follow one another: every block waits until the one before has ended here,
/// so that sequence bases are final. Word::kIntraDone holds op + 1 of the latest that ended.
template <Executor Exec>
[[nodiscard]] bool enter_operation(Exec& exec, record::Phase phase) {
  return exec.wait_until(exec.rank().word(Word::kIntraDone),
                         exec.op(),
                         {phase, record::WaitReason::kPeerDone, exec.rank().rank, -1});
}

}  // namespace shunt::exec
