// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/alarm.hpp"

#include <utility>

#include "base/error.hpp"
#include "exec/cpu/flags.hpp"

namespace shunt::engine {

using exec::cpu::load_acquire;
using exec::cpu::ring_bell;
using exec::cpu::store_release;

void Alarm::raise(Error error, ControlCode code, int rank) {
  if (!options_.failure->report(std::move(error))) return;
  const std::uint64_t word = abort_word(code, rank);
  word_.store(word, std::memory_order_release);
  for (int l = 0; l < options_.rank.shape.ranks_per_node; ++l) {
    memory::Control* control = options_.rank.control(l);
    if (load_acquire(&control->abort) == 0) store_release(&control->abort, word);
    ring_bell(control);
  }
  if (options_.on_abort) options_.on_abort(word);
  wake_();
}

void Alarm::absorb(std::uint64_t word) {
  if (options_.own_failure) options_.own_failure();
  if (failed()) return;
  const auto code = static_cast<ControlCode>(word >> 32);
  const int subject = static_cast<int>(word & 0xffff'ffffU) - 1;
  const auto tell = [&](std::string text) {
    raise(Error{ErrorCode::kPeerLost, ErrorScope::kFatal, std::move(text), 0}, code, subject);
  };
  if (code == ControlCode::kPeerLost) {
    tell(fmt::format("rank {} was lost (found by another rank)", subject));
  } else {
    tell(fmt::format("rank {} failed and ended the operation; its own message says why", subject));
  }
}

}  // namespace shunt::engine
