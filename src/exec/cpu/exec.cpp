// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/exec.hpp"

#include <sched.h>

#include <algorithm>

#include <fmt/format.h>

#include "exec/peer_share.hpp"

namespace shunt::exec::cpu {
namespace {

// A wait spins this often (about a microsecond), then gives the core away, then sleeps: ranks may
// share cores, and the one waited for may need this one.
constexpr int kSpins = 64;
constexpr int kYields = 4;

}  // namespace

bool CpuExec::aborted() const {
  if (context_.failure->failed()) return true;
  const std::uint64_t word = load_acquire(&context_.rank.control(context_.rank.local)->abort);
  if (word == 0) return false;
  context_.on_abort(word);
  return true;
}

bool CpuExec::Waiting::pause() {
  ++rounds_;
  if (rounds_ <= kSpins) {
    __builtin_ia32_pause();
  } else if (rounds_ <= kSpins + kYields) {
    ::sched_yield();
  } else {
    return true;
  }
  return false;
}

bool CpuExec::Waiting::expired_or_aborted() {
  if (exec_.aborted()) return true;
  const CpuContext& context = exec_.context_;
  // A wait for another block of this rank gives that block time to say what it waits for.
  const std::uint64_t limit = context.deadline_ns * (site_.peer == context.rank.rank ? 2 : 1);
  const std::uint64_t waited = now_ns() - begin_;
  if (waited < limit) return false;
  const WaitFailure failure{site_, exec_.op_, at_least_, load_acquire(word_), waited};
  context.on_failure(describe(failure, context.rank.shape, context.rank.rank));
  return true;
}

void CpuExec::Waiting::end() {
  if (exec_.lane_ != nullptr && site_.recorded) {
    exec_.write_span(site_, record::SpanKind::kWait, begin_, 0, now_ns());
  }
}

void CpuExec::post(const Descriptor& descriptor) {
  __builtin_ia32_sfence();
  const auto threads = static_cast<std::uint32_t>(context_.progress.size());
  const ProgressPort& port = context_.progress[PeerShare::thread_of(descriptor.peer, threads)];
  while (!port.ring->try_push(descriptor)) {
    if (aborted()) return;
    ::sched_yield();
  }
  if (port.sleeps->load(std::memory_order_seq_cst)) port.wake();
}

void CpuExec::fail_mismatch(int source,
                            std::uint64_t op,
                            std::uint64_t hash,
                            std::uint64_t own_hash) {
  context_.on_failure(describe_mismatch(source, op, hash, context_.rank.rank, op_, own_hash));
}

void CpuExec::fail_rows(int target, std::int64_t rows) {
  context_.on_failure(describe_too_many_rows(op_, target, rows));
}

void CpuExec::fail_chunk(const WaitSite& site, std::uint64_t op, int chunk) {
  context_.on_failure(
      Error{ErrorCode::kProtocol,
            ErrorScope::kFatal,
            fmt::format("rank {} got chunk {} of operation {} from rank {} in {} where chunk {} of "
                        "operation {} belongs",
                        context_.rank.rank,
                        chunk,
                        op,
                        site.peer,
                        to_string(site.phase),
                        site.chunk,
                        op_),
            0});
}

void CpuExec::write_span(const WaitSite& site,
                         record::SpanKind kind,
                         std::uint64_t begin,
                         std::uint64_t bytes,
                         std::uint64_t end) {
  record::Span span;
  span.begin_ns = begin;
  span.end_ns = end;
  span.bytes = bytes;
  span.op = static_cast<std::uint32_t>(op_);
  span.peer = site.peer;
  span.chunk = site.chunk;
  span.phase = site.phase;
  span.block = static_cast<std::uint16_t>(block_);
  span.kind = kind;
  span.reason = site.reason;
  lane_->push(span);
}

}  // namespace shunt::exec::cpu
