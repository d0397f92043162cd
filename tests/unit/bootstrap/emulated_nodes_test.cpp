// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/emulated_nodes.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "bootstrap/launch.hpp"

namespace shunt::bootstrap {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr double kGbit = 125e6;

/// Tests that need root skip, visibly, without it.
class EmulatedNodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to create network namespaces";
  }
};

std::set<std::string> names_in(const char* path) {
  std::set<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path), ::closedir);
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder.get())) names.insert(entry->d_name);
  return names;
}

std::set<std::string> interfaces() {
  std::set<std::string> names;
  if (struct if_nameindex* all = ::if_nameindex(); all != nullptr) {
    for (const struct if_nameindex* one = all; one->if_name != nullptr; ++one) {
      names.insert(one->if_name);
    }
    ::if_freenameindex(all);
  }
  return names;
}

Result<UniqueFd> bound_socket(const std::string& address, int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  const auto* name = reinterpret_cast<const sockaddr*>(&to);
  if (::bind(socket.get(), name, sizeof(to)) != 0) return system_error(errno, "bind {}", address);
  if (::listen(socket.get(), 16) != 0) return system_error(errno, "listen");
  return socket;
}

Status send_all(const std::string& address, int port, std::size_t bytes) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    return system_error(errno, "connect {}", address);
  }
  const std::vector<char> chunk(65536, 'x');
  while (bytes > 0) {
    const ssize_t n = ::send(socket.get(), chunk.data(), std::min(bytes, chunk.size()), 0);
    if (n <= 0) return system_error(errno, "send");
    bytes -= static_cast<std::size_t>(n);
  }
  return {};
}

Result<std::size_t> receive_all(const UniqueFd& listener) {
  const UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) return system_error(errno, "accept");
  std::array<char, 65536> buffer;
  std::size_t total = 0;
  while (true) {
    const ssize_t n = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (n < 0) return system_error(errno, "recv");
    if (n == 0) return total;
    total += static_cast<std::size_t>(n);
  }
}

/// Every node sends `bytes` to its right neighbour through one of its NICs; rank = node.
LaunchOutcome ring(const EmulatedNodes& nodes, std::size_t bytes, int nic = 0) {
  LaunchOptions options;
  options.ranks = nodes.nodes();
  options.on_start = [&nodes](int rank) { return nodes.enter(rank); };
  return launch_local(options,
                      [&](World& world) -> Result<Bytes> {
                        const int next = (world.rank() + 1) % world.size();
                        auto listener = bound_socket(nodes.address(world.rank(), nic), 5000);
                        if (!listener) return Unexpected(listener.error());
                        if (const Status met = world.barrier(); !met)
                          return Unexpected(met.error());
                        const pid_t sender = ::fork();
                        if (sender == 0)
                          ::_exit(send_all(nodes.address(next, nic), 5000, bytes) ? 0 : 1);
                        const Result<std::size_t> received = receive_all(*listener);
                        int status = 1;
                        ::waitpid(sender, &status, 0);
                        if (!received) return Unexpected(received.error());
                        if (status != 0 || *received != bytes) {
                          return usage_error("received {} of {} bytes", *received, bytes);
                        }
                        if (const Status met = world.barrier(); !met)
                          return Unexpected(met.error());
                        return Bytes{};
                      })
      .value();
}

TEST_F(EmulatedNodesTest, TheTokenBucketCountsWhatWasSent) {
  constexpr std::size_t kBytes = 3'000'000;
  for (const int count : {2, 3}) {
    const auto nodes = EmulatedNodes::create({.nodes = count, .rate_bytes_per_s = 4 * kGbit});
    ASSERT_TRUE(nodes) << nodes.error().to_string();
    std::vector<LinkCounters> before;
    for (int node = 0; node < count; ++node) before.push_back(nodes->counters(node).value());
    const LaunchOutcome outcome = ring(*nodes, kBytes);
    ASSERT_TRUE(outcome.status) << outcome.status.error().to_string();
    for (int node = 0; node < count; ++node) {
      const LinkCounters after = nodes->counters(node).value();
      const LinkCounters& start = before[static_cast<std::size_t>(node)];
      const double sent = static_cast<double>(after.wire_bytes - start.wire_bytes);
      const double frames = static_cast<double>(after.wire_packets - start.wire_packets);
      // Payload, headers of every data frame (at least 66 bytes), acknowledgements of the reverse
      // direction; nothing else.
      EXPECT_GE(sent, kBytes + 66.0 * (kBytes / 8948.0));
      EXPECT_LE(sent, kBytes * 1.03);
      EXPECT_GE(frames, kBytes / 8948.0);
      EXPECT_GE(after.interface_rx_bytes - start.interface_rx_bytes, kBytes);
      EXPECT_EQ(after.drops, start.drops);
    }
  }
}

TEST_F(EmulatedNodesTest, NothingPassesFasterThanTheRate) {
  const auto nodes = EmulatedNodes::create({.nodes = 2, .rate_bytes_per_s = 0.2 * kGbit}).value();
  constexpr std::size_t kBytes = 2'000'000;
  timespec begin{};
  timespec end{};
  ::clock_gettime(CLOCK_MONOTONIC, &begin);
  const LaunchOutcome outcome = ring(nodes, kBytes);
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  ASSERT_TRUE(outcome.status) << outcome.status.error().to_string();
  const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
  // A lower bound on time is no timing assertion: a slow machine only makes it longer. Both
  // directions share no bucket, and a bucket may start full.
  EXPECT_GE(seconds, (kBytes - nodes.burst_bytes()) / (0.2 * kGbit));
}

TEST_F(EmulatedNodesTest, NodesSeeOnlyTheirOwnLinks) {
  const auto nodes = EmulatedNodes::create({.nodes = 2, .rate_bytes_per_s = kGbit}).value();
  const std::set<std::string> outside = interfaces();
  EXPECT_EQ(outside.count(EmulatedNodes::interface_name()), 0U);
  EXPECT_NE(nodes.address(0), nodes.address(1));
  LaunchOptions options;
  options.ranks = 2;
  options.on_start = [&nodes](int rank) { return nodes.enter(rank); };
  const auto outcome = launch_local(options, [&](World& world) -> Result<Bytes> {
    if (interfaces() != std::set<std::string>{"lo", EmulatedNodes::interface_name()}) {
      return usage_error("other interfaces in node {}", world.rank());
    }
    if (!bound_socket("127.0.0.1", 5001)) return usage_error("no loopback");
    if (bound_socket(nodes.address(1 - world.rank()), 5002)) return usage_error("peer's address");
    const auto counters = nodes.counters(world.rank());  // Readable in a rank too.
    if (!counters) return Unexpected(counters.error());
    return Bytes{};
  });
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->status) << outcome->status.error().to_string();
  EXPECT_EQ(interfaces(), outside) << "creating and reading must not move the caller";
}

std::string congestion_control() {
  std::ifstream file("/proc/sys/net/ipv4/tcp_congestion_control");
  std::string name;
  file >> name;
  return name;
}

TEST_F(EmulatedNodesTest, TcpInsideDoesNotDependOnTheMachinesChoice) {
  const auto nodes = EmulatedNodes::create({.nodes = 2, .rate_bytes_per_s = kGbit}).value();
  const std::string outside = congestion_control();
  LaunchOptions options;
  options.ranks = 2;
  options.on_start = [&nodes](int rank) { return nodes.enter(rank); };
  const auto outcome = launch_local(options, [&](World& /*world*/) -> Result<Bytes> {
    if (const std::string name = congestion_control(); name != "reno") {
      return usage_error("congestion control is '{}'", name);
    }
    return Bytes{};
  });
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->status) << outcome->status.error().to_string();
  EXPECT_EQ(congestion_control(), outside);
}

TEST_F(EmulatedNodesTest, SeveralInstancesLiveSideBySide) {
  const auto one = EmulatedNodes::create({.nodes = 2, .rate_bytes_per_s = 4 * kGbit});
  ASSERT_TRUE(one) << one.error().to_string();
  const auto two = EmulatedNodes::create({.nodes = 2, .rate_bytes_per_s = 4 * kGbit});
  ASSERT_TRUE(two) << two.error().to_string();
  const std::uint64_t before = two->counters(0).value().wire_bytes;
  const LaunchOutcome outcome = ring(*one, 1'000'000);
  ASSERT_TRUE(outcome.status) << outcome.status.error().to_string();
  EXPECT_GE(one->counters(0).value().wire_bytes, 1'000'000U);
  EXPECT_LT(two->counters(0).value().wire_bytes - before, 10'000U);
}

TEST_F(EmulatedNodesTest, EachOfSeveralNicsCarriesAndCountsItsOwn) {
  constexpr std::uint64_t kBytes = 1'000'000;
  const auto nodes =
      EmulatedNodes::create({.nodes = 2, .nics = 3, .rate_bytes_per_s = 4 * kGbit}).value();
  std::set<std::string> addresses;
  for (int node = 0; node < 2; ++node) {
    for (int nic = 0; nic < 3; ++nic) addresses.insert(nodes.address(node, nic));
  }
  EXPECT_EQ(addresses.size(), 6U);
  const LaunchOutcome outcome = ring(nodes, kBytes, 2);
  ASSERT_TRUE(outcome.status) << outcome.status.error().to_string();
  for (int node = 0; node < 2; ++node) {
    std::uint64_t sum = 0;
    for (int nic = 0; nic < 3; ++nic) {
      const std::uint64_t sent = nodes.counters(node, nic).value().wire_bytes;
      if (nic == 2) {
        EXPECT_GE(sent, kBytes);
      } else {
        EXPECT_LT(sent, kBytes / 100) << "NIC " << nic;
      }
      sum += sent;
    }
    EXPECT_EQ(nodes.counters(node).value().wire_bytes, sum);
  }
  EXPECT_FALSE(nodes.counters(0, 3));
  for (const int nics : {0, 17}) {
    const auto refused = EmulatedNodes::create({.nodes = 2, .nics = nics, .rate_bytes_per_s = 1e6});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("1 to 16"));
  }
}

TEST_F(EmulatedNodesTest, RatesFarApartAreTaken) {
  for (const double rate : {1e4, 0.1 * kGbit, 10 * kGbit, 100 * kGbit, 1e12}) {
    const auto nodes = EmulatedNodes::create({.nodes = 1, .rate_bytes_per_s = rate});
    EXPECT_TRUE(nodes) << rate << ": " << nodes.error().to_string();
  }
}

/// Whether any process holds the namespace `inode` as its own, or open as a descriptor.
bool namespace_exists(ino_t inode) {
  const std::string wanted = fmt::format("net:[{}]", inode);
  const auto leads_there = [&wanted](const std::string& path) {
    std::array<char, 64> target{};
    const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
    return n > 0 && std::string(target.data(), static_cast<std::size_t>(n)) == wanted;
  };
  for (const std::string& pid : names_in("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string process = "/proc/" + pid;
    if (leads_there(process + "/ns/net")) return true;
    for (const std::string& fd : names_in((process + "/fd").c_str())) {
      if (leads_there(process + "/fd/" + fd)) return true;
    }
  }
  return false;
}

TEST_F(EmulatedNodesTest, NothingIsLeftAfterAKill) {
  const std::set<std::string> links = interfaces();
  const std::set<std::string> names = names_in("/run/netns");
  int reports[2];
  ASSERT_EQ(::pipe2(reports, O_CLOEXEC), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto nodes = EmulatedNodes::create({.nodes = 2, .rate_bytes_per_s = kGbit});
    if (!nodes) ::_exit(1);
    LaunchOptions options;
    options.ranks = 2;
    options.on_start = [&nodes](int rank) { return nodes->enter(rank); };
    (void)launch_local(options, [&reports](World&) -> Result<Bytes> {
      struct stat own {};
      ::stat("/proc/self/ns/net", &own);
      if (::write(reports[1], &own.st_ino, sizeof(own.st_ino)) < 0) return usage_error("pipe");
      while (true) ::pause();
    });
    ::_exit(2);
  }
  ::close(reports[1]);
  std::array<ino_t, 2> inodes{};
  for (ino_t& inode : inodes) {
    ASSERT_EQ(::read(reports[0], &inode, sizeof(inode)), static_cast<ssize_t>(sizeof(inode)));
    EXPECT_TRUE(namespace_exists(inode));
  }
  EXPECT_EQ(interfaces(), links);
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  char byte = 0;
  EXPECT_EQ(::read(reports[0], &byte, 1), 0) << "end of file: the last rank is gone";
  ::close(reports[0]);
  for (const ino_t inode : inodes) EXPECT_FALSE(namespace_exists(inode));
  EXPECT_EQ(interfaces(), links);
  EXPECT_EQ(names_in("/run/netns"), names);
}

TEST_F(EmulatedNodesTest, WithoutRightsTheErrorSaysWhatIsNeeded) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const auto nodes = EmulatedNodes::create({.nodes = 2, .rate_bytes_per_s = kGbit});
    const bool right = !nodes && nodes.error().code == ErrorCode::kPermission &&
                       nodes.error().message.find("run as root") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(EmulatedNodesArguments, AreCheckedBeforeAnythingIsMade) {
  const auto refused = [](const EmulatedLinkOptions& options) {
    const auto nodes = EmulatedNodes::create(options);
    return !nodes && nodes.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({.nodes = 0, .rate_bytes_per_s = kGbit}));
  EXPECT_TRUE(refused({.nodes = 1001, .rate_bytes_per_s = kGbit}));
  EXPECT_TRUE(refused({.nodes = 2, .rate_bytes_per_s = 0}));
  EXPECT_TRUE(refused({.nodes = 2, .rate_bytes_per_s = -1}));
  EXPECT_TRUE(refused({.nodes = 2, .rate_bytes_per_s = 0.0 / 0.0}));
  EXPECT_TRUE(refused({.nodes = 2, .rate_bytes_per_s = kGbit, .mtu = 100}));
}

}  // namespace
}  // namespace shunt::bootstrap
