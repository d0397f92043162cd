// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/mock_fabric.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/mutex.hpp"
#include "fabric/fixed_queue.hpp"
#include "fabric/mock_link.hpp"
#include "fabric/put_check.hpp"

namespace shunt::fabric {
namespace {

struct AddressBlob {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::int64_t rank = -1;
};
constexpr std::uint32_t kAddressMagic = 0x6b636d73;  // "smck"
constexpr std::uint32_t kAddressVersion = 1;

class MockFabric final : public Fabric {
 public:
  MockFabric(MockNetwork& network, int rank)
      : network_(network),
        rank_(rank),
        port_(network.port(rank)),
        done_(network.options().depth),
        failures_(network.options().depth) {}

  ~MockFabric() override {
    port_.closed.store(true);
    for (const Peer& peer : peers_) {
      if (peer.in != nullptr) peer.in->await_idle();
    }
  }

  Status expose_regions(std::span<const Region> regions) override {
    if (port_.exposed.load(std::memory_order_relaxed)) {
      return usage_error("mock fabric, rank {}: expose() was called twice", rank_);
    }
    SHUNT_TRY(check_regions(regions, "mock"));
    port_.space = Space(regions);
    for (std::size_t i = 0; i < regions.size(); ++i) port_.bases[i] = regions[i].bytes.data();
    limits_.source = port_.space;
    port_.exposed.store(true, std::memory_order_release);
    return {};
  }

  Result<std::vector<std::byte>> address() const override {
    if (!port_.exposed.load(std::memory_order_relaxed)) {
      return usage_error("mock fabric, rank {}: call expose() before address()", rank_);
    }
    const AddressBlob blob{kAddressMagic, kAddressVersion, rank_};
    std::vector<std::byte> bytes(sizeof(blob));
    std::memcpy(bytes.data(), &blob, sizeof(blob));
    return bytes;
  }

  Status connect(std::span<const std::vector<std::byte>> peers) override {
    if (!peers_.empty()) {
      return usage_error("mock fabric, rank {}: connect() was called twice", rank_);
    }
    peers_.resize(peers.size());
    targets_.assign(peers.size(), {});
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (!peers[i].empty()) SHUNT_TRY(connect_peer(i, peers[i]));
    }
    limits_.targets = targets_;
    limits_.qps = network_.options().qps;
    return {};
  }

  std::size_t post(std::span<const Put> puts) override {
    std::size_t taken = 0;
    for (const Put& put : puts) {
      if (done_.size() >= depth()) break;
      if (!allowed(put, limits_)) {
        fail_put(put, explain_refusal(put, limits_));
      } else if (!send(put, peers_[static_cast<std::size_t>(put.peer)])) {
        break;
      }
      ++taken;
    }
    return taken;
  }

  std::size_t poll(std::span<Event> events) override {
    seen_ = port_.bell();
    std::size_t count = 0;
    while (count < events.size() && !done_.empty()) {
      events[count] = done_.pop();
      events[count].time_ns = now_ns();
      if (events[count].kind == Event::Kind::kFailed) last_error_ = failures_.pop();
      ++count;
    }
    // The scan starts where the last one stopped: a busy peer does not starve the others.
    for (std::size_t scanned = 0; scanned < peers_.size() && count < events.size(); ++scanned) {
      const std::size_t peer = next_;
      while (count < events.size() && receive(peer, events[count])) ++count;
      next_ = peer + 1 == peers_.size() ? 0 : peer + 1;
    }
    if (count == events.size()) more_ = true;
    return count;
  }

  void wait(std::uint64_t timeout_ns) override {
    if (std::exchange(more_, false) || !done_.empty()) return;
    if (woken_.exchange(false)) return;
    port_.sleep(seen_, timeout_ns);
    woken_.store(false);
  }

  void wake() override {
    woken_.store(true);
    port_.ring();
  }

  Error last_error() const override { return last_error_; }
  std::string provider() const override { return "mock"; }
  std::size_t depth() const override { return network_.options().depth; }

 private:
  struct Peer {
    mock::Port* port = nullptr;
    mock::Link* in = nullptr;
    mock::Link* out = nullptr;
    int rank = -1;
  };

  Status connect_peer(std::size_t index, const std::vector<std::byte>& bytes) {
    AddressBlob blob;
    if (bytes.size() == sizeof(blob)) std::memcpy(&blob, bytes.data(), sizeof(blob));
    if (blob.magic != kAddressMagic || blob.version != kAddressVersion || blob.rank < 0 ||
        blob.rank >= network_.ranks()) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kPeer,
                  "mock fabric, rank {}: the address of peer {} is not one of this network: all "
                  "ranks must use the same fabric",
                  rank_,
                  index);
    }
    Peer& peer = peers_[index];
    peer.rank = static_cast<int>(blob.rank);
    peer.port = &network_.port(peer.rank);
    peer.in = &network_.link(peer.rank, rank_);
    peer.out = &network_.link(rank_, peer.rank);
    if (!peer.port->exposed.load(std::memory_order_acquire)) {
      return usage_error("mock fabric, rank {}: peer {} has no exposed region", rank_, index);
    }
    targets_[index] = peer.port->space;
    return {};
  }

  /// False if the link is full.
  bool send(const Put& put, Peer& peer) {
    if (!peer.out->enter(*peer.port)) {
      fail_put(put,
               Error{ErrorCode::kPeerLost,
                     ErrorScope::kPeer,
                     fmt::format("put {} to peer {}: rank {} has closed its fabric",
                                 put.context,
                                 put.peer,
                                 peer.rank),
                     0});
      return true;
    }
    const bool room = !peer.out->full();
    if (room) {
      mock::Message message;
      message.immediate = put.immediate;
      message.target_offset = put.target_offset;
      const std::byte* source = port_.at(put.source_offset);
      if (put.bytes == 0) {
        // The immediate alone.
      } else if (network_.options().landing == MockOptions::Landing::kAtPost) {
        std::memcpy(peer.port->at(put.target_offset), source, put.bytes);
      } else {
        message.payload.assign(source, source + put.bytes);
      }
      peer.out->push(std::move(message));
    }
    peer.out->leave();
    if (!room) return false;
    peer.port->ring();
    done_.push(Event{put.context, 0, put.immediate, put.peer, Event::Kind::kCompleted});
    return true;
  }

  bool receive(std::size_t peer, Event& event) {
    mock::Message message;
    if (peers_[peer].in == nullptr || !peers_[peer].in->pop(message)) return false;
    if (!message.payload.empty()) {
      std::memcpy(port_.at(message.target_offset), message.payload.data(), message.payload.size());
    }
    event = Event{
        0, now_ns(), message.immediate, static_cast<std::int32_t>(peer), Event::Kind::kArrived};
    return true;
  }

  void fail_put(const Put& put, Error error) {
    done_.push(Event{put.context, 0, put.immediate, put.peer, Event::Kind::kFailed});
    failures_.push(std::move(error));
  }

  MockNetwork& network_;
  const int rank_;
  mock::Port& port_;
  std::vector<Peer> peers_;
  std::vector<Space> targets_;
  PutLimits limits_;
  FixedQueue<Event> done_;      ///< Completions and failures not delivered yet.
  FixedQueue<Error> failures_;  ///< The words of the kFailed events in done_, in their order.
  Error last_error_;
  std::size_t next_ = 0;    ///< Peer whose link is scanned first.
  std::uint32_t seen_ = 0;  ///< The bell before the latest poll().
  bool more_ = false;       ///< The latest poll() ran out of room.
  std::atomic<bool> woken_{false};
};

}  // namespace

struct MockNetwork::Links {
  Mutex mutex;
  std::vector<std::unique_ptr<mock::Link>> by_pair SHUNT_GUARDED_BY(mutex);
};

MockNetwork::MockNetwork(int ranks, MockOptions options)
    : options_(options), links_(std::make_unique<Links>()) {
  for (int rank = 0; rank < ranks; ++rank) ports_.push_back(std::make_unique<mock::Port>());
  const MutexLock lock(links_->mutex);
  links_->by_pair.resize(ports_.size() * ports_.size());
}

MockNetwork::~MockNetwork() = default;

mock::Link& MockNetwork::link(int from, int to) {
  const std::size_t index =
      static_cast<std::size_t>(from) * ports_.size() + static_cast<std::size_t>(to);
  const MutexLock lock(links_->mutex);
  auto& link = links_->by_pair[index];
  if (link == nullptr)
    link = std::make_unique<mock::Link>(std::max<std::size_t>(options_.depth, 1));
  return *link;
}

Result<std::unique_ptr<Fabric>> MockNetwork::create(int rank) {
  if (rank < 0 || rank >= ranks()) {
    return usage_error("mock network: no rank {} (0 to {})", rank, ranks() - 1);
  }
  if (options_.depth == 0 || options_.qps < 1) {
    return usage_error("mock network: depth and qps are at least 1");
  }
  if (port(rank).taken.exchange(true)) {
    return usage_error("mock network: rank {} has a fabric already", rank);
  }
  return std::unique_ptr<Fabric>(std::make_unique<MockFabric>(*this, rank));
}

}  // namespace shunt::fabric
