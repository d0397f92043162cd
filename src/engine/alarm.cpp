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

void Alarm::raise(Error error, std::uint64_t word) {
  if (!options_.failure->report(std::move(error))) return;
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
  const int rank = abort_rank(word);
  const int waited = exec::abort_waited(word);
  std::string text;
  if (abort_code(word) == ControlCode::kPeerLost) {
    text = fmt::format("rank {} was lost (found by another rank)", rank);
  } else if (waited >= 0) {
    text = fmt::format(
        "rank {} waited for rank {} in vain and ended the operation; its own "
        "message says where",
        rank,
        waited);
  } else {
    text = fmt::format("rank {} failed and ended the operation; its own message says why", rank);
  }
  raise(Error{ErrorCode::kPeerLost, ErrorScope::kFatal, std::move(text), 0}, word);
}

}  // namespace shunt::engine
