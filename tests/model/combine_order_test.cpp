// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The circle of nodes that wait for each other. In combine every node sums its tokens in order, so
// a landed partial keeps its slot until all earlier tokens have been summed; and every node is also
// a proxy that sends partials to the others. Three nodes, one slot per source, one token per chunk:
// proxies that serve whichever peer has room never close the circle; proxies that serve one peer
// after the other do. Credits are the library's own (fabric/signal.hpp).
#include <array>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explore.hpp"
#include "fabric/signal.hpp"

namespace shunt::model {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kNodes = 3;

enum class Service {
  kWhoeverIsReady,  ///< exec::for_ready_chunks
  kInTurn,          ///< All of the next node, then all of the one after it.
};

/// needs[n][t]: nodes that token t of node n needs a partial of, as bits.
using Needs = std::vector<std::vector<unsigned>>;

class CombineModel {
 public:
  struct Ring {  // Partials of node `from` for node `to`.
    explicit Ring(std::uint32_t capacity) : sender(capacity), receiver(capacity) {}
    fabric::SenderChannel sender;
    fabric::ReceiverChannel receiver;
    std::uint64_t sent = 0;
    std::uint64_t landed = 0;  ///< Bits.
    std::uint64_t told = 0;
  };
  struct State {
    std::vector<Ring> rings;  ///< [from][to]
    std::array<std::size_t, kNodes> token{};
    std::string wrong;
  };

  CombineModel(Needs needs, std::uint32_t capacity, Service service)
      : needs_(std::move(needs)), capacity_(capacity), service_(service) {}

  State initial() const {
    State state;
    for (int i = 0; i < kNodes * kNodes; ++i) state.rings.emplace_back(capacity_);
    return state;
  }

  template <typename Emit>
  void expand(const State& state, Emit&& emit) const {
    for (int from = 0; from < kNodes; ++from) {
      for (int i = 1; i < kNodes; ++i) {
        const int to = (from + i) % kNodes;
        const Ring& ring = ring_of(state, from, to);
        const bool left = ring.sent < chunks(from, to);
        if (left && ring.sender.may_send(ring.sent)) {
          State next = state;
          Ring& r = ring_of(next, from, to);
          r.landed |= std::uint64_t{1} << r.sent++;
          emit(std::move(next), Label{"send", from, to}, false);
        }
        if (left && service_ == Service::kInTurn) break;
      }
      for (int to = 0; to < kNodes; ++to) {
        const Ring& ring = ring_of(state, from, to);
        if (ring.told == ring.receiver.released()) continue;
        State next = state;
        Ring& r = ring_of(next, from, to);
        r.told = r.receiver.released();
        const fabric::Signal signal =
            fabric::signal_of(fabric::SignalKind::kCombineCredit, 0, capacity_, r.told);
        const auto got = r.sender.credit(signal.slot, signal.lap);
        if (got.kind != fabric::Widened::Kind::kAccepted) next.wrong = "a credit was refused";
        emit(std::move(next), Label{"credit", to, from}, false);
      }
    }
    for (int node = 0; node < kNodes; ++node) {
      if (!can_sum(state, node)) continue;
      State next = state;
      sum(next, node);
      emit(std::move(next), Label{"sum", node, static_cast<int>(state.token[node])}, false);
    }
  }

  std::string wrong(const State& state) const { return state.wrong; }
  bool done(const State& state) const {
    for (int n = 0; n < kNodes; ++n) {
      if (state.token[n] != needs_[n].size()) return false;
    }
    return true;
  }
  bool may_wait(const State&) const { return false; }
  std::string key(const State& state) const {
    std::string key;
    for (const Ring& r : state.rings) {
      for (const std::uint64_t value :
           {r.sent, r.landed, r.told, r.sender.credit(), r.receiver.released()}) {
        key += static_cast<char>(value);
      }
    }
    for (const std::size_t t : state.token) key += static_cast<char>(t);
    return key;
  }

 private:
  static const Ring& ring_of(const State& state, int from, int to) {
    return state.rings[static_cast<std::size_t>(from * kNodes + to)];
  }
  static Ring& ring_of(State& state, int from, int to) {
    return state.rings[static_cast<std::size_t>(from * kNodes + to)];
  }
  bool needs(int node, std::size_t token, int from) const {
    return from != node && (needs_[node][token] >> from & 1U) != 0;
  }
  /// Number of tokens of `to`, before `token`, that need `from`: the chunk of `token` on that ring.
  std::uint64_t chunk(int from, int to, std::size_t token) const {
    std::uint64_t count = 0;
    for (std::size_t t = 0; t < token; ++t) count += needs(to, t, from) ? 1 : 0;
    return count;
  }
  std::uint64_t chunks(int from, int to) const { return chunk(from, to, needs_[to].size()); }
  bool can_sum(const State& state, int node) const {
    const std::size_t token = state.token[node];
    if (token == needs_[node].size()) return false;
    for (int from = 0; from < kNodes; ++from) {
      if (!needs(node, token, from)) continue;
      if ((ring_of(state, from, node).landed >> chunk(from, node, token) & 1U) == 0) return false;
    }
    return true;
  }
  void sum(State& state, int node) const {
    const std::size_t token = state.token[node]++;
    for (int from = 0; from < kNodes; ++from) {
      if (!needs(node, token, from)) continue;
      if (!ring_of(state, from, node).receiver.consume(chunk(from, node, token))) {
        state.wrong = "a slot outside the window was released";
      }
    }
  }

  Needs needs_;
  std::uint32_t capacity_;
  Service service_;
};

Exploration run(const Needs& needs, std::uint32_t capacity, Service service) {
  return explore(CombineModel(needs, capacity, service));
}

/// Each node's first token needs the node that serves it last, the others the one that serves it
/// first.
const Needs kCircle{{0b010, 0b100, 0b100}, {0b100, 0b001, 0b001}, {0b001, 0b010, 0b010}};

TEST(CombineOrder, ProxiesThatServeInTurnCloseTheCircle) {
  const Exploration found = run(kCircle, 1, Service::kInTurn);
  EXPECT_THAT(found.failure, HasSubstr("everybody waits"));
  std::cout << found.states << " states until: " << found.failure << '\n';
}

TEST(CombineOrder, ProxiesThatServeWhoeverIsReadyDoNot) {
  for (const std::uint32_t capacity : {1U, 2U}) {
    const Exploration found = run(kCircle, capacity, Service::kWhoeverIsReady);
    EXPECT_THAT(found.failure, IsEmpty());
    EXPECT_GT(found.complete, 0U);
    std::cout << found.states << " states, " << found.steps << " steps\n";
  }
}

TEST(CombineOrder, EveryRoutingOfTwoTokensPerNodeEnds) {
  std::uint64_t states = 0;
  std::uint64_t closed = 0;
  int routings = 0;
  // Two tokens a node, each with any of the four sets of other nodes: 16 lists a node.
  const auto tokens = [](int node, unsigned code) {
    std::vector<unsigned> list;
    for (int t = 0; t < 2; ++t, code >>= 2) {
      const unsigned first = (code & 1U) << (node + 1) % kNodes;
      const unsigned second = (code >> 1 & 1U) << (node + 2) % kNodes;
      list.push_back(first | second);
    }
    return list;
  };
  const auto turned = [](unsigned code) { return code >> 4 | (code & 15U) << 8; };
  for (unsigned code = 0; code < 16 * 16 * 16; ++code) {
    // Nodes are alike: of three turned routings one is enough.
    if (turned(code) < code || turned(turned(code)) < code) continue;
    const Needs needs{tokens(0, code & 15U), tokens(1, code >> 4 & 15U), tokens(2, code >> 8)};
    const Exploration found = run(needs, 1, Service::kWhoeverIsReady);
    ASSERT_THAT(found.failure, IsEmpty()) << "code " << code;
    ASSERT_EQ(found.waiting, 0U);
    states += found.states;
    ++routings;
    closed += run(needs, 1, Service::kInTurn).failure.empty() ? 0 : 1;
  }
  EXPECT_GT(closed, 0U);
  std::cout << states << " states in " << routings << " routings; served in turn, " << closed
            << " of them would close the circle\n";
}

}  // namespace
}  // namespace shunt::model
