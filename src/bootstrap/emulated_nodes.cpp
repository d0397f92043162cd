// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/emulated_nodes.hpp"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "bootstrap/link_requests.hpp"
#include "bootstrap/netlink.hpp"

namespace shunt::bootstrap {
namespace {

constexpr int kMostNodes = 1000;
constexpr int kMostNics = 16;
constexpr int kSmallestMtu = 576;
constexpr int kLargestMtu = 65535;
/// The bucket holds what passes in this time, so that short transfers see the rate as well.
constexpr double kBurstSeconds = 200e-6;
/// Time that a full queue takes to drain. Deep enough that drops are rare: the fabrics that this
/// stands for have none.
constexpr double kQueueSeconds = 20e-3;
constexpr double kSmallestQueueBytes = 4e6;

/// TCP inside the nodes. Names that a kernel does not have are skipped.
struct Setting {
  const char* path;
  const char* value;
};
constexpr Setting kSettings[] = {
    {"ipv6/conf/all/disable_ipv6", "1"},      // No router or neighbour chatter in the counters.
    {"ipv6/conf/default/disable_ipv6", "1"},  //
    // Not the machine's own choice: bbr paces itself by its guess of the rate, cubic stops growing
    // when a queue builds up. Where nothing is lost, as on a fabric, reno sends all that the
    // peers' windows hold.
    {"ipv4/tcp_congestion_control", "reno"},
    {"ipv4/tcp_slow_start_after_idle", "0"},  // A pause between operations costs no ramp.
    {"ipv4/tcp_no_metrics_save", "1"},        // A connection does not inherit another's bad luck.
    {"ipv4/tcp_autocorking", "0"},            // Small control messages leave at once.
    {"ipv4/tcp_retries2", "5"},               // A cut link is an error after seconds.
    {"ipv4/tcp_wmem", "4096 1048576 16777216"},
    {"ipv4/tcp_rmem", "4096 1048576 16777216"},
};

/// Runs `work` on a thread of its own, so that the caller's namespace stays what it is.
Status on_own_thread(const std::function<Status()>& work) {
  Status status;
  try {
    std::thread thread([&status, &work] { status = work(); });
    thread.join();
  } catch (const std::system_error& error) {
    return system_error(error.code().value(), "cannot start a thread");
  }
  return status;
}

Status enter_namespace(int fd) {
  if (::setns(fd, CLONE_NEWNET) == 0) return {};
  return system_error(errno, "cannot enter an emulated node");
}

/// RetransSegs of the calling thread's namespace: a line of names, then one of values, both "Tcp:".
std::optional<std::uint64_t> resent_segments() {
  const auto text = read_file("/proc/thread-self/net/snmp", 1U << 20);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  std::string names;
  std::string values;
  while (std::getline(lines, names) && !names.starts_with("Tcp:")) continue;
  std::getline(lines, values);
  std::istringstream name_words(names);
  std::istringstream value_words(values);
  std::string name;
  std::string value;
  while (name_words >> name && value_words >> value) {
    std::uint64_t number = 0;
    const char* end = value.data() + value.size();
    if (name == "RetransSegs" && std::from_chars(value.data(), end, number).ptr == end) {
      return number;
    }
  }
  return std::nullopt;
}

void configure_tcp() {
  for (const Setting& setting : kSettings) {
    std::ofstream(std::string("/proc/sys/net/") + setting.path) << setting.value;
  }
}

Result<UniqueFd> create_namespace() {
  UniqueFd made;
  const Status done = on_own_thread([&made]() -> Status {
    if (::unshare(CLONE_NEWNET) != 0) {
      const int sys = errno;
      if (sys == EPERM) {
        return fail(ErrorCode::kPermission,
                    ErrorScope::kUsage,
                    "emulated nodes need the right to create network namespaces: run as root "
                    "(CAP_SYS_ADMIN and CAP_NET_ADMIN), or without an emulated link");
      }
      if (sys == ENOSPC) {
        return fail(ErrorCode::kOutOfMemory,
                    ErrorScope::kOperation,
                    "no further network namespace is allowed; raise user.max_net_namespaces");
      }
      return system_error(sys, "cannot create a network namespace");
    }
    made.reset(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!made.valid()) return system_error(errno, "cannot hold a network namespace");
    configure_tcp();
    return {};
  });
  if (!done) return Unexpected(done.error());
  return made;
}

/// Runs `work` with a socket to the kernel inside the namespace.
Status in_namespace(int fd, const std::function<Status(Netlink&)>& work) {
  return on_own_thread([fd, &work]() -> Status {
    SHUNT_TRY(enter_namespace(fd));
    Result<Netlink> netlink = Netlink::open();
    if (!netlink) return Unexpected(std::move(netlink).error());
    return work(*netlink);
  });
}

std::string port_name(int node, int nic) {
  return fmt::format("port{}.{}", node, nic);
}

std::string switch_name(int nic) {
  return fmt::format("switch{}", nic);
}

/// A network a plane: 10.77.0.0/16, 10.78.0.0/16 …
std::uint32_t nic_address(int node, int nic) {
  const auto n = static_cast<std::uint32_t>(node);
  return (10U << 24) | (77U + static_cast<std::uint32_t>(nic)) << 16 | ((n / 250) << 8) |
         (n % 250 + 1);
}

TokenBucket token_bucket(const EmulatedLinkOptions& options) {
  const double rate = options.rate_bytes_per_s;
  const double frame = options.mtu + 14;
  const double burst = std::clamp(rate * kBurstSeconds, 2 * frame, 1e6);
  const double queue = std::max(rate * kQueueSeconds, kSmallestQueueBytes);
  TokenBucket bucket;
  bucket.rate_bytes_per_s = static_cast<std::uint64_t>(rate);
  bucket.burst_bytes = static_cast<std::uint32_t>(burst);
  bucket.limit_bytes = static_cast<std::uint32_t>(
      std::min(queue + burst, static_cast<double>(std::numeric_limits<std::uint32_t>::max())));
  return bucket;
}

Status check(const EmulatedLinkOptions& options) {
  if (options.nodes < 1 || options.nodes > kMostNodes) {
    return usage_error("{} emulated nodes are not allowed; 1 to {}", options.nodes, kMostNodes);
  }
  if (options.nics < 1 || options.nics > kMostNics) {
    return usage_error(
        "{} NICs an emulated node are not allowed; 1 to {}", options.nics, kMostNics);
  }
  // Written so that NaN is refused too.
  if (!(options.rate_bytes_per_s >= 1e4 && options.rate_bytes_per_s <= 1e12)) {
    return usage_error("an emulated link of {} bytes/s is not allowed; 10 kB/s to 1 TB/s",
                       format_significant(options.rate_bytes_per_s));
  }
  if (options.mtu < kSmallestMtu || options.mtu > kLargestMtu) {
    return usage_error(
        "an MTU of {} is not allowed; {} to {}", options.mtu, kSmallestMtu, kLargestMtu);
  }
  return {};
}

}  // namespace

Result<EmulatedNodes> EmulatedNodes::create(const EmulatedLinkOptions& options) {
  SHUNT_TRY(check(options));
  EmulatedNodes nodes(options);
  SHUNT_TRY(nodes.build());
  return nodes;
}

Status EmulatedNodes::build() {
  Result<UniqueFd> made = create_namespace();
  if (!made) return Unexpected(std::move(made).error());
  switch_ = std::move(*made);
  for (int node = 0; node < options_.nodes; ++node) {
    made = create_namespace();
    if (!made) return Unexpected(std::move(made).error());
    nodes_.push_back(std::move(*made));
  }
  const Status wired = in_namespace(switch_.get(), [this](Netlink& netlink) -> Status {
    SHUNT_TRY(set_up(netlink, "lo"));
    for (int nic = 0; nic < nics(); ++nic) SHUNT_TRY(build_plane(netlink, nic));
    return {};
  });
  SHUNT_TRY(wired);
  for (int node = 0; node < options_.nodes; ++node) {
    const Status ready = in_namespace(
        nodes_[static_cast<std::size_t>(node)].get(),
        [this, node](Netlink& netlink) -> Status { return build_nics(netlink, node); });
    SHUNT_TRY(ready);
  }
  return {};
}

/// Creates both ends of every link; a node's end appears in the node's namespace.
Status EmulatedNodes::build_plane(Netlink& netlink, int nic) const {
  const std::string bridge = switch_name(nic);
  SHUNT_TRY(add_bridge(netlink, bridge, options_.mtu));
  SHUNT_TRY(set_up(netlink, bridge));
  for (int node = 0; node < nodes(); ++node) {
    const std::string port = port_name(node, nic);
    const int fd = nodes_[static_cast<std::size_t>(node)].get();
    SHUNT_TRY(add_veth(netlink, {port, bridge, interface_name(nic), fd, options_.mtu}));
    SHUNT_TRY(add_token_bucket(netlink, port, token_bucket(options_)));
    SHUNT_TRY(set_up(netlink, port));
  }
  return {};
}

Status EmulatedNodes::build_nics(Netlink& netlink, int node) const {
  SHUNT_TRY(set_up(netlink, "lo"));
  for (int nic = 0; nic < nics(); ++nic) {
    const std::string name = interface_name(nic);
    SHUNT_TRY(add_token_bucket(netlink, name, token_bucket(options_)));
    SHUNT_TRY(add_address(netlink, name, nic_address(node, nic), 16));
    SHUNT_TRY(set_up(netlink, name));
  }
  return {};
}

Status EmulatedNodes::enter(int node) const {
  if (node < 0 || node >= nodes()) {
    return usage_error("there is no emulated node {}; they are 0 … {}", node, nodes() - 1);
  }
  return enter_namespace(nodes_[static_cast<std::size_t>(node)].get());
}

std::string EmulatedNodes::address(int node, int nic) const {
  const std::uint32_t a = nic_address(node, nic);
  return fmt::format("{}.{}.{}.{}", a >> 24, (a >> 16) & 255, (a >> 8) & 255, a & 255);
}

std::string EmulatedNodes::interface_name(int nic) {
  return fmt::format("nic{}", nic);
}

std::uint32_t EmulatedNodes::burst_bytes() const {
  return token_bucket(options_).burst_bytes;
}

Result<LinkCounters> EmulatedNodes::counters(int node) const {
  return read_nics(node, 0, nics());
}

Result<LinkCounters> EmulatedNodes::counters(int node, int nic) const {
  if (nic < 0 || nic >= nics()) {
    return usage_error("there is no NIC {} of an emulated node; they are 0 … {}", nic, nics() - 1);
  }
  return read_nics(node, nic, nic + 1);
}

Result<LinkCounters> EmulatedNodes::read_nics(int node, int first, int end) const {
  if (node < 0 || node >= nodes()) {
    return usage_error("there is no emulated node {}; they are 0 … {}", node, nodes() - 1);
  }
  LinkCounters sum;
  const int fd = nodes_[static_cast<std::size_t>(node)].get();
  const Status read = in_namespace(fd, [&](Netlink& netlink) -> Status {
    sum.resent_segments = resent_segments();
    for (int nic = first; nic < end; ++nic) {
      LinkCounters one;
      SHUNT_TRY(read_counters(netlink, interface_name(nic), &one));
      sum.wire_bytes += one.wire_bytes;
      sum.wire_packets += one.wire_packets;
      sum.drops += one.drops;
      sum.interface_tx_bytes += one.interface_tx_bytes;
      sum.interface_rx_bytes += one.interface_rx_bytes;
    }
    return {};
  });
  if (!read) return Unexpected(read.error());
  return sum;
}

}  // namespace shunt::bootstrap
