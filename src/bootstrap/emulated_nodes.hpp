// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Several nodes on one machine, joined by links of a known rate. in: number of nodes and rate →
// out: namespaces that ranks enter, an address for each, and the counters of their links.
//
//   node 0: nic0, token bucket ──┐
//   node 1: nic0, token bucket ──┼── switch: bridge, one token bucket per port
//   …                          ──┘
//
// Several NICs a node are as many such planes beside each other, NIC k reaching the peers' NICs k
// only, as networks with a switch for every rail are built.
//
// Each box is a network namespace without a name, held by descriptors only: the kernel takes all of
// it down with the last process that holds them, however that ends. Nothing is ever created in the
// machine's own namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

class Netlink;

struct EmulatedLinkOptions {
  int nodes = 2;
  int nics = 1;  ///< Of each node, all of the same rate.
  /// Of each NIC, in each direction: what its token bucket lets through, Ethernet headers
  /// included.
  double rate_bytes_per_s = 0;
  /// Of the NICs. Jumbo frames, as networks under RDMA have them.
  int mtu = 9000;
};

/// What a node's NIC has sent since it was made. Take differences.
struct LinkCounters {
  std::uint64_t wire_bytes =
      0;  ///< Through the token bucket, Ethernet header of every frame included.
  std::uint64_t wire_packets = 0;  ///< Frames, as segmented for the wire.
  std::uint64_t drops = 0;
  std::uint64_t interface_tx_bytes = 0;  ///< Counts a segmented packet's headers once.
  std::uint64_t interface_rx_bytes = 0;
  std::optional<std::uint64_t> resent_segments;  ///< By the node's TCP; absent without /proc.
};

/// Created once, by the process that launches the ranks, before it forks them; then usable there
/// and in the ranks. Thread-safe.
class EmulatedNodes {
 public:
  /// kPermission unless the process may create network namespaces (root); kUnsupported where the
  /// kernel lacks veth, bridge or tbf.
  [[nodiscard]] static Result<EmulatedNodes> create(const EmulatedLinkOptions& options);

  /// Moves the calling thread, and what it starts or forks from then on, to `node`.
  [[nodiscard]] Status enter(int node) const;
  /// IPv4 address of a NIC of the node.
  [[nodiscard]] std::string address(int node, int nic = 0) const;
  /// Name of that network interface, the same on all nodes.
  [[nodiscard]] static std::string interface_name(int nic = 0);
  /// Of all its NICs together.
  [[nodiscard]] Result<LinkCounters> counters(int node) const;
  /// Of one NIC; what TCP sent again is the whole node's.
  [[nodiscard]] Result<LinkCounters> counters(int node, int nic) const;

  [[nodiscard]] int nodes() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int nics() const { return options_.nics; }
  [[nodiscard]] const EmulatedLinkOptions& options() const { return options_; }
  /// The token bucket's depth: bytes that may pass at once after an idle time.
  [[nodiscard]] std::uint32_t burst_bytes() const;

 private:
  explicit EmulatedNodes(const EmulatedLinkOptions& options) : options_(options) {}
  [[nodiscard]] Status build();
  [[nodiscard]] Status build_plane(Netlink& netlink, int nic) const;
  [[nodiscard]] Status build_nics(Netlink& netlink, int node) const;
  [[nodiscard]] Result<LinkCounters> read_nics(int node, int first, int end) const;

  EmulatedLinkOptions options_;
  UniqueFd switch_;
  std::vector<UniqueFd> nodes_;
};

}  // namespace shunt::bootstrap
