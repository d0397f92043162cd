// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The bare fabric between two processes of this host: what the same endpoints reach when nothing is
// packed, forwarded or counted. The yardstick for the library's wire rates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/libfabric_fabric.hpp"

namespace shunt::bench {

struct PlainPutsOptions {
  fabric::LibfabricOptions fabric;  ///< Of both ends; bind_address as below where given.
  /// By end, sender first: network namespace to enter (as of `ip netns`) and own address in it.
  std::array<std::string, 2> namespaces;
  std::array<std::string, 2> addresses;
  std::vector<std::uint64_t> sizes{16384, 65536, 262144, 1048576};
  std::uint64_t bytes_per_repetition = 256'000'000;
  int repetitions = 7;
  std::size_t window = 64;         ///< Puts in flight.
  std::uint64_t spin_ns = 20'000;  ///< Polling without events before an end sleeps.
};

/// One repetition: the time from the first post to the last arrival, on the host's one clock.
struct Repetition {
  std::uint64_t bytes = 0;
  std::uint64_t puts = 0;
  std::uint64_t ns = 0;
  std::uint64_t cpu_ns = 0;       ///< User and system, both processes.
  std::uint64_t allocations = 0;  ///< operator new in the sender meanwhile.
};

struct PlainPuts {
  std::string provider;
  std::vector<std::vector<Repetition>> by_size;  ///< As in options.sizes, first repetition dropped.
};

[[nodiscard]] Result<PlainPuts> measure_plain_puts(const PlainPutsOptions& options);

}  // namespace shunt::bench
