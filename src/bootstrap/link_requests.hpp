// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The changes to links that emulated nodes consist of, one function a change. All of them act in
// the namespace of the socket.
#pragma once

#include <cstdint>
#include <string>

#include "bootstrap/emulated_nodes.hpp"
#include "bootstrap/netlink.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

struct VethPair {
  std::string name;       ///< The end in this namespace.
  std::string bridge;     ///< That it is plugged into.
  std::string peer_name;  ///< The end in the other namespace.
  int peer_namespace_fd = -1;
  int mtu = 1500;
};

/// Queue discipline tbf.
struct TokenBucket {
  std::uint64_t rate_bytes_per_s = 0;
  std::uint32_t burst_bytes = 0;
  std::uint32_t limit_bytes = 0;  ///< What may wait, tokens included; more is dropped.
};

[[nodiscard]] Status add_bridge(Netlink& netlink, const std::string& name, int mtu);
[[nodiscard]] Status add_veth(Netlink& netlink, const VethPair& pair);
[[nodiscard]] Status add_token_bucket(Netlink& netlink,
                                      const std::string& name,
                                      const TokenBucket& bucket);
[[nodiscard]] Status add_address(Netlink& netlink,
                                 const std::string& name,
                                 std::uint32_t address,
                                 int prefix_bits);
[[nodiscard]] Status set_up(Netlink& netlink, const std::string& name);
[[nodiscard]] Status read_counters(Netlink& netlink,
                                   const std::string& name,
                                   LinkCounters* counters);

}  // namespace shunt::bootstrap
