// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/host_device.hpp"
#include "exec/descriptor.hpp"
#include "exec/rank_view.hpp"
#include "exec/targets.hpp"
#include "exec/wait.hpp"

namespace shunt::exec {

/// What a phase may ask of the machine it runs on. Contracts stand at CpuExec; every executor keeps
/// them. Roles are entered by all lanes of all warps of a block. Collective over the block:
/// block_sync, block_agree, block_broadcast, block_total, last_to_arrive; over the warp: warp_sync,
/// warp_agree, copy, copy_small, copy_multi, sum, sum_stream. All else (waits, signals, posts,
/// failures) is one lane's own doing: text that must happen once says whose.
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
  { e.row_warps() } -> std::convertible_to<int>;
  { e.lane() } -> std::convertible_to<int>;
  { e.lanes() } -> std::convertible_to<int>;
  { e.warp_leader() } -> std::convertible_to<bool>;
  { e.block_leader() } -> std::convertible_to<bool>;
  e.warp_sync();
  e.block_sync();
  { e.warp_agree(true) } -> std::convertible_to<bool>;
  { e.block_agree(true) } -> std::convertible_to<bool>;
  { e.block_broadcast(std::int64_t{}) } -> std::convertible_to<std::int64_t>;
  { e.block_total(std::uint64_t{}) } -> std::convertible_to<std::uint64_t>;
  e.copy(bytes, bytes, std::size_t{});
  e.copy_multi(many, int{}, bytes, std::size_t{});
  typename E::Waited;
  { e.wait_until(word, std::uint64_t{}, site) } -> std::convertible_to<bool>;
  e.signal(int{}, word, std::uint64_t{});
  e.signal_self(word, std::uint64_t{});
  { e.adds_at_peers() } -> std::convertible_to<bool>;
  e.signal_add(int{}, word, std::uint64_t{});
  e.end_operation();
  e.prefetch(bytes);
  { e.last_to_arrive(Word::kSendArrivals) } -> std::convertible_to<bool>;
  { e.next_unit(std::int64_t{}, e.draw_unit()) } -> std::convertible_to<std::int64_t>;
  e.post(descriptor);
  { e.stamp() } -> std::convertible_to<std::uint64_t>;
  { e.entered() } -> std::convertible_to<std::uint64_t>;
  e.span(site, record::SpanKind::kPhase, std::uint64_t{}, std::uint64_t{}, std::uint64_t{});
};

/// Records a phase (or a copy, a sum …) from construction to destruction: a phase of this block, a
/// copy or a sum of this warp, with the bytes of either. Several lanes may come along; one writes.
template <typename Exec>
class SpanScope {
 public:
  SHUNT_DEVICE SpanScope(Exec& exec, const WaitSite& site, record::SpanKind kind)
      : SpanScope(exec, site, kind, exec.stamp()) {}
  SHUNT_DEVICE SpanScope(Exec& exec,
                         const WaitSite& site,
                         record::SpanKind kind,
                         std::uint64_t begin)
      : exec_(exec), site_(site), kind_(kind), begin_(begin) {}
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;
  SHUNT_DEVICE ~SpanScope() { exec_.span(site_, kind_, begin_, bytes_, end_); }
  /// It ends here, and is written later: a store stands in the way of the release that follows.
  SHUNT_DEVICE void stop() { end_ = exec_.stamp(); }
  SHUNT_DEVICE void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }

 private:
  Exec& exec_;
  const WaitSite site_;
  const record::SpanKind kind_;
  const std::uint64_t begin_;
  std::uint64_t bytes_ = 0;
  std::uint64_t end_ = 0;  ///< 0: not stopped.
};

/// Waits of one warp: its lanes share wait(0) … wait(count − 1) among them. True on all lanes once
/// all have been true; false on all where one has failed.
template <Executor Exec, typename Wait>
[[nodiscard]] SHUNT_DEVICE bool warp_waits(Exec& exec, std::int64_t count, Wait&& wait) {
  bool ok = true;
  for (std::int64_t i = exec.lane(); ok && i < count; i += exec.lanes()) ok = wait(i);
  return exec.warp_agree(ok);
}

/// The same for a whole block: its first warp waits, wait(i, waited), and all warps get the result
/// and see what it saw. What a wait leaves in `waited` is recorded once the other warps have gone
/// on.
template <Executor Exec, typename Wait>
[[nodiscard]] SHUNT_DEVICE bool block_waits(Exec& exec, std::int64_t count, Wait&& wait) {
  bool ok = true;
  typename Exec::Waited waited;
  if (exec.warp() == 0) {
    for (std::int64_t i = exec.lane(); ok && i < count; i += exec.lanes()) {
      if (i >= exec.lanes()) exec.write_wait(waited);
      ok = wait(i, waited);
    }
    ok = exec.warp_agree(ok);
  }
  ok = exec.block_agree(ok);
  exec.write_wait(waited);
  return ok;
}

/// A whole block waits for one word.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool block_wait(Exec& exec,
                                           const std::uint64_t* word,
                                           std::uint64_t at_least,
                                           const WaitSite& site) {
  return block_waits(exec, 1, [&](std::int64_t, auto& waited) {
    return exec.wait_until(word, at_least, site, waited);
  });
}

/// What of a row falls to a warp: one of `slices` equal slices, since several warps may share it.
struct RowShare {
  int slice = 0;
  int slices = 1;
};

/// The row with which this warp begins in for_my_rows; it may lie behind the list.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE std::int64_t first_row(Exec& exec) {
  return (static_cast<std::int64_t>(exec.warp()) * exec.blocks() + exec.block()) / exec.row_warps();
}

/// The rows of a list as units of work: each in `slices`, the last `tail` rows in `tail_slices`.
struct RowUnits {
  std::int64_t rows = 0;
  std::int64_t tail = 0;
  int slices = 1;
  int tail_slices = 1;

  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t whole() const { return (rows - tail) * slices; }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t count() const {
    return whole() + tail * tail_slices;
  }
  [[nodiscard]] SHUNT_HOST_DEVICE std::int64_t row(std::int64_t unit) const {
    return unit < whole() ? unit / slices : rows - tail + (unit - whole()) / tail_slices;
  }
  [[nodiscard]] SHUNT_HOST_DEVICE RowShare share(std::int64_t unit) const {
    if (unit < whole()) return {static_cast<int>(unit % slices), slices};
    return {static_cast<int>((unit - whole()) % tail_slices), tail_slices};
  }
};

/// One row for every warp at the end of a list of `rows` in `tail_slices`, so that all warps end at
/// about the same time; all rows alike where they are few, or sliced as much anyway.
template <typename Exec>
[[nodiscard]] SHUNT_DEVICE RowUnits units_of(const Exec& exec, std::int64_t rows, int tail_slices) {
  const int slices = exec.row_warps();
  const std::int64_t warps = static_cast<std::int64_t>(exec.blocks()) * exec.warps();
  if (slices >= tail_slices || rows < 2 * warps) return {rows, 0, slices, slices};
  return {rows, warps, slices, tail_slices};
}

/// Visits the rows of a list that fall to this warp: visit(row, share), false to stop. The role is
/// one of several blocks that all call this once. A warp's first row is fixed, spread over the
/// blocks; which others it gets is the executor's choice, and no result depends on it. The last
/// rows may come in `tail_slices`. Returns whether no visit stopped.
template <Executor Exec, typename Visit>
[[nodiscard]] SHUNT_DEVICE bool for_my_rows(Exec& exec,
                                            std::int64_t rows,
                                            int tail_slices,
                                            Visit&& visit) {
  const RowUnits units = units_of(exec, rows, tail_slices);
  const std::int64_t count = units.count();
  std::int64_t unit = static_cast<std::int64_t>(exec.warp()) * exec.blocks() + exec.block();
  while (unit < count) {
    const auto ticket = exec.draw_unit();
    if (!visit(units.row(unit), units.share(unit))) return false;
    unit = exec.next_unit(unit, ticket);
  }
  return true;
}

/// [begin, begin + count) of `total` units; slices begin at multiples of `grain`.
struct Slice {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

[[nodiscard]] SHUNT_HOST_DEVICE inline Slice slice_of(const RowShare& share,
                                                      std::uint64_t total,
                                                      std::uint64_t grain) {
  if (share.slices == 1) return {0, total};
  const auto slices = static_cast<std::uint64_t>(share.slices);
  const std::uint64_t grains = (total + grain - 1) / grain;
  const std::uint64_t size = (grains + slices - 1) / slices * grain;
  const std::uint64_t begin = static_cast<std::uint64_t>(share.slice) * size;
  if (begin >= total) return {};
  return {begin, total - begin < size ? total - begin : size};
}

/// Operations of a rank follow one another: every block waits until the one before has ended here,
/// so that sequence bases are final. Word::kIntraDone holds op + 1 of the latest that ended.
template <Executor Exec>
[[nodiscard]] SHUNT_DEVICE bool enter_operation(Exec& exec, record::Phase phase) {
  if constexpr (Exec::kInOrder) return true;
  return block_wait(exec,
                    exec.rank().word(Word::kIntraDone),
                    exec.op(),
                    {phase, record::WaitReason::kPeerDone, exec.rank().rank, -1});
}

/// The end of a role, on the last of its blocks to arrive: advances `sequences` by what the
/// operation has used of each peer's channel, used(peer), and says so. Whole block.
template <Executor Exec, typename Used>
SHUNT_DEVICE void end_role(Exec& exec, std::uint64_t* sequences, Word done, Used&& used) {
  if (!exec.block_leader()) return;
  for (int p = 0; p < exec.rank().peers(); ++p) {
    sequences[p] += static_cast<std::uint64_t>(used(p));
  }
  exec.signal_self(exec.rank().word(done), exec.op() + 1);
}

}  // namespace shunt::exec
