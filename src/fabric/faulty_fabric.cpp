// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/faulty_fabric.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/random.hpp"

namespace shunt::fabric {
namespace {

/// Bounds one poll() however fast peers send.
constexpr std::size_t kMostPerPoll = 1024;

/// Items that come out when their time has come, in random order within it.
template <typename T>
class Holds {
 public:
  explicit Holds(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  bool chance(double probability) { return random_.uniform() < probability; }

  void add(T value, std::uint64_t now, std::uint32_t hold) {
    // Without a hold the order stays as it is.
    const std::uint64_t delay = hold == 0 ? 0 : random_.below(std::uint64_t{hold} + 1);
    const std::uint64_t order = hold == 0 ? sequence_++ : random_.next();
    items_.push_back(Item{now + delay, order, std::move(value)});
    std::push_heap(items_.begin(), items_.end(), later);
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] bool due(std::uint64_t now) const { return !empty() && items_.front().due <= now; }
  /// REQUIRES: !empty().
  [[nodiscard]] const T& front() const { return items_.front().value; }
  T pop() {
    std::pop_heap(items_.begin(), items_.end(), later);
    T value = std::move(items_.back().value);
    items_.pop_back();
    return value;
  }

 private:
  struct Item {
    std::uint64_t due;
    std::uint64_t order;
    T value;
  };
  static bool later(const Item& a, const Item& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }

  Random random_;
  std::uint64_t sequence_ = 0;
  std::vector<Item> items_;
};

/// A completion or failure on its way to the caller; `error` for failures only.
struct Outcome {
  Event event;
  Error error;
  bool copy = false;  ///< A duplicate: it frees no place in the queue.
};

}  // namespace

class FaultyFabric::State {
 public:
  State(std::unique_ptr<Fabric> fabric, const FaultOptions& chosen)
      : inner(std::move(fabric)),
        options(chosen),
        puts_(Random::mix(Random::mix(chosen.seed) + 1)),
        arrivals_(Random::mix(Random::mix(chosen.seed) + 2)),
        outcomes_(Random::mix(Random::mix(chosen.seed) + 3)),
        refusals_(Random::mix(Random::mix(chosen.seed) + 4)) {}

  std::size_t post(std::span<const Put> puts);
  std::size_t poll(std::span<Event> events);
  [[nodiscard]] bool holding() const {
    return !puts_.empty() || !arrivals_.empty() || !outcomes_.empty();
  }

  const std::unique_ptr<Fabric> inner;
  const FaultOptions options;
  std::vector<std::atomic<PeerFault>> peers;
  Error last_error;

 private:
  std::size_t admitted(std::size_t offered);
  void accept(const Put& put);
  void release_puts();
  void collect();
  void take_arrival(const Event& event);
  void take_outcome(const Event& event, Error error);
  void fail_put(const Put& put, ErrorCode code, ErrorScope scope, const char* why);
  [[nodiscard]] PeerFault fault_of(std::int32_t peer) const {
    const auto index = static_cast<std::uint32_t>(peer);
    return index < peers.size() ? peers[index].load(std::memory_order_relaxed) : PeerFault::kNone;
  }

  Holds<Put> puts_;
  Holds<Event> arrivals_;
  Holds<Outcome> outcomes_;
  Random refusals_;
  std::uint64_t tick_ = 0;       ///< Calls of poll() so far.
  std::size_t outstanding_ = 0;  ///< Taken, first outcome not delivered.
  std::uint32_t storm_ = 0;      ///< Calls of post() that will take nothing.
};

std::size_t FaultyFabric::State::admitted(std::size_t offered) {
  const std::size_t room = inner->depth() - std::min(inner->depth(), outstanding_);
  std::size_t admitted = std::min(offered, room);
  if (storm_ > 0) {
    --storm_;
    return 0;
  }
  if (admitted > 0 && options.refuse_post > 0 && refusals_.uniform() < options.refuse_post) {
    storm_ = options.storm_posts;
    admitted = refusals_.below(admitted);
  }
  return admitted;
}

std::size_t FaultyFabric::State::post(std::span<const Put> puts) {
  const std::size_t count = admitted(puts.size());
  for (const Put& put : puts.first(count)) accept(put);
  release_puts();
  return count;
}

void FaultyFabric::State::accept(const Put& put) {
  ++outstanding_;
  // Drawn for each put, also where a peer's fault decides: later puts keep their fate.
  const bool fails = puts_.chance(options.fail_put);
  switch (fault_of(put.peer)) {
    case PeerFault::kCut:
      return;
    case PeerFault::kDead:
      fail_put(put, ErrorCode::kPeerLost, ErrorScope::kPeer, "the peer is dead (injected fault)");
      return;
    case PeerFault::kNone:
      break;
  }
  if (fails) {
    fail_put(put, ErrorCode::kSystem, ErrorScope::kOperation, "failed (injected fault)");
    return;
  }
  puts_.add(put, tick_, options.hold_puts);
}

void FaultyFabric::State::fail_put(const Put& put,
                                   ErrorCode code,
                                   ErrorScope scope,
                                   const char* why) {
  take_outcome(
      Event{put.context, now_ns(), put.immediate, put.peer, Event::Kind::kFailed},
      Error{code, scope, fmt::format("put {} to peer {}: {}", put.context, put.peer, why), 0});
}

void FaultyFabric::State::release_puts() {
  while (puts_.due(tick_)) {
    const PeerFault fault = fault_of(puts_.front().peer);
    if (fault == PeerFault::kNone) {
      if (inner->post({&puts_.front(), 1}) == 0) return;
      puts_.pop();
      continue;
    }
    const Put put = puts_.pop();
    if (fault == PeerFault::kDead) {
      fail_put(put, ErrorCode::kPeerLost, ErrorScope::kPeer, "the peer is dead (injected fault)");
    }
  }
}

void FaultyFabric::State::take_arrival(const Event& event) {
  const bool lost = arrivals_.chance(options.lose_arrival);
  const bool twice = arrivals_.chance(options.duplicate_arrival);
  if (lost || fault_of(event.peer) == PeerFault::kCut) return;
  arrivals_.add(event, tick_, options.hold_arrivals);
  if (twice) arrivals_.add(event, tick_, options.hold_arrivals);
}

void FaultyFabric::State::take_outcome(const Event& event, Error error) {
  const bool twice = outcomes_.chance(options.duplicate_completion);
  if (twice) outcomes_.add(Outcome{event, error, true}, tick_, options.hold_completions);
  outcomes_.add(Outcome{event, std::move(error), false}, tick_, options.hold_completions);
}

void FaultyFabric::State::collect() {
  Event event;
  for (std::size_t seen = 0; seen < kMostPerPoll; ++seen) {
    // One at a time: last_error() keeps the latest failure's words only.
    if (inner->poll({&event, 1}) == 0) return;
    if (event.kind == Event::Kind::kArrived) {
      take_arrival(event);
    } else {
      const bool failed = event.kind == Event::Kind::kFailed;
      take_outcome(event, failed ? inner->last_error() : Error{});
    }
  }
}

std::size_t FaultyFabric::State::poll(std::span<Event> events) {
  ++tick_;
  release_puts();
  collect();
  std::size_t count = 0;
  while (count < events.size() && outcomes_.due(tick_)) {
    Outcome outcome = outcomes_.pop();
    if (outcome.event.kind == Event::Kind::kFailed) last_error = std::move(outcome.error);
    if (!outcome.copy && outcome.event.context != kNoContext && outstanding_ > 0) --outstanding_;
    events[count] = outcome.event;
    events[count++].time_ns = now_ns();
  }
  while (count < events.size() && arrivals_.due(tick_)) {
    events[count] = arrivals_.pop();
    events[count++].time_ns = now_ns();
  }
  return count;
}

Result<std::unique_ptr<FaultyFabric>> FaultyFabric::create(std::unique_ptr<Fabric> inner,
                                                           const FaultOptions& options) {
  SHUNT_TRY(check_faults(options));
  if (inner == nullptr) return usage_error("faulty fabric: there is no fabric to wrap");
  return std::unique_ptr<FaultyFabric>(
      new FaultyFabric(std::make_unique<State>(std::move(inner), options)));
}

FaultyFabric::FaultyFabric(std::unique_ptr<State> state) : state_(std::move(state)) {}
FaultyFabric::~FaultyFabric() = default;

void FaultyFabric::set_peer_fault(int peer, PeerFault fault) {
  state_->peers[static_cast<std::size_t>(peer)].store(fault, std::memory_order_relaxed);
  state_->inner->wake();
}

Status FaultyFabric::expose_regions(std::span<const Region> regions) {
  return state_->inner->expose_regions(regions);
}

Result<std::vector<std::byte>> FaultyFabric::address() const {
  return state_->inner->address();
}

Status FaultyFabric::connect(std::span<const std::vector<std::byte>> peers) {
  std::vector<std::atomic<PeerFault>> faults(peers.size());
  for (auto& fault : faults) fault.store(PeerFault::kNone, std::memory_order_relaxed);
  state_->peers.swap(faults);
  return state_->inner->connect(peers);
}

std::size_t FaultyFabric::post(std::span<const Put> puts) {
  return state_->post(puts);
}

std::size_t FaultyFabric::poll(std::span<Event> events) {
  return state_->poll(events);
}

void FaultyFabric::wait(std::uint64_t timeout_ns) {
  if (!state_->holding()) state_->inner->wait(timeout_ns);
}

void FaultyFabric::wake() {
  state_->inner->wake();
}

Error FaultyFabric::last_error() const {
  return state_->last_error;
}

std::string FaultyFabric::provider() const {
  return fmt::format("{} with injected faults", state_->inner->provider());
}

std::size_t FaultyFabric::depth() const {
  return state_->inner->depth();
}

}  // namespace shunt::fabric
