// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The libfabric engine between processes: what threads cannot show (separate libraries, and peers
// that die or stop without closing anything).
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/libfabric_fabric.hpp"
#include "fabric_rig.hpp"
#include "streamer.hpp"

namespace shunt::fabric {
namespace {

using ::testing::HasSubstr;

/// One end of a socket pair: length-prefixed messages, each bounded by the test's patience.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}

  bool send(const std::vector<std::byte>& bytes) const {
    // In one piece: the other end may close as soon as it has the last byte.
    const std::uint64_t size = bytes.size();
    std::vector<std::byte> packet(sizeof(size) + size);
    std::memcpy(packet.data(), &size, sizeof(size));
    std::copy(bytes.begin(), bytes.end(), packet.begin() + sizeof(size));
    return ::send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(packet.size());
  }
  bool receive(std::vector<std::byte>& bytes) const {
    std::uint64_t size = 0;
    if (!read_all(&size, sizeof(size))) return false;
    bytes.resize(size);
    return read_all(bytes.data(), size);
  }
  bool signal() const { return send({}); }
  bool await() const {
    std::vector<std::byte> nothing;
    return receive(nothing);
  }

 private:
  bool read_all(void* target, std::size_t count) const {
    auto* bytes = static_cast<std::byte*>(target);
    while (count > 0) {
      pollfd source{fd_, POLLIN, 0};
      if (::poll(&source, 1, static_cast<int>(test::kPatienceNs / 1'000'000)) != 1) return false;
      const ssize_t got = ::read(fd_, bytes, count);
      if (got <= 0) return false;
      bytes += got;
      count -= static_cast<std::size_t>(got);
    }
    return true;
  }
  int fd_;
};

/// Runs `body` in a child, which exits with 0 if it returns true. Killed and reaped at the latest
/// by the destructor.
class Child {
 public:
  explicit Child(const std::function<bool(const Channel&)>& body) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    (void)std::fflush(stdout);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      const bool good = body(Channel(ends[1]));
      // _exit() would drop what the child has to say.
      (void)std::fflush(stdout);
      ::_exit(good ? 0 : 1);
    }
    ::close(ends[1]);
    fd_ = ends[0];
  }
  ~Child() {
    end(SIGKILL);
    ::close(fd_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] Channel channel() const { return Channel(fd_); }
  void end(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    (void)wait();
  }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }
  int wait() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

/// Opens, exchanges addresses over the channel, connects. Peer index = rank: {parent, child}.
bool meet(test::Rank& rank,
          int self,
          std::size_t bytes,
          const LibfabricOptions& options,
          const Channel& channel) {
  rank.region.resize(bytes);
  auto fabric = create_libfabric(options);
  if (!fabric) return false;
  rank.fabric = std::move(*fabric);
  if (!rank.fabric->expose(rank.region)) return false;
  auto own = rank.fabric->address();
  std::vector<std::byte> other;
  if (!own || !channel.send(*own) || !channel.receive(other)) return false;
  std::vector<std::vector<std::byte>> peers(2);
  peers[static_cast<std::size_t>(self)] = *own;
  peers[static_cast<std::size_t>(1 - self)] = other;
  return rank.fabric->connect(peers).has_value();
}

/// Receives until killed.
[[noreturn]] void serve(test::Rank& rank) {
  std::vector<Event> events(16);
  for (;;) {
    (void)rank.fabric->poll(events);
    rank.fabric->wait(1'000'000'000);
  }
}

bool stream(test::Rank& rank, int self, const test::StreamShape& shape) {
  test::Streamer streamer(*rank.fabric, rank.region, self, shape);
  const Deadline deadline = Deadline::after_ns(test::kPatienceNs);
  while (!streamer.finished() && !deadline.expired()) {
    if (!streamer.step()) rank.fabric->wait(1'000'000);
  }
  if (!streamer.finished()) streamer.complain("not finished in time");
  EXPECT_EQ(streamer.complaint(), "");
  return streamer.complaint().empty();
}

class Between : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    options_.provider = GetParam();
    const auto trial = create_libfabric(options_);
    if (!trial) GTEST_SKIP() << trial.error().message;
  }
  LibfabricOptions options_;
};
INSTANTIATE_TEST_SUITE_P(Providers,
                         Between,
                         ::testing::Values("", "tcp;ofi_rxm", "sockets", "shm"));

TEST_P(Between, TwoProcessesStream) {
  test::StreamShape shape{.ranks = 2, .qps = 2, .messages = 60, .window = 5, .slot_bytes = 90'000};
  shape.sizes = {0, 90'000, 1, 4096};
  options_.qps = 2;
  Child child([&](const Channel& channel) {
    test::Rank rank;
    const bool good = meet(rank, 1, shape.region_bytes(), options_, channel) &&
                      stream(rank, 1, shape) && channel.signal() && channel.await();
    rank.fabric.reset();
    return good;
  });
  test::Rank rank;
  ASSERT_TRUE(meet(rank, 0, shape.region_bytes(), options_, child.channel()));
  EXPECT_TRUE(stream(rank, 0, shape));
  // Nobody closes before all have finished: completion is not arrival.
  EXPECT_TRUE(child.channel().signal());
  EXPECT_TRUE(child.channel().await());
  rank.fabric.reset();
  EXPECT_EQ(child.wait(), 0);
}

/// Posts to peer 1 until `failures` kFailed events have come; false when patience ends first.
bool put_until_failed(test::Rank& rank, std::uint64_t bytes, int failures, Error& last) {
  const Deadline deadline = Deadline::after_ns(test::kPatienceNs);
  std::vector<Event> events(16);
  while (failures > 0 && !deadline.expired()) {
    const Put put{.context = 1, .bytes = bytes, .peer = 1};
    if (rank.fabric->post({&put, 1}) == 0) rank.fabric->wait(1'000'000);
    const std::size_t count = rank.fabric->poll(events);
    for (const Event& event : std::span(events).first(count)) {
      if (event.kind != Event::Kind::kFailed) continue;
      EXPECT_EQ(event.peer, 1);
      last = rank.fabric->last_error();
      --failures;
    }
  }
  return failures <= 0;
}

struct Death {
  const char* name;
  std::uint64_t bytes;
  bool in_flight;
};

class Killed : public ::testing::TestWithParam<Death> {};
INSTANTIATE_TEST_SUITE_P(Deaths,
                         Killed,
                         ::testing::Values(Death{"streaming", 1U << 20, true},
                                           Death{"idle", 64, false}),
                         [](const auto& death) { return death.param.name; });

TEST_P(Killed, ItsPutsFailAndClosingDoesNotHang) {
  const LibfabricOptions options{.depth = 64};
  Child child([&](const Channel& channel) {
    test::Rank rank;
    if (meet(rank, 1, 1U << 20, options, channel)) serve(rank);
    return false;
  });
  test::Rank rank;
  ASSERT_TRUE(meet(rank, 0, 1U << 20, options, child.channel()));
  std::vector<Event> events(64);
  const Deadline deadline = Deadline::after_ns(test::kPatienceNs);
  const auto put_and_complete = [&](std::size_t puts) {
    const Put put{.context = 1, .bytes = GetParam().bytes, .peer = 1};
    std::size_t posted = 0;
    std::size_t completed = 0;
    while (completed < puts && !deadline.expired()) {
      if (posted < puts) posted += rank.fabric->post({&put, 1});
      completed += rank.fabric->poll(events);
    }
    return completed == puts;
  };
  ASSERT_TRUE(put_and_complete(100));
  if (GetParam().in_flight) {
    const std::vector<Put> puts(64, Put{.context = 1, .bytes = GetParam().bytes, .peer = 1});
    EXPECT_EQ(rank.fabric->post(puts), 64U);
  }
  child.end(SIGKILL);
  Error error;
  ASSERT_TRUE(put_until_failed(rank, GetParam().bytes, 70, error));
  EXPECT_EQ(error.code, ErrorCode::kPeerLost) << error.message;
  EXPECT_THAT(error.message, HasSubstr("to peer 1"));
  rank.fabric.reset();
}

// A stopped process keeps its sockets open: no failure comes, yet closing must not wait for it.
TEST(Stopped, ClosingDoesNotWaitForAStoppedPeer) {
  const LibfabricOptions options{.depth = 64};
  Child child([&](const Channel& channel) {
    test::Rank rank;
    if (meet(rank, 1, 4U << 20, options, channel)) serve(rank);
    return false;
  });
  test::Rank rank;
  ASSERT_TRUE(meet(rank, 0, 4U << 20, options, child.channel()));
  const std::vector<Put> puts(64, Put{.context = 1, .bytes = 4U << 20, .peer = 1});
  std::vector<Event> events(64);
  EXPECT_EQ(rank.fabric->post(puts), 64U);
  const Deadline deadline = Deadline::after_ns(test::kPatienceNs);
  while (rank.fabric->poll(events) == 0 && !deadline.expired()) {
  }
  child.stop();
  for (int i = 0; i < 100; ++i) (void)rank.fabric->poll(events);
  rank.fabric.reset();
  rank.region = {};
}

}  // namespace
}  // namespace shunt::fabric
