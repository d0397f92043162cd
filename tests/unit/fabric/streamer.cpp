// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "streamer.hpp"

#include <array>
#include <thread>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace shunt::fabric::test {
namespace {

// immediate: credit (1) | source rank (7) | message (24)
constexpr std::uint32_t kCredit = 1U << 31;
constexpr std::uint32_t kMessageMask = (1U << 24) - 1;
constexpr std::uint64_t kNoSlot = ~std::uint64_t{0};

std::uint32_t immediate_of(int source, std::uint32_t message) {
  return static_cast<std::uint32_t>(source) << 24 | message;
}

}  // namespace

Streamer::Streamer(Fabric& fabric, std::span<std::byte> region, int self, const StreamShape& shape)
    : fabric_(&fabric), region_(region), self_(self), shape_(shape) {
  peers_.resize(static_cast<std::size_t>(shape_.ranks));
  for (Peer& peer : peers_) {
    peer.completed.assign(shape_.window, true);
    for (std::uint32_t slot = 0; slot < shape_.window; ++slot) {
      peer.free_at.push_back(slot);
      peer.expected.push_back(slot);
    }
  }
}

std::uint64_t Streamer::landing(int rank, std::uint32_t slot) const {
  return (static_cast<std::uint64_t>(rank) * shape_.window + slot) * shape_.slot_bytes;
}

std::uint64_t Streamer::staging(int rank, std::uint32_t slot) const {
  return landing(shape_.ranks + rank, slot);
}

void Streamer::complain(const std::string& text) {
  if (complaint_.empty()) complaint_ = fmt::format("rank {}: {}", self_, text);
}

bool Streamer::put(Put put) {
  put.context = next_context_;
  if (fabric_->post({&put, 1}) == 0) return false;
  outstanding_.insert(next_context_++);
  return true;
}

bool Streamer::send_data(int target) {
  Peer& peer = peers_[static_cast<std::size_t>(target)];
  const std::uint32_t message = peer.sent;
  const std::uint32_t slot = message % shape_.window;
  if (message == shape_.messages || peer.free_at[slot] != message || !peer.completed[slot]) {
    return false;
  }
  const std::uint64_t source = staging(target, slot);
  for (std::uint64_t i = 0; i < size_of(message); ++i) {
    region_[source + i] = pattern(static_cast<std::uint64_t>(self_), message, i);
  }
  if (!put(Put{.source_offset = source,
               .target_offset = landing(self_, slot),
               .bytes = size_of(message),
               .immediate = immediate_of(self_, message),
               .peer = target,
               .qp = static_cast<std::int32_t>(message) % shape_.qps})) {
    return false;
  }
  slot_of_context_.push_back(static_cast<std::uint64_t>(target) << 32 | slot);
  peer.completed[slot] = false;
  ++peer.sent;
  return true;
}

bool Streamer::send_credits(int target) {
  Peer& peer = peers_[static_cast<std::size_t>(target)];
  bool any = false;
  while (!peer.credits_owed.empty()) {
    const std::uint32_t message = peer.credits_owed.back();
    if (!put(Put{.immediate = kCredit | immediate_of(self_, message),
                 .peer = target,
                 .qp = static_cast<std::int32_t>(message) % shape_.qps})) {
      return any;
    }
    slot_of_context_.push_back(kNoSlot);
    peer.credits_owed.pop_back();
    ++peer.credits_sent;
    any = true;
  }
  return any;
}

bool Streamer::step() {
  bool any = false;
  for (int target = 0; target < shape_.ranks; ++target) {
    any = send_credits(target) || any;
    while (send_data(target)) any = true;
  }
  std::array<Event, 7> events;
  const std::size_t count = fabric_->poll(events);
  for (const Event& event : std::span(events).first(count)) {
    if (event.kind == Event::Kind::kArrived) {
      on_arrival(event);
    } else {
      on_completion(event);
    }
  }
  return any || count > 0;
}

void Streamer::on_completion(const Event& event) {
  if (event.kind == Event::Kind::kFailed) {
    complain(fmt::format("failure: {}", fabric_->last_error().to_string()));
  }
  if (event.context >= next_context_) {
    complain(fmt::format("completion of {}, which was never posted", event.context));
    return;
  }
  if (outstanding_.erase(event.context) == 0) {
    ++duplicates_;
    return;
  }
  const std::uint64_t slot = slot_of_context_[event.context];
  if (slot != kNoSlot) peers_[slot >> 32].completed[slot & 0xffffffffU] = true;
}

void Streamer::on_arrival(const Event& event) {
  const int source = static_cast<int>(event.immediate >> 24 & 0x7f);
  const std::uint32_t message = event.immediate & kMessageMask;
  if (source >= shape_.ranks || message >= shape_.messages) {
    complain(fmt::format("immediate {:#x} was never sent", event.immediate));
    return;
  }
  if (event.peer >= 0 && event.peer != source) {
    complain(fmt::format("arrival of rank {} attributed to peer {}", source, event.peer));
  }
  if ((event.immediate & kCredit) != 0) {
    on_credit(peers_[static_cast<std::size_t>(source)], message);
  } else {
    on_data(source, message);
  }
}

void Streamer::on_credit(Peer& peer, std::uint32_t message) {
  std::uint32_t& free_at = peer.free_at[message % shape_.window];
  if (free_at != message) {
    ++duplicates_;
    return;
  }
  free_at += shape_.window;
  ++peer.credited;
}

void Streamer::on_data(int source, std::uint32_t message) {
  Peer& peer = peers_[static_cast<std::size_t>(source)];
  const std::uint32_t slot = message % shape_.window;
  if (message < peer.expected[slot]) {
    ++duplicates_;
    return;
  }
  if (message > peer.expected[slot]) complain(fmt::format("message {} is early", message));
  if (message < peer.newest) ++overtakings_;
  peer.newest = message < peer.newest ? peer.newest : message + 1;
  for (std::uint64_t i = 0; i < size_of(message); ++i) {
    if (region_[landing(source, slot) + i] !=
        pattern(static_cast<std::uint64_t>(source), message, i)) {
      complain(fmt::format("message {} of rank {}: byte {} of {} is not there at its immediate",
                           message,
                           source,
                           i,
                           size_of(message)));
      break;
    }
  }
  peer.expected[slot] += shape_.window;
  ++peer.received;
  peer.credits_owed.push_back(message);
}

bool Streamer::finished() const {
  if (!outstanding_.empty()) return false;
  for (const Peer& peer : peers_) {
    if (peer.received != shape_.messages || peer.credited != shape_.messages ||
        peer.credits_sent != shape_.messages) {
      return false;
    }
  }
  return true;
}

namespace {

std::vector<Streamer> make_streamers(std::vector<Rank>& ranks, const StreamShape& shape) {
  std::vector<Streamer> streamers;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    streamers.emplace_back(*ranks[i].fabric, ranks[i].region, static_cast<int>(i), shape);
  }
  return streamers;
}

}  // namespace

std::vector<Streamer> stream_in_threads(std::vector<Rank>& ranks, const StreamShape& shape) {
  auto streamers = make_streamers(ranks, shape);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&streamer = streamers[i], &fabric = *ranks[i].fabric] {
      const Deadline deadline = Deadline::after_ns(kPatienceNs);
      while (!streamer.finished() && !deadline.expired()) {
        if (!streamer.step()) fabric.wait(1'000'000);
      }
      if (!streamer.finished()) streamer.complain("not finished in time");
    });
  }
  for (std::thread& thread : threads) thread.join();
  return streamers;
}

std::vector<Streamer> stream_in_turn(std::vector<Rank>& ranks, const StreamShape& shape) {
  auto streamers = make_streamers(ranks, shape);
  const Deadline deadline = Deadline::after_ns(kPatienceNs);
  for (bool finished = false; !finished;) {
    finished = true;
    for (Streamer& streamer : streamers) {
      streamer.step();
      finished = finished && streamer.finished();
    }
    if (!finished && deadline.expired()) {
      streamers[0].complain("not finished in time");
      return streamers;
    }
  }
  return streamers;
}

}  // namespace shunt::fabric::test
