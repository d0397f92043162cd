// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "channel_model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shunt::model {

ChannelModel::State ChannelModel::initial() const {
  State state;
  int ranks = 0;
  for (const auto& [a, b] : c_.links) ranks = std::max({ranks, a + 1, b + 1});
  state.op.assign(static_cast<std::size_t>(ranks), 0);
  for (std::size_t l = 0; l < c_.links.size(); ++l) {
    Link link;
    for (const int kind : {kChunk, kCount}) {
      Ring ring(capacity(kind));
      const std::uint64_t begin = c_.laps_before * capacity(kind);
      for (std::uint64_t s = 0; s < begin; ++s) {
        const fabric::Signal told = fabric::signal_of(signal_kind(kind), 0, capacity(kind), s + 1);
        (void)ring.receiver.consume(s);
        (void)ring.sender.credit(told.slot, told.lap);
      }
      ring.next = ring.told = ring.base = ring.signals = begin;
      for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(begin, capacity(kind)); ++back) {
        ring.completed[(begin - back) % capacity(kind)] = begin - back + 1;
        ring.arrived[(begin - back) % capacity(kind)] = begin - back + 1;
      }
      link.rings.push_back(ring);
    }
    state.links.push_back(link);
  }
  advance(state);
  return state;
}

bool ChannelModel::sent(const State& state, std::size_t link) const {
  const int op = state.op[static_cast<std::size_t>(from(link))];
  if (op == operations()) return true;
  const Link& l = state.links[link];
  if (l.sent != 1 + c_.chunks[static_cast<std::size_t>(op)]) return false;
  for (const int kind : {kChunk, kCount}) {
    const Ring& ring = l.rings[static_cast<std::size_t>(kind)];
    for (std::uint32_t back = 1; back <= capacity(kind) && back <= ring.next; ++back) {
      const std::uint64_t sequence = ring.next - back;
      if (ring.completed[sequence % capacity(kind)] < sequence + 1) return false;
    }
  }
  return true;
}

bool ChannelModel::received(const State& state, std::size_t link) const {
  const Link& l = state.links[link];
  const int op = state.op[static_cast<std::size_t>(to(link))];
  return op == operations() || l.op > op;
}

void ChannelModel::advance(State& state) const {
  for (std::size_t rank = 0; rank < state.op.size(); ++rank) {
    if (state.op[rank] == operations()) continue;
    bool ended = true;
    for (std::size_t l = 0; l < state.links.size(); ++l) {
      if (from(l) == static_cast<int>(rank)) ended &= sent(state, l);
      if (to(l) == static_cast<int>(rank)) ended &= received(state, l);
    }
    if (!ended) continue;
    ++state.op[rank];
    for (std::size_t l = 0; l < state.links.size(); ++l) {
      if (from(l) == static_cast<int>(rank)) state.links[l].sent = 0;
    }
  }
}

bool ChannelModel::may_send(const State& state, std::size_t link) const {
  const int op = state.op[static_cast<std::size_t>(from(link))];
  if (op == operations()) return false;
  const Link& l = state.links[link];
  if (l.sent == 1 + c_.chunks[static_cast<std::size_t>(op)]) return false;
  const int kind = l.sent == 0 ? kCount : kChunk;
  const Ring& ring = l.rings[static_cast<std::size_t>(kind)];
  if (c_.omission != Omission::kCredit && !ring.sender.may_send(ring.next)) return false;
  if (c_.omission == Omission::kCompletion || ring.next < capacity(kind)) return true;
  return ring.completed[ring.next % capacity(kind)] >= ring.next - capacity(kind) + 1;
}

void ChannelModel::send(State& state, std::size_t link) const {
  Link& l = state.links[link];
  const int kind = l.sent == 0 ? kCount : kChunk;
  Ring& ring = l.rings[static_cast<std::size_t>(kind)];
  ring.staging[ring.next % capacity(kind)] = ring.next + 1;
  Message m;
  m.link = static_cast<std::uint8_t>(link);
  m.kind = static_cast<std::uint8_t>(kind);
  m.completion = true;
  m.sequence = ring.next;
  m.immediate = fabric::encode(fabric::signal_of(signal_kind(kind), 0, capacity(kind), ring.next));
  state.network.push_back(m);
  ++ring.next;
  ++l.sent;
}

void ChannelModel::land(State& state, std::size_t at) const {
  Message& m = state.network[at];
  Ring& ring = state.links[m.link].rings[m.kind];
  const std::uint64_t slot = m.sequence % capacity(m.kind);
  if (ring.landing[slot] != 0) state.wrong = "a slot was overwritten before it was consumed";
  ring.landing[slot] = ring.staging[slot];
  m.landed = true;
}

void ChannelModel::hear_data(Ring& ring, const Message& message, State& state) const {
  const fabric::Signal signal = fabric::decode(message.immediate);
  const fabric::Widened got = ring.receiver.arrive(signal.slot, signal.lap);
  if (got.kind == fabric::Widened::Kind::kViolation) {
    state.wrong = "a signal outside the credits";
    return;
  }
  if (c_.omission == Omission::kSlotNames) {
    const std::uint64_t next = ring.signals++;
    ring.arrived[next % capacity(message.kind)] = next + 1;
    return;
  }
  if (got.kind == fabric::Widened::Kind::kStale) return;
  std::uint64_t& flag = ring.arrived[got.sequence % capacity(message.kind)];
  if (c_.omission == Omission::kIdempotence) {
    // The chunk counts as ready once more.
    if (got.sequence >= ring.base) {
      ring.taken &= ~(std::uint64_t{1} << (got.sequence - ring.base));
    }
  } else if (flag >= got.sequence + 1) {
    return;
  }
  flag = got.sequence + 1;
  if (c_.omission == Omission::kRelease) (void)ring.receiver.consume(got.sequence);
}

void ChannelModel::hear_credit(Ring& ring, const Message& message, State& state) const {
  const fabric::Signal signal = fabric::decode(message.immediate);
  const fabric::Widened got = ring.sender.credit(signal.slot, signal.lap);
  if (got.kind == fabric::Widened::Kind::kViolation) state.wrong = "a credit that cannot be";
}

void ChannelModel::hear(State& state, std::size_t at) const {
  const Message m = state.network[at];
  Ring& ring = state.links[m.link].rings[m.kind];
  if (m.credit) {
    hear_credit(ring, m, state);
  } else {
    hear_data(ring, m, state);
  }
}

void ChannelModel::complete(State& state, std::size_t at) const {
  const Message& m = state.network[at];
  Ring& ring = state.links[m.link].rings[m.kind];
  std::uint64_t& flag = ring.completed[m.sequence % capacity(m.kind)];
  flag = std::max(flag, m.sequence + 1);
}

void ChannelModel::consume(State& state, std::size_t link, int kind, std::uint64_t sequence) const {
  Link& l = state.links[link];
  Ring& ring = l.rings[static_cast<std::size_t>(kind)];
  std::uint64_t& slot = ring.landing[sequence % capacity(kind)];
  if (slot == 0) state.wrong = "an empty slot, or one that had been consumed, was consumed";
  if (slot != 0 && slot != sequence + 1) state.wrong = "another chunk's data was consumed";
  slot = 0;
  if (c_.omission != Omission::kRelease && !ring.receiver.consume(sequence)) {
    state.wrong = "a slot outside the window was released";
  }
  if (kind == kCount) {
    l.counted = true;
    ++ring.base;
  } else {
    ring.taken |= std::uint64_t{1} << (sequence - ring.base);
  }
}

void ChannelModel::tell(State& state, std::size_t link, int kind) const {
  Ring& ring = state.links[link].rings[static_cast<std::size_t>(kind)];
  ring.told = ring.receiver.released();
  Message m;
  m.link = static_cast<std::uint8_t>(link);
  m.kind = static_cast<std::uint8_t>(kind);
  m.credit = true;
  m.landed = true;
  m.sequence = ring.told;
  const auto credit =
      static_cast<fabric::SignalKind>(static_cast<int>(signal_kind(kind)) + fabric::kCreditOffset);
  m.immediate = fabric::encode(fabric::signal_of(credit, 0, capacity(kind), ring.told));
  state.network.push_back(m);
}

std::string ChannelModel::key(const State& state) const {
  std::string key;
  const auto put = [&key](std::uint64_t value) {
    // Numbers stay below 2^16 in every case.
    key += static_cast<char>(value & 0xffU);
    key += static_cast<char>(value >> 8 & 0xffU);
  };
  for (const Link& link : state.links) {
    put(static_cast<std::uint64_t>(link.sent));
    put(static_cast<std::uint64_t>(link.op) * 2 + (link.counted ? 1 : 0));
    for (const Ring& ring : link.rings) {
      for (const std::uint64_t value : {ring.sender.credit(),
                                        ring.receiver.released(),
                                        ring.next,
                                        ring.told,
                                        ring.base,
                                        ring.taken,
                                        ring.signals}) {
        put(value);
      }
      // A ReceiverChannel is a function of released() and of what is consumed above it, which
      // `base`, `taken` and `arrived` tell.
      for (std::uint32_t i = 0; i < kMaxCapacity; ++i) {
        put(ring.staging[i]);
        put(ring.completed[i]);
        put(ring.landing[i]);
        put(ring.arrived[i]);
      }
    }
  }
  for (const int op : state.op) put(static_cast<std::uint64_t>(op));
  put(static_cast<std::uint64_t>(state.duplicates * 16 + state.losses));
  for (const Message& m : state.network) {
    put(static_cast<std::uint64_t>(m.link * 64 + m.kind * 16 + m.credit * 8 + m.landed * 4 +
                                   m.signal * 2 + m.completion));
    put(m.sequence);
  }
  return key;
}

}  // namespace shunt::model
