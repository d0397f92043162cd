// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The fabric between nodes over libfabric: reliable datagram endpoints, one a queue pair, and RMA
// writes with 32-bit remote completion data. in: options → out: Fabric. Compiled against 1.17, runs
// on 2.x. docs/fabric.md says what each provider is relied upon for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"

namespace shunt::fabric {

struct LibfabricOptions {
  /// "tcp" and "net" are two names of one provider (libfabric 1.18 and later, 1.17); "verbs",
  /// "efa", "cxi", or any that libfabric lists, as "tcp;ofi_rxm". Empty: tcp.
  std::string provider;
  /// Device within the provider, such as "mlx5_0". Empty: the first that fits.
  std::string domain;
  /// Address of the own interface, where endpoints are named by IP address. Empty: 127.0.0.1 for
  /// tcp, the provider's choice elsewhere. Peers on other hosts need a real one.
  std::string bind_address;
  std::int32_t qps = 1;      ///< Endpoints of this rank; the same number on all ranks.
  std::size_t depth = 1024;  ///< Puts that may be outstanding, to all peers together.
  /// Arrivals that may be waiting here: at least the sum of the credits given to all peers.
  std::size_t arrivals = 4096;
  /// Regions of devices will be exposed: asks for FI_HMEM, and forbids the provider to copy them
  /// where it knows how not to. device_memory.hpp says whether that can be had.
  bool device_memory = false;
  /// How long a first put may wait for a connection, which the peer accepts within its poll().
  std::uint64_t connect_timeout_ns = 30'000'000'000;
};

/// Opens the provider's device and the endpoints. An error names the requirement that is not met,
/// and the providers that this machine offers.
[[nodiscard]] Result<std::unique_ptr<Fabric>> create_libfabric(const LibfabricOptions& options);

/// The same on several NICs, striped (striped_fabric.hpp): `nics` are devices or addresses, in
/// place of those of `options`; `options.qps` counts the queue pairs of all.
[[nodiscard]] Result<std::unique_ptr<Fabric>> create_libfabric_on(
    const std::vector<std::string>& nics, const LibfabricOptions& options);

}  // namespace shunt::fabric
