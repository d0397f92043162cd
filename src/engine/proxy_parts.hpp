// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of a progress thread share, and nobody else: proxy.cpp (its life and its loop),
// proxy_send.cpp (descriptors → fabric), proxy_receive.cpp (fabric → flags), proxy_peers.cpp (who
// is alive).
#pragma once

#include <cstdint>

#include "engine/proxy.hpp"
#include "fabric/signal.hpp"

namespace shunt::engine {

struct Proxy::Flight {
  std::uint64_t enqueued_ns = 0;
  std::uint64_t posted_ns = 0;
  std::uint64_t bytes = 0;
  exec::SlotNote note;
};

struct Proxy::Channel {
  fabric::ReceiverChannel receiver;
  fabric::SenderChannel sender;
  std::uint64_t credit_told = 0;
  bool dirty = false;
};

inline Proxy::Channel& Proxy::channel(int kind, std::uint32_t number) {
  return channels_[static_cast<std::size_t>(kind) * own_ + number];
}

inline Proxy::Flight& Proxy::flight(int kind, std::uint32_t number, std::uint64_t sequence) {
  return flights_[kind][options_.rank.layout.slot(kind, number, sequence)];
}

inline int Proxy::rail_rank(std::size_t number) const {
  return options_.rank.rail_rank(
      static_cast<int>(part_.share.peer(static_cast<std::uint32_t>(number))));
}

namespace proxy {

/// Taken at once, of descriptors and of events.
inline constexpr int kBatch = 64;
inline constexpr int kKinds = fabric::kChannelKinds;

/// Context of a data put: 1 (bit 63) | kind (2 bits at 60) | peer (16 at 44) | sequence (44).
/// Unique for the life of a Buffer, so that a duplicated completion names its own put.
inline constexpr std::uint64_t kDataTag = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << 44) - 1;
/// Context of a goodbye: this tag and the peer's number in the share.
inline constexpr std::uint64_t kGoodbyeTag = std::uint64_t{1} << 62;

constexpr std::uint64_t make_context(int kind, std::uint32_t peer, std::uint64_t sequence) {
  return kDataTag | (static_cast<std::uint64_t>(kind) << 60) |
         (static_cast<std::uint64_t>(peer) << 44) | (sequence & kSequenceMask);
}
constexpr int kind_of(std::uint64_t context) {
  return static_cast<int>((context >> 60) & 3U);
}
constexpr std::uint32_t peer_of(std::uint64_t context) {
  return static_cast<std::uint32_t>((context >> 44) & 0xffffU);
}
constexpr std::uint64_t sequence_of(std::uint64_t context) {
  return context & kSequenceMask;
}

}  // namespace proxy
}  // namespace shunt::engine
