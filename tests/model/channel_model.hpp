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
#include <tuple>
#include <utility>
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
  /// What ranks can do; what the network can. `step` is (label, whether it is a fault, act).
  template <typename Step>
  void expand_links(const State& state, const Step& step) const;
  template <typename Step>
  void expand_network(const State& state, const Step& step) const;
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
  expand_links(state, step);
  expand_network(state, step);
}

template <typename Step>
void ChannelModel::expand_links(const State& state, const Step& step) const {
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
}

template <typename Step>
void ChannelModel::expand_network(const State& state, const Step& step) const {
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

}  // namespace shunt::model
