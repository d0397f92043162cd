// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A deterministic scheduler that tries every interleaving: depth-first over all states that a model
// can reach, each visited once. in: a Model → out: how much there is, and the first path to a state
// that the model calls wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace shunt::model {

/// One step, for the path of a failure: "land 3 0".
struct Label {
  const char* what = "";
  int a = -1;
  int b = -1;
};

struct Exploration {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  std::uint64_t complete = 0;  ///< Terminal states in which all is done.
  std::uint64_t waiting = 0;   ///< Terminal states in which somebody waits for ever.
  std::size_t longest = 0;     ///< Steps of the longest path taken.
  std::string failure;         ///< Empty, or what is wrong and the steps that lead there.
};

/// Keys of visited states as 128-bit hashes: among 10^8 states a collision (a state wrongly taken
/// for visited) has a probability below 10^-22.
class Visited {
 public:
  /// False if the key was there already.
  bool insert(const std::string& key) {
    std::uint64_t a = key.size();
    std::uint64_t b = ~a;
    for (std::size_t at = 0; at < key.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, key.data() + at, std::min(sizeof(word), key.size() - at));
      a = Random::mix(a ^ word);
      b = Random::mix(b + word);
    }
    return seen_.insert({a, b}).second;
  }

 private:
  struct Hash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& key) const {
      return static_cast<std::size_t>(key.first);
    }
  };
  std::unordered_set<std::pair<std::uint64_t, std::uint64_t>, Hash> seen_;
};

/// A Model has State; initial(); expand(state, emit), which calls emit(next, label, fault) for each
/// possible step, `fault` for steps that need not happen (a terminal state is one without other
/// steps); wrong(state), empty if all is well; done(state); may_wait(state), whether a state may be
/// terminal and not done; and key(state), equal for states that behave alike.
template <typename Model>
Exploration explore(const Model& model) {
  using State = typename Model::State;
  struct Frame {
    std::vector<std::pair<State, Label>> next;
    Label taken;
  };
  Exploration result;
  Visited visited;
  std::vector<Frame> path;

  const auto enter = [&](const State& state, Label label) {
    if (!visited.insert(model.key(state))) return true;
    ++result.states;
    Frame frame;
    frame.taken = label;
    bool moves = false;
    std::string wrong = model.wrong(state);
    if (wrong.empty()) {
      model.expand(state, [&](State&& next, Label step, bool fault) {
        moves |= !fault;
        ++result.steps;
        frame.next.emplace_back(std::move(next), step);
      });
      if (!moves) ++(model.done(state) ? result.complete : result.waiting);
      if (!moves && !model.done(state) && !model.may_wait(state)) wrong = "everybody waits";
    }
    path.push_back(std::move(frame));
    result.longest = std::max(result.longest, path.size() - 1);
    if (wrong.empty()) return true;
    result.failure = std::move(wrong);
    for (const Frame& f : path) {
      result.failure += std::string("\n  ") + f.taken.what + ' ' + std::to_string(f.taken.a) + ' ' +
                        std::to_string(f.taken.b);
    }
    return false;
  };

  if (!enter(model.initial(), {"start"})) return result;
  while (!path.empty()) {
    if (path.back().next.empty()) {
      path.pop_back();
      continue;
    }
    auto [state, label] = std::move(path.back().next.back());
    path.back().next.pop_back();
    if (!enter(state, label)) return result;
  }
  return result;
}

}  // namespace shunt::model
