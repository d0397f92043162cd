// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"
#include "engine/proxy_parts.hpp"
#include "exec/cpu/flags.hpp"

namespace shunt::engine {

using exec::cpu::load_acquire;
using exec::cpu::store_release;
using fabric::Signal;
using fabric::SignalKind;

namespace {

// How long a thread stays at most for peers that have not said goodbye, once its rank has failed.
constexpr std::uint64_t kMostAfterFailure_ns = 500'000'000;

}  // namespace

void Proxy::heartbeat(std::uint64_t now) {
  if (now < next_beat_ns_) return;
  next_beat_ns_ = now + options_.heartbeat_ns / 10;
  if (leads()) {
    memory::Control* mine = options_.rank.control(options_.rank.local);
    store_release(&mine->heartbeat, load_acquire(&mine->heartbeat) + 1);
  }
  for (std::size_t n = 0; n < own_; ++n) {
    if (rail_gone_[n]) continue;
    // Refused while the queue is full: then other signals keep this rank alive at the peer.
    const Signal beat{SignalKind::kHeartbeat, my_index_[n], 0};
    if (send_immediate(n, beat)) stats_.heartbeats.add(1);
  }
}

void Proxy::check_peers(std::uint64_t now) {
  const std::uint64_t word = load_acquire(&options_.rank.control(options_.rank.local)->abort);
  if (word != 0 && !alarm_.failed()) alarm_.absorb(word);
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
  for (int l = 0; leads() && l < options_.rank.shape.ranks_per_node; ++l) {
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
  for (std::size_t n = 0; n < own_; ++n) {
    heard_ns_[n] += pause;
    if (!rail_gone_[n] && now > heard_ns_[n] + options_.heartbeat_ns) {
      lost(rail_rank(n), now - heard_ns_[n]);
    }
  }
}

void Proxy::send_abort() {
  const std::uint64_t word = alarm_.word();
  if (word == 0) return;
  const Signal signal{SignalKind::kControl,
                      static_cast<std::uint32_t>(abort_rank(word)),
                      static_cast<std::uint8_t>(abort_code(word))};
  for (std::size_t n = 0; n < own_; ++n) {
    if (farewell_[n] != kSilent) continue;
    if (!rail_gone_[n] && !told_[n]) told_[n] = send_immediate(n, signal);
    // There will be no more operations: what ends behind this word is no second failure.
    if (rail_gone_[n] || told_[n]) say_goodbye(n);
  }
}

void Proxy::say_goodbye(std::size_t number) {
  if (farewell_[number] != kSilent) return;
  const Signal signal{
      SignalKind::kControl, my_index_[number], static_cast<std::uint8_t>(ControlCode::kGoodbye)};
  if (send_immediate(number, signal, proxy::kGoodbyeTag | number)) farewell_[number] = kSaying;
}

bool Proxy::leave(std::uint64_t now) {
  if (leaving_since_ == 0) {
    leaving_since_ = now;
    if (leads()) store_release(&options_.rank.control(options_.rank.local)->goodbye, 1);
  }
  const bool failed = alarm_.failed();
  bool done = true;
  for (std::size_t n = 0; n < own_; ++n) {
    if (failed) {
      // send_abort() says the goodbye, behind the reason. Until a peer that still answers has
      // failed too, ending the fabric would look to it like the cause.
      done = done && (rail_gone_[n] || now > heard_ns_[n] + options_.heartbeat_ns);
      continue;
    }
    say_goodbye(n);
    // Until the goodbye has completed, ending the fabric could lose it.
    done = done && rail_gone_[n] && farewell_[n] == kSaid;
  }
  const std::uint64_t most = failed ? std::min(options_.heartbeat_ns / 4, kMostAfterFailure_ns)
                                    : 2 * options_.heartbeat_ns;
  return done || now - leaving_since_ > most;
}

}  // namespace shunt::engine
