// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/launch.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "bootstrap/local_hub.hpp"
#include "bootstrap/local_rank.hpp"

namespace shunt::bootstrap {
namespace {

/// Blocks the signals that end a launch, so that they are read from a descriptor instead; restores
/// the caller's mask at the end.
class BlockedSignals {
 public:
  BlockedSignals() {
    ::sigemptyset(&blocked_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&blocked_, signal);
    ::pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { restore(); }

  void restore() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] UniqueFd descriptor() const {
    return UniqueFd(::signalfd(-1, &blocked_, SFD_CLOEXEC | SFD_NONBLOCK));
  }

 private:
  sigset_t blocked_{};
  sigset_t before_{};
};

}  // namespace

Result<LaunchOutcome> launch_local(const LaunchOptions& options, const ProcessFunction& rank_main) {
  if (options.ranks < 1) return usage_error("{} ranks are not allowed; at least 1", options.ranks);
  std::fflush(nullptr);  // Else every rank would print what this process has buffered.
  const BlockedSignals signals;
  UniqueFd descriptor = signals.descriptor();
  if (!descriptor.valid()) return system_error(errno, "cannot watch for signals (signalfd)");
  LocalHub hub(options, std::move(descriptor));
  const pid_t parent = ::getpid();
  for (int rank = 0; rank < options.ranks; ++rank) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      return system_error(errno, "cannot connect rank {} of {}", rank, options.ranks);
    }
    UniqueFd ours(ends[0]);
    UniqueFd theirs(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0) {
      return system_error(errno, "cannot start rank {} of {} (fork)", rank, options.ranks);
    }
    if (pid == 0) {
      ours.reset();
      hub.abandon();
      signals.restore();
      run_local_rank(rank, parent, std::move(theirs), options, rank_main);
    }
    SHUNT_TRY(hub.add(pid, std::move(ours)));
  }
  return hub.serve();
}

}  // namespace shunt::bootstrap
