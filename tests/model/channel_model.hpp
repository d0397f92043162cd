// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The protocol of counts, chunks, credits and releases between ranks, small enough to try every
// interleaving. Signals and channels are the library's own (fabric/signal.hpp); the rest is said
// again here in as few words as possible:
//
//   sender    per operation and target: one count message, then its chunks. A message needs a
//             credit and a staging slot whose former put has completed.
//   network   a put reads staging when it lands, at any time and in any order; then its signal and
//             its local completion come, in any order. Faults: a signal, completion or credit comes
//             twice, or (signals and credits) never.
//   receiver  consumes the count, then whichever chunks have landed; releases each; tells its
//             cumulative credit at any time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "explore.hpp"
#include "fabric/signal.hpp"

namespace shunt::model {

/// A part of the protocol left out, to show that the model notices.
enum class Omission {
  kNone,
  kCredit,       ///< The sender sends without credit.
  kCompletion,   ///< The sender reuses staging before the put has completed.
  kSlotNames,    ///< The receiver takes the n-th signal for chunk n.
  kRelease,      ///< A slot is released when its signal comes, not when it has been consumed.
  kIdempotence,  ///< Every signal makes a chunk ready, a duplicate too.
};

struct ChannelCase {
  std::vector<std::pair<int, int>> links;  ///< (from, to); the first rank is 0.
  std::vector<int> chunks;                 ///< By operation, zero allowed.
  std::uint32_t capacity = 1;              ///< Of the ring of chunks.
  std::uint32_t count_capacity = 1;
  std::uint64_t laps_before = 0;  ///< Laps that all rings have run before the first step.
  int duplicates = 0;
  int losses = 0;
  Omission omission = Omission::kNone;
};

class ChannelModel {
 public:
  static constexpr int kChunk = 0;
  static constexpr int kCount = 1;
  static constexpr std::uint32_t kMaxCapacity = 2;

  struct Message {
    std::uint8_t link = 0;
    std::uint8_t kind = kChunk;
    bool credit = false;
    bool landed = false;      ///< Data is in the landing slot.
    bool signal = true;       ///< The signal is still to come.
    bool completion = false;  ///< The completion is still to come.
    std::uint32_t immediate = 0;
    std::uint64_t sequence = 0;  ///< Names the slots; the receiver does not see it.
    [[nodiscard]] auto order() const {
      return std::tuple(link, kind, credit, sequence, landed, signal, completion, immediate);
    }
  };

  /// A ring of one kind on one link. Contents are sequence number + 1, 0 for free.
  struct Ring {
    explicit Ring(std::uint32_t capacity) : sender(capacity), receiver(capacity) {}
    fabric::SenderChannel sender;
    fabric::ReceiverChannel receiver;
    std::uint64_t next = 0;  ///< To be sent.
    std::uint64_t told = 0;  ///< Credit.
    std::array<std::uint64_t, kMaxCapacity> staging{};
    std::array<std::uint64_t, kMaxCapacity> completed{};
    std::array<std::uint64_t, kMaxCapacity> landing{};
    std::array<std::uint64_t, kMaxCapacity> arrived{};
    std::uint64_t base = 0;     ///< First sequence number of the operation that is received.
    std::uint64_t taken = 0;    ///< Bits from base: consumed.
    std::uint64_t signals = 0;  ///< Seen so far (for omissions).
  };
  struct Link {
    std::vector<Ring> rings;
    int sent = 0;  ///< Messages of the sender's operation.
    int op = 0;    ///< Receiver's.
    bool counted = false;
  };
  struct State {
    std::vector<Link> links;
    std::vector<int> op;  ///< By rank.
    std::vector<Message> network;
    int duplicates = 0;
    int losses = 0;
    std::string wrong;
  };

  explicit ChannelModel(ChannelCase c) : c_(std::move(c)) {}

  [[nodiscard]] State initial() const;
  template <typename Emit>
  void expand(const State& state, Emit&& emit) const;
  [[nodiscard]] std::string wrong(const State& state) const { return state.wrong; }
  [[nodiscard]] bool done(const State& state) const {
    return std::all_of(
        state.op.begin(), state.op.end(), [&](int op) { return op == operations(); });
  }
  /// Only a loss may leave ranks waiting.
  [[nodiscard]] bool may_wait(const State& state) const { return state.losses > 0; }
  [[nodiscard]] std::string key(const State& state) const;

 private:
  [[nodiscard]] int operations() const { return static_cast<int>(c_.chunks.size()); }
  [[nodiscard]] int from(std::size_t link) const { return c_.links[link].first; }
  [[nodiscard]] int to(std::size_t link) const { return c_.links[link].second; }
  [[nodiscard]] std::uint32_t capacity(int kind) const {
    return kind == kChunk ? c_.capacity : c_.count_capacity;
  }
  [[nodiscard]] static fabric::SignalKind signal_kind(int kind) {
    return kind == kChunk ? fabric::SignalKind::kDispatchChunk : fabric::SignalKind::kCount;
  }
  [[nodiscard]] bool may_send(const State& state, std::size_t link) const;
  void send(State& state, std::size_t link) const;
  void land(State& state, std::size_t at) const;
  void hear(State& state, std::size_t at) const;
  void complete(State& state, std::size_t at) const;
  void consume(State& state, std::size_t link, int kind, std::uint64_t sequence) const;
  void tell(State& state, std::size_t link, int kind) const;
  void hear_credit(Ring& ring, const Message& message, State& state) const;
  void hear_data(Ring& ring, const Message& message, State& state) const;
  /// Ranks whose operation has ended enter the next: seen by nobody else, so it needs no step.
  void advance(State& state) const;
  [[nodiscard]] bool received(const State& state, std::size_t link) const;
  [[nodiscard]] bool sent(const State& state, std::size_t link) const;
  static void drop_if_spent(State& state, std::size_t at) {
    const Message& m = state.network[at];
    if (!m.signal && !m.completion) {
      state.network.erase(state.network.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  ChannelCase c_;
};

inline ChannelModel::State ChannelModel::initial() const {
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

inline bool ChannelModel::sent(const State& state, std::size_t link) const {
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

inline bool ChannelModel::received(const State& state, std::size_t link) const {
  const Link& l = state.links[link];
  const int op = state.op[static_cast<std::size_t>(to(link))];
  return op == operations() || l.op > op;
}

inline void ChannelModel::advance(State& state) const {
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

inline bool ChannelModel::may_send(const State& state, std::size_t link) const {
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

inline void ChannelModel::send(State& state, std::size_t link) const {
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

inline void ChannelModel::land(State& state, std::size_t at) const {
  Message& m = state.network[at];
  Ring& ring = state.links[m.link].rings[m.kind];
  const std::uint64_t slot = m.sequence % capacity(m.kind);
  if (ring.landing[slot] != 0) state.wrong = "a slot was overwritten before it was consumed";
  ring.landing[slot] = ring.staging[slot];
  m.landed = true;
}

inline void ChannelModel::hear_data(Ring& ring, const Message& message, State& state) const {
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

inline void ChannelModel::hear_credit(Ring& ring, const Message& message, State& state) const {
  const fabric::Signal signal = fabric::decode(message.immediate);
  const fabric::Widened got = ring.sender.credit(signal.slot, signal.lap);
  if (got.kind == fabric::Widened::Kind::kViolation) state.wrong = "a credit that cannot be";
}

inline void ChannelModel::hear(State& state, std::size_t at) const {
  const Message m = state.network[at];
  Ring& ring = state.links[m.link].rings[m.kind];
  if (m.credit) {
    hear_credit(ring, m, state);
  } else {
    hear_data(ring, m, state);
  }
}

inline void ChannelModel::complete(State& state, std::size_t at) const {
  const Message& m = state.network[at];
  Ring& ring = state.links[m.link].rings[m.kind];
  std::uint64_t& flag = ring.completed[m.sequence % capacity(m.kind)];
  flag = std::max(flag, m.sequence + 1);
}

inline void ChannelModel::consume(State& state,
                                  std::size_t link,
                                  int kind,
                                  std::uint64_t sequence) const {
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

inline void ChannelModel::tell(State& state, std::size_t link, int kind) const {
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

template <typename Emit>
void ChannelModel::expand(const State& state, Emit&& emit) const {
  const auto step = [&](Label label, bool fault, auto&& act) {
    State next = state;
    act(next);
    // Receivers that have all of an operation look for the next one.
    for (std::size_t l = 0; l < next.links.size(); ++l) {
      Link& link = next.links[l];
      Ring& chunks = link.rings[kChunk];
      if (!link.counted || link.op >= operations()) continue;
      const int wanted = c_.chunks[static_cast<std::size_t>(link.op)];
      if (chunks.taken != (std::uint64_t{1} << wanted) - 1) continue;
      chunks.base += static_cast<std::uint64_t>(wanted);
      chunks.taken = 0;
      link.counted = false;
      ++link.op;
    }
    advance(next);
    std::sort(next.network.begin(), next.network.end(), [](const Message& a, const Message& b) {
      return a.order() < b.order();
    });
    emit(std::move(next), label, fault);
  };
  for (std::size_t l = 0; l < state.links.size(); ++l) {
    const int name = static_cast<int>(l);
    const Link& link = state.links[l];
    if (may_send(state, l)) {
      step({"send", name, link.sent}, false, [&](State& s) { send(s, l); });
    }
    for (const int kind : {kChunk, kCount}) {
      const Ring& ring = link.rings[static_cast<std::size_t>(kind)];
      if (ring.told != ring.receiver.released()) {
        step({"tell credit", name, kind}, false, [&](State& s) { tell(s, l, kind); });
      }
    }
    // A receiver works on the operation its rank is in.
    if (link.op != state.op[static_cast<std::size_t>(to(l))] || link.op == operations()) continue;
    const Ring& counts = link.rings[kCount];
    if (!link.counted && counts.arrived[counts.base % c_.count_capacity] >= counts.base + 1) {
      step({"count", name}, false, [&](State& s) { consume(s, l, kCount, counts.base); });
    }
    if (!link.counted) continue;
    const Ring& chunks = link.rings[kChunk];
    for (int i = 0; i < c_.chunks[static_cast<std::size_t>(link.op)]; ++i) {
      const std::uint64_t sequence = chunks.base + static_cast<std::uint64_t>(i);
      if ((chunks.taken >> i & 1U) != 0) continue;
      if (chunks.arrived[sequence % c_.capacity] < sequence + 1) continue;
      step({"consume", name, i}, false, [&](State& s) { consume(s, l, kChunk, sequence); });
    }
  }
  for (std::size_t m = 0; m < state.network.size(); ++m) {
    const Message& message = state.network[m];
    const Label label{
        message.credit ? "hear credit" : "hear", message.link, static_cast<int>(message.sequence)};
    if (!message.landed) {
      step({"land", label.a, label.b}, false, [&](State& s) { land(s, m); });
      continue;
    }
    if (message.signal) {
      step(label, false, [&](State& s) {
        hear(s, m);
        s.network[m].signal = false;
        drop_if_spent(s, m);
      });
      if (state.duplicates < c_.duplicates) {
        step({"hear and keep", label.a, label.b}, true, [&](State& s) {
          ++s.duplicates;
          hear(s, m);
        });
      }
      if (state.losses < c_.losses) {
        step({"lose", label.a, label.b}, true, [&](State& s) {
          ++s.losses;
          s.network[m].signal = false;
          drop_if_spent(s, m);
        });
      }
    }
    if (message.completion) {
      step({"complete", label.a, label.b}, false, [&](State& s) {
        complete(s, m);
        s.network[m].completion = false;
        drop_if_spent(s, m);
      });
      if (state.duplicates < c_.duplicates) {
        step({"complete and keep", label.a, label.b}, true, [&](State& s) {
          ++s.duplicates;
          complete(s, m);
        });
      }
    }
  }
}

inline std::string ChannelModel::key(const State& state) const {
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
