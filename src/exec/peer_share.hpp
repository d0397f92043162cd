// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which progress thread of a rank serves which rail peer: peer p falls to thread p mod threads, on
// every executor.
#pragma once

#include <cstdint>

#include "base/host_device.hpp"

namespace shunt::exec {

/// The rail peers of one thread, numbered 0 … count − 1 among themselves.
struct PeerShare {
  std::uint32_t thread = 0;
  std::uint32_t threads = 1;  ///< At most the rail peers, or 1.

  [[nodiscard]] SHUNT_HOST_DEVICE static constexpr std::uint32_t thread_of(std::uint32_t peer,
                                                                           std::uint32_t threads) {
    return peer % threads;
  }
  [[nodiscard]] constexpr bool holds(std::uint32_t peer) const {
    return thread_of(peer, threads) == thread;
  }
  /// How many of `peers` rail peers.
  [[nodiscard]] constexpr std::uint32_t count(std::uint32_t peers) const {
    return (peers + threads - 1 - thread) / threads;
  }
  /// The rail peer of that number.
  [[nodiscard]] constexpr std::uint32_t peer(std::uint32_t number) const {
    return number * threads + thread;
  }
  /// REQUIRES: holds(peer).
  [[nodiscard]] constexpr std::uint32_t number(std::uint32_t peer) const { return peer / threads; }
};

}  // namespace shunt::exec
