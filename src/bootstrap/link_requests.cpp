// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/link_requests.hpp"

#include <arpa/inet.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string_view>

#include "base/error.hpp"

namespace shunt::bootstrap {
namespace {

constexpr std::uint16_t kCreate = NLM_F_CREATE | NLM_F_EXCL;

/// Puts the kernel's refusal into words; `needs` is the kernel module that the step rests on.
Status carry_out(Netlink& netlink,
                 NetlinkRequest request,
                 const std::string& what,
                 std::string_view needs) {
  const Result<int> refused = netlink.request(std::move(request));
  if (!refused) return Unexpected(refused.error());
  if (*refused == 0) return {};
  if (*refused == EPERM) {
    return fail(ErrorCode::kPermission,
                ErrorScope::kUsage,
                "{} needs CAP_NET_ADMIN: run as root, or without an emulated link",
                what);
  }
  if (!needs.empty() && (*refused == EOPNOTSUPP || *refused == ENOENT)) {
    return fail(ErrorCode::kUnsupported,
                ErrorScope::kUsage,
                "{} is not possible: this kernel has no {} (modprobe {} as root where it is a "
                "module)",
                what,
                needs,
                needs);
  }
  return system_error(*refused, "{} failed", what);
}

/// Index of an interface of the socket's namespace.
Result<int> index_of(Netlink& netlink, const std::string& name) {
  const auto links = netlink.dump(NetlinkRequest(RTM_GETLINK, 0, ifinfomsg{}));
  if (!links) return Unexpected(links.error());
  for (const std::vector<std::byte>& link : *links) {
    const std::span<const std::byte> bytes(link);
    if (bytes.size() < sizeof(ifinfomsg)) continue;
    const auto found = find_attribute(bytes.subspan(sizeof(ifinfomsg)), IFLA_IFNAME);
    if (!found || found->size() != name.size() + 1) continue;
    if (std::memcmp(found->data(), name.c_str(), name.size()) == 0) {
      return read_structure<ifinfomsg>(bytes).ifi_index;
    }
  }
  return fail(
      ErrorCode::kInternal, ErrorScope::kOperation, "no interface {} in its namespace", name);
}

}  // namespace

Status add_bridge(Netlink& netlink, const std::string& name, int mtu) {
  NetlinkRequest request(RTM_NEWLINK, kCreate, ifinfomsg{});
  request.text(IFLA_IFNAME, name)
      .attribute(IFLA_MTU, static_cast<std::uint32_t>(mtu))
      .nested(IFLA_LINKINFO, [](NetlinkRequest& info) { info.text(IFLA_INFO_KIND, "bridge"); });
  return carry_out(
      netlink, std::move(request), "adding the switch of the emulated nodes", "bridge");
}

Status add_veth(Netlink& netlink, const VethPair& pair) {
  const Result<int> bridge = index_of(netlink, pair.bridge);
  if (!bridge) return Unexpected(bridge.error());
  const auto mtu = static_cast<std::uint32_t>(pair.mtu);
  NetlinkRequest request(RTM_NEWLINK, kCreate, ifinfomsg{});
  request.text(IFLA_IFNAME, pair.name)
      .attribute(IFLA_MTU, mtu)
      .attribute(IFLA_MASTER, static_cast<std::uint32_t>(*bridge))
      .nested(IFLA_LINKINFO, [&pair, mtu](NetlinkRequest& info) {
        info.text(IFLA_INFO_KIND, "veth")
            .nested(IFLA_INFO_DATA, [&pair, mtu](NetlinkRequest& data) {
              data.nested(VETH_INFO_PEER, [&pair, mtu](NetlinkRequest& peer) {
                peer.structure(ifinfomsg{})
                    .text(IFLA_IFNAME, pair.peer_name)
                    .attribute(IFLA_MTU, mtu)
                    .attribute(IFLA_NET_NS_FD, static_cast<std::uint32_t>(pair.peer_namespace_fd));
              });
            });
      });
  return carry_out(netlink, std::move(request), "adding an emulated link", "veth");
}

Status add_token_bucket(Netlink& netlink, const std::string& name, const TokenBucket& bucket) {
  const Result<int> index = index_of(netlink, name);
  if (!index) return Unexpected(index.error());
  tcmsg body{};
  body.tcm_family = AF_UNSPEC;
  body.tcm_ifindex = *index;
  body.tcm_handle = 1U << 16;
  body.tcm_parent = TC_H_ROOT;
  tc_tbf_qopt options{};
  // With a link layer given, the kernel computes times from the rate instead of from a table.
  options.rate.linklayer = TC_LINKLAYER_ETHERNET;
  options.rate.rate = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bucket.rate_bytes_per_s, std::numeric_limits<std::uint32_t>::max()));
  options.limit = bucket.limit_bytes;
  NetlinkRequest request(RTM_NEWQDISC, kCreate, body);
  request.text(TCA_KIND, "tbf").nested(TCA_OPTIONS, [&](NetlinkRequest& nest) {
    nest.attribute(TCA_TBF_PARMS, options).attribute(TCA_TBF_BURST, bucket.burst_bytes);
    if (bucket.rate_bytes_per_s > std::numeric_limits<std::uint32_t>::max()) {
      nest.attribute(TCA_TBF_RATE64, bucket.rate_bytes_per_s);
    }
  });
  return carry_out(netlink, std::move(request), "limiting an emulated link's rate", "sch_tbf");
}

Status add_address(Netlink& netlink,
                   const std::string& name,
                   std::uint32_t address,
                   int prefix_bits) {
  const Result<int> index = index_of(netlink, name);
  if (!index) return Unexpected(index.error());
  ifaddrmsg body{};
  body.ifa_family = AF_INET;
  body.ifa_prefixlen = static_cast<std::uint8_t>(prefix_bits);
  body.ifa_index = static_cast<std::uint32_t>(*index);
  const std::uint32_t wire = htonl(address);
  NetlinkRequest request(RTM_NEWADDR, kCreate, body);
  request.attribute(IFA_LOCAL, wire).attribute(IFA_ADDRESS, wire);
  return carry_out(netlink, std::move(request), "giving an emulated node its address", "");
}

Status set_up(Netlink& netlink, const std::string& name) {
  const Result<int> index = index_of(netlink, name);
  if (!index) return Unexpected(index.error());
  ifinfomsg body{};
  body.ifi_index = *index;
  body.ifi_flags = IFF_UP;
  body.ifi_change = IFF_UP;
  return carry_out(
      netlink, NetlinkRequest(RTM_NEWLINK, 0, body), "switching on interface " + name, "");
}

namespace {

Status read_interface(Netlink& netlink, int index, LinkCounters* counters) {
  const auto links = netlink.dump(NetlinkRequest(RTM_GETLINK, 0, ifinfomsg{}));
  if (!links) return Unexpected(links.error());
  for (const std::vector<std::byte>& link : *links) {
    const std::span<const std::byte> bytes(link);
    if (read_structure<ifinfomsg>(bytes).ifi_index != index) continue;
    const auto found = find_attribute(bytes.subspan(sizeof(ifinfomsg)), IFLA_STATS64);
    if (!found) break;
    const auto stats = read_structure<rtnl_link_stats64>(*found);
    counters->interface_tx_bytes = stats.tx_bytes;
    counters->interface_rx_bytes = stats.rx_bytes;
    return {};
  }
  return fail(ErrorCode::kInternal, ErrorScope::kOperation, "an emulated link has no counters");
}

}  // namespace

Status read_counters(Netlink& netlink, const std::string& name, LinkCounters* counters) {
  const Result<int> index = index_of(netlink, name);
  if (!index) return Unexpected(index.error());
  SHUNT_TRY(read_interface(netlink, *index, counters));
  tcmsg body{};
  body.tcm_ifindex = *index;
  const auto disciplines = netlink.dump(NetlinkRequest(RTM_GETQDISC, 0, body));
  if (!disciplines) return Unexpected(disciplines.error());
  for (const std::vector<std::byte>& discipline : *disciplines) {
    const std::span<const std::byte> bytes(discipline);
    const auto header = read_structure<tcmsg>(bytes);
    if (header.tcm_ifindex != *index || header.tcm_parent != TC_H_ROOT) continue;
    const auto stats = find_attribute(bytes.subspan(sizeof(tcmsg)), TCA_STATS2);
    if (!stats) continue;
    const auto basic = find_attribute(*stats, TCA_STATS_BASIC);
    const auto queue = find_attribute(*stats, TCA_STATS_QUEUE);
    if (!basic || !queue) continue;
    const auto sent = read_structure<gnet_stats_basic>(*basic);
    counters->wire_bytes = sent.bytes;
    counters->wire_packets = sent.packets;
    if (const auto wide = find_attribute(*stats, TCA_STATS_PKT64)) {
      counters->wire_packets = read_structure<std::uint64_t>(*wide);
    }
    counters->drops = read_structure<gnet_stats_queue>(*queue).drops;
    return {};
  }
  return fail(
      ErrorCode::kInternal, ErrorScope::kOperation, "an emulated link has no queue discipline");
}

}  // namespace shunt::bootstrap
