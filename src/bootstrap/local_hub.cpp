// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/local_hub.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace shunt::bootstrap {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;

std::string name_signal(int signal) {
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

Error ended(int status, bool reported) {
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("killed by {}", name_signal(WTERMSIG(status)))
                              : fmt::format("exited with status {}", WEXITSTATUS(status));
  return Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               how + (reported ? " after it had finished" : " before it had finished"),
               0};
}

Error stopped(int interrupted_by) {
  return Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               interrupted_by != 0
                   ? fmt::format("ended because the launch got {}", name_signal(interrupted_by))
                   : "ended because another rank had failed and this one did not stop by itself",
               0};
}

}  // namespace

LocalHub::LocalHub(const LaunchOptions& options, UniqueFd signals)
    : options_(options), signals_(std::move(signals)), rounds_(options.ranks) {
  ranks_.reserve(static_cast<std::size_t>(options.ranks));
}

LocalHub::~LocalHub() {
  for (const Rank& rank : ranks_) {
    if (!rank.gone) ::kill(rank.pid, SIGKILL);
  }
  for (const Rank& rank : ranks_) {
    if (!rank.gone) ::waitpid(rank.pid, nullptr, 0);
  }
}

Status LocalHub::add(pid_t pid, UniqueFd socket) {
  Rank rank;
  rank.pid = pid;
  rank.socket = std::move(socket);
  rank.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int sys = errno;
  ranks_.push_back(std::move(rank));
  if (ranks_.back().process.valid()) return {};
  return system_error(sys, "cannot watch rank {} (pidfd_open)", ranks_.size() - 1);
}

void LocalHub::abandon() {
  ranks_.clear();
}

LaunchOutcome LocalHub::serve() {
  while (gone_ < ranks_.size()) step();
  LaunchOutcome outcome;
  for (Rank& rank : ranks_) outcome.ranks.push_back(std::move(rank.outcome));
  outcome.interrupted_by = interrupted_by_;
  outcome.status = first_.status();
  if (interrupted_by_ != 0) {
    outcome.status = fail(ErrorCode::kSystem,
                          ErrorScope::kFatal,
                          "interrupted by {}; all ranks were ended",
                          name_signal(interrupted_by_));
  }
  return outcome;
}

/// Waits for something to happen and handles it. Sockets come before exits: what a rank said before
/// it ended is heard first.
void LocalHub::step() {
  std::vector<pollfd> entries{{signals_.get(), POLLIN, 0}};
  for (const Rank& rank : ranks_) {
    const bool pending = rank.sent < rank.out.size();
    // poll() skips entries with a negative descriptor: closed sockets, ranks that are gone.
    entries.push_back(
        {rank.socket.get(), static_cast<short>(pending ? POLLIN | POLLOUT : POLLIN), 0});
    entries.push_back({rank.gone ? -1 : rank.process.get(), POLLIN, 0});
  }
  if (::poll(entries.data(), entries.size(), timeout_ms()) < 0) return;  // EINTR
  if (entries[0].revents != 0) on_signal();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const short socket = entries[1 + 2 * i].revents;
    if ((socket & POLLOUT) != 0) flush(ranks_[i]);
    if ((socket & (POLLIN | POLLHUP | POLLERR)) != 0) receive(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (entries[2 + 2 * i].revents != 0) reap(static_cast<int>(i));
  }
  on_deadlines();
  publish_failure();
}

int LocalHub::timeout_ms() const {
  std::uint64_t until = kLongest * 2;
  if (rounds_.waiting() && !rounds_.failure()) until = round_until_;
  if (stage_ == Stage::kFailing || stage_ == Stage::kTerminating) {
    until = std::min(until, stage_until_);
  }
  const std::uint64_t now = now_ns();
  if (until <= now) return 0;
  return static_cast<int>(std::min<std::uint64_t>((until - now) / 1'000'000 + 1, 60'000));
}

void LocalHub::on_deadlines() {
  const std::uint64_t now = now_ns();
  if (rounds_.waiting() && !rounds_.failure() && now >= round_until_) {
    rounds_.expire(options_.deadline_ns);
  }
  if (now < stage_until_) return;
  if (stage_ == Stage::kFailing) {
    advance(Stage::kTerminating);
  } else if (stage_ == Stage::kTerminating) {
    advance(Stage::kKilling);
  }
}

void LocalHub::on_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return;
  const bool again = interrupted_by_ != 0;
  interrupted_by_ = static_cast<int>(info.ssi_signo);
  rounds_.fail_with({ErrorCode::kPeerLost,
                     ErrorScope::kFatal,
                     fmt::format("the launch was interrupted by {}", name_signal(interrupted_by_)),
                     0});
  advance(again ? Stage::kKilling : Stage::kTerminating);
}

void LocalHub::receive(int rank) {
  Rank& self = ranks_[static_cast<std::size_t>(rank)];
  std::array<std::byte, 65536> buffer;
  while (self.socket.valid()) {
    const ssize_t n = ::recv(self.socket.get(), buffer.data(), buffer.size(), 0);
    if (n > 0) {
      self.in.append({buffer.data(), static_cast<std::size_t>(n)});
      while (std::optional<Message> message = self.in.next()) handle(rank, std::move(*message));
    } else if (n < 0 && errno == EAGAIN) {
      return;
    } else if (n == 0 || errno != EINTR) {
      self.socket.reset();  // The end of the process says the rest.
    }
  }
}

void LocalHub::flush(Rank& rank) {
  while (rank.socket.valid() && rank.sent < rank.out.size()) {
    const ssize_t n = ::send(
        rank.socket.get(), rank.out.data() + rank.sent, rank.out.size() - rank.sent, MSG_NOSIGNAL);
    if (n >= 0) {
      rank.sent += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      break;  // EAGAIN: poll() says when. Else the rank is ending, which its process shows.
    }
  }
  if (rank.sent == rank.out.size()) {
    rank.out.clear();
    rank.sent = 0;
  }
}

void LocalHub::handle(int rank, Message message) {
  Rank& self = ranks_[static_cast<std::size_t>(rank)];
  if (message.kind == Message::Kind::kDone) {
    self.reported = true;
    self.outcome.result = std::move(message.body);
    left(rank, {}, false);
    return;
  }
  if (message.kind == Message::Kind::kFailed) {
    Result<Error> error = decode_error(message.body);
    self.reported = true;
    self.outcome.error = error ? std::move(*error) : std::move(error).error();
    left(rank, Unexpected(*self.outcome.error), false);
    return;
  }
  const bool first = !rounds_.waiting();
  if (!rounds_.enter(rank, message.call, std::move(message.body))) return;
  if (first) round_until_ = now_ns() + std::min(options_.deadline_ns, kLongest);
  if (!rounds_.complete()) return;
  const Call call = rounds_.call();
  broadcast({Message::Kind::kRound, call, encode(rounds_.take())});
}

void LocalHub::reap(int rank) {
  Rank& self = ranks_[static_cast<std::size_t>(rank)];
  receive(rank);  // What it still said.
  int status = 0;
  if (::waitpid(self.pid, &status, 0) != self.pid) status = 0;
  self.gone = true;
  self.socket.reset();
  ++gone_;
  if (WIFSIGNALED(status)) self.outcome.signal = WTERMSIG(status);
  const bool by_us = stage_ >= Stage::kTerminating && self.outcome.signal != 0;
  const int promised = self.outcome.error ? 1 : 0;
  if (self.reported && (by_us || (WIFEXITED(status) && WEXITSTATUS(status) == promised))) return;
  self.outcome.stopped = by_us;
  self.outcome.error = by_us ? stopped(interrupted_by_) : ended(status, self.reported);
  left(rank, Unexpected(*self.outcome.error), self.outcome.signal != 0 && !by_us);
}

/// `rank` makes no more calls. The first failure starts the others' time to end.
void LocalHub::left(int rank, const Status& status, bool died) {
  if (!status) first_.add(rank, status.error(), died);
  rounds_.leave(rank, status);
  if (!status && stage_ == Stage::kRunning) advance(Stage::kFailing);
}

void LocalHub::broadcast(const Message& message) {
  const Bytes bytes = encode(message);
  for (Rank& rank : ranks_) {
    if (!rank.socket.valid()) continue;
    rank.out.insert(rank.out.end(), bytes.begin(), bytes.end());
    flush(rank);
  }
}

/// Tells the ranks once that the world has failed: those that wait, and those that call later.
void LocalHub::publish_failure() {
  if (!rounds_.failure() || published_) return;
  published_ = true;
  broadcast({Message::Kind::kFailed, Call::kBarrier, encode(*rounds_.failure())});
}

void LocalHub::advance(Stage stage) {
  stage_ = std::max(stage_, stage);
  stage_until_ = now_ns() + std::min(options_.grace_ns, kLongest);
  if (stage == Stage::kTerminating) signal_all(SIGTERM);
  if (stage == Stage::kKilling) signal_all(SIGKILL);
}

void LocalHub::signal_all(int signal) {
  for (const Rank& rank : ranks_) {
    if (!rank.gone) ::kill(rank.pid, signal);
  }
}

}  // namespace shunt::bootstrap
