// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/exec.hpp"

#include <sched.h>

#include <algorithm>

#include <fmt/format.h>

namespace shunt::exec::cpu {
namespace {

// A wait spins this often (about a microsecond), then gives the core away, then sleeps: ranks may
// share cores, and the one waited for may need this one.
constexpr int kSpins = 64;
constexpr int kYields = 4;
// Longest sleep before abort words and deadlines are looked at again.
constexpr std::uint64_t kNap_ns = 20'000'000;

}  // namespace

bool CpuExec::aborted() const {
  if (context_.failure->failed()) return true;
  const std::uint64_t word = load_acquire(&context_.rank.control(context_.rank.local)->abort);
  if (word == 0) return false;
  context_.on_abort(word);
  return true;
}

bool CpuExec::wait_slow(const std::uint64_t* word, std::uint64_t at_least, const WaitSite& site) {
  const std::uint64_t begin = now_ns();
  const auto done = [&] { return load_acquire(word) >= at_least; };
  bool reached = false;
  for (int i = 0; i < kSpins && !reached; ++i) {
    __builtin_ia32_pause();
    reached = done();
  }
  for (int i = 0; i < kYields && !reached; ++i) {
    ::sched_yield();
    reached = done();
  }
  while (!reached) {
    if (aborted()) return false;
    const std::uint64_t waited = now_ns() - begin;
    if (waited >= context_.deadline_ns) {
      const WaitFailure failure{site, op_, at_least, load_acquire(word), waited};
      context_.on_failure(describe(failure, context_.rank.shape, context_.rank.rank));
      return false;
    }
    sleep_on_bell(context_.rank.control(context_.rank.local),
                  std::min(kNap_ns, context_.deadline_ns - waited),
                  [&] { return done() || aborted(); });
    reached = done();
  }
  if (lane_ != nullptr) write_span(site, record::SpanKind::kWait, begin, 0);
  return true;
}

void CpuExec::post(const Descriptor& descriptor) {
  __builtin_ia32_sfence();
  while (!context_.ring->try_push(descriptor)) {
    if (aborted()) return;
    ::sched_yield();
  }
  if (context_.proxy_sleeps->load(std::memory_order_seq_cst)) context_.wake_proxy();
}

void CpuExec::fail_mismatch(int source,
                            std::uint64_t op,
                            std::uint64_t hash,
                            std::uint64_t own_hash) {
  context_.on_failure(
      Error{ErrorCode::kProtocol,
            ErrorScope::kFatal,
            fmt::format("rank {} issues operation {} with parameters {:016x} where rank {} issues "
                        "operation {} with {:016x}; all ranks must issue the same operations",
                        source,
                        op,
                        hash,
                        context_.rank.rank,
                        op_,
                        own_hash),
            0});
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
                         std::uint64_t bytes) {
  record::Span span;
  span.begin_ns = begin;
  span.end_ns = now_ns();
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
