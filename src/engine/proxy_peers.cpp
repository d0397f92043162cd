// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "base/units.hpp"
#include "engine/proxy_parts.hpp"
#include "exec/cpu/flags.hpp"

namespace shunt::engine {

using exec::cpu::load_acquire;
using exec::cpu::ring_bell;
using exec::cpu::store_release;
using fabric::Signal;
using fabric::SignalKind;

void Proxy::fail(Error error, ControlCode code, int rank) {
  if (!options_.failure->report(std::move(error))) return;
  const std::uint64_t word = abort_word(code, rank);
  abort_.store(word, std::memory_order_release);
  for (int l = 0; l < options_.rank.shape.ranks_per_node; ++l) {
    memory::Control* control = options_.rank.control(l);
    if (load_acquire(&control->abort) == 0) store_release(&control->abort, word);
    ring_bell(control);
  }
  if (options_.on_abort) options_.on_abort(word);
  wake();
}

void Proxy::absorb_abort(std::uint64_t word) {
  if (options_.own_failure) options_.own_failure();
  if (options_.failure->failed()) return;
  const auto code = static_cast<ControlCode>(word >> 32);
  const int subject = static_cast<int>(word & 0xffff'ffffU) - 1;
  if (code == ControlCode::kPeerLost) {
    fail(Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               fmt::format("rank {} was lost (found by another rank)", subject),
               0},
         code,
         subject);
  } else {
    fail(Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               fmt::format("rank {} failed and ended the operation; its own message says why",
                           subject),
               0},
         code,
         subject);
  }
}

void Proxy::heartbeat(std::uint64_t now) {
  if (now < next_beat_ns_) return;
  next_beat_ns_ = now + options_.heartbeat_ns / 10;
  memory::Control* mine = options_.rank.control(options_.rank.local);
  store_release(&mine->heartbeat, load_acquire(&mine->heartbeat) + 1);
  for (int p = 0; p < options_.rank.peers(); ++p) {
    if (rail_gone_[static_cast<std::size_t>(p)]) continue;
    // Refused while the queue is full: then other signals keep this rank alive at the peer.
    const Signal beat{SignalKind::kHeartbeat, my_index_[static_cast<std::size_t>(p)], 0};
    if (send_immediate(p, beat)) stats_.heartbeats.add(1);
  }
}

void Proxy::check_peers(std::uint64_t now) {
  const std::uint64_t word = load_acquire(&options_.rank.control(options_.rank.local)->abort);
  if (word != 0 && !options_.failure->failed()) absorb_abort(word);
  const std::uint64_t gap = now - last_check_ns_;
  if (gap < options_.heartbeat_ns / 20) return;
  last_check_ns_ = now;
  // While this thread did not run it could not hear anybody: its own pause is no peer's silence.
  const std::uint64_t pause = gap > options_.heartbeat_ns / 4 ? gap : 0;
  const auto lost = [&](int rank, std::uint64_t silence) {
    fail(Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               fmt::format("rank {} (node {}) was lost: rank {} has heard nothing from it for {}",
                           rank,
                           options_.rank.shape.node_of(rank),
                           options_.rank.rank,
                           format_ns(silence)),
               0},
         ControlCode::kPeerLost,
         rank);
  };
  for (int l = 0; l < options_.rank.shape.ranks_per_node; ++l) {
    const auto i = static_cast<std::size_t>(l);
    const memory::Control* control = options_.rank.control(l);
    const std::uint64_t beat = load_acquire(&control->heartbeat);
    beat_ns_[i] += pause;
    if (beat != beat_seen_[i] || load_acquire(&control->goodbye) != 0) {
      beat_seen_[i] = beat;
      beat_ns_[i] = now;
    } else if (l != options_.rank.local && now > beat_ns_[i] + options_.heartbeat_ns) {
      lost(options_.rank.shape.rank_of(options_.rank.node, l), now - beat_ns_[i]);
    }
  }
  for (int p = 0; p < options_.rank.peers(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    heard_ns_[i] += pause;
    if (!rail_gone_[i] && now > heard_ns_[i] + options_.heartbeat_ns) {
      lost(options_.rank.rail_rank(p), now - heard_ns_[i]);
    }
  }
}

void Proxy::send_abort() {
  const std::uint64_t word = abort_.load(std::memory_order_acquire);
  if (word == 0 || abort_sent_) return;
  abort_sent_ = true;
  const Signal signal{SignalKind::kControl,
                      static_cast<std::uint32_t>((word & 0xffff'ffffU) - 1),
                      static_cast<std::uint8_t>(word >> 32)};
  for (int p = 0; p < options_.rank.peers(); ++p) {
    if (!rail_gone_[static_cast<std::size_t>(p)]) (void)send_immediate(p, signal);
  }
}

void Proxy::say_goodbye() {
  if (!leaving_) store_release(&options_.rank.control(options_.rank.local)->goodbye, 1);
  leaving_ = true;
  for (int p = 0; p < options_.rank.peers(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    if (farewell_[i] != kSilent) continue;
    const Signal signal{
        SignalKind::kControl, my_index_[i], static_cast<std::uint8_t>(ControlCode::kGoodbye)};
    if (send_immediate(p, signal, proxy::kGoodbyeTag | i)) farewell_[i] = kSaying;
  }
}

bool Proxy::all_gone() const {
  for (std::size_t p = 0; p < rail_gone_.size(); ++p) {
    if (!rail_gone_[p] || farewell_[p] == kSilent) return false;
    // Until the goodbye has completed, ending the fabric could lose it.
    if (farewell_[p] == kSaying && !options_.failure->failed()) return false;
  }
  return true;
}

}  // namespace shunt::engine
