// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/local_rank.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "bootstrap/rank_main.hpp"
#include "bootstrap/wire.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SHUNT_LEAK_CHECK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHUNT_LEAK_CHECK 1
#endif
#endif
#if defined(SHUNT_LEAK_CHECK)
#include <sanitizer/lsan_interface.h>
#endif

namespace shunt::bootstrap {
namespace {

/// The parent answers within the deadline; this much later it is taken for stuck.
constexpr std::uint64_t kSlackNs = 2'000'000'000;

int poll_ms(const Deadline& deadline) {
  return static_cast<int>(std::min<std::uint64_t>(deadline.remaining_ns() / 1'000'000 + 1, 60'000));
}

/// The rank's end of the socket. The first failure is final.
class LocalWorld final : public World {
 public:
  LocalWorld(int rank, int size, UniqueFd hub, std::uint64_t deadline_ns)
      : World(rank, size),
        hub_(std::move(hub)),
        deadline_ns_(std::min(deadline_ns, std::uint64_t{1} << 62)) {}

  const char* kind() const override { return "local"; }

  /// Tells the parent how this rank ended.
  void finish(const Result<std::vector<std::byte>>& result) {
    const Deadline deadline = Deadline::after_ns(deadline_ns_ + kSlackNs);
    // A parent that cannot be told sees the exit status.
    (void)send(result ? Message{Message::Kind::kDone, Call::kBarrier, *result}
                      : Message{Message::Kind::kFailed, Call::kBarrier, encode(result.error())},
               deadline);
  }

 private:
  Result<Blobs> exchange(Call call, std::span<const std::byte> mine) override {
    if (failure_) return Unexpected(*failure_);
    const Deadline deadline = Deadline::after_ns(deadline_ns_ + kSlackNs);
    Result<Blobs> blobs =
        send_and_receive({Message::Kind::kEnter, call, {mine.begin(), mine.end()}}, deadline);
    if (!blobs) failure_ = blobs.error();
    return blobs;
  }

  Result<Blobs> send_and_receive(const Message& message, const Deadline& deadline) {
    if (const Status sent = send(message, deadline); !sent && sent.error().sys != EPIPE) {
      return Unexpected(sent.error());
    }
    const Result<Message> answer = receive(deadline);
    if (!answer) return Unexpected(answer.error());
    if (answer->kind == Message::Kind::kRound) return decode_blobs(answer->body);
    Result<Error> error = decode_error(answer->body);
    return Unexpected(error ? std::move(*error) : std::move(error).error());
  }

  Status send(const Message& message, const Deadline& deadline) {
    const Bytes bytes = encode(message);
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n = ::send(hub_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n >= 0) {
        sent += static_cast<std::size_t>(n);
      } else if (errno == EAGAIN) {
        SHUNT_TRY(wait_for(POLLOUT, deadline));
      } else if (errno != EINTR) {
        return system_error(errno, "cannot send to the launching process");
      }
    }
    return {};
  }

  Result<Message> receive(const Deadline& deadline) {
    std::array<std::byte, 65536> buffer;
    while (true) {
      if (std::optional<Message> message = decoder_.next()) return std::move(*message);
      const ssize_t n = ::recv(hub_.get(), buffer.data(), buffer.size(), 0);
      if (n > 0) {
        decoder_.append({buffer.data(), static_cast<std::size_t>(n)});
      } else if (n < 0 && errno == EAGAIN) {
        SHUNT_TRY(wait_for(POLLIN, deadline));
      } else if (n == 0 || errno != EINTR) {
        return fail(ErrorCode::kPeerLost, ErrorScope::kFatal, "the launching process is gone");
      }
    }
  }

  Status wait_for(short events, const Deadline& deadline) {
    pollfd entry{hub_.get(), events, 0};
    if (::poll(&entry, 1, poll_ms(deadline)) == 0 && deadline.expired()) {
      return fail(ErrorCode::kTimeout,
                  ErrorScope::kFatal,
                  "the launching process did not answer within {}; is it stopped?",
                  format_ns(deadline_ns_ + kSlackNs));
    }
    return {};
  }

  const UniqueFd hub_;
  const std::uint64_t deadline_ns_;
  Decoder decoder_;
  std::optional<Error> failure_;
};

/// Dies with the parent; ends by default on SIGTERM; prints to stderr only.
Status prepare(int rank, pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return system_error(errno, "cannot tie the rank to its parent");
  }
  if (::getppid() != parent) ::_exit(1);  // It died between fork and prctl.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  log::set_prefix(fmt::format("rank {}", rank));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid() || ::dup2(null.get(), STDIN_FILENO) < 0 ||
      ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return system_error(errno, "cannot redirect the rank's standard streams");
  }
  return {};
}

}  // namespace

void run_local_rank(int rank,
                    pid_t parent,
                    UniqueFd hub,
                    const LaunchOptions& options,
                    const ProcessFunction& rank_main) {
  int exit_status = 1;
  {
    Status ready = prepare(rank, parent);
    LocalWorld world(rank, options.ranks, std::move(hub), options.deadline_ns);
    if (ready && options.on_start) ready = options.on_start(rank);
    const Result<std::vector<std::byte>> result =
        ready ? run_guarded(rank_main, world) : Unexpected(std::move(ready).error());
    exit_status = result ? 0 : 1;
    std::fflush(nullptr);
    world.finish(result);
  }
#if defined(SHUNT_LEAK_CHECK)
  __lsan_do_leak_check();  // _exit skips it.
#endif
  // Not exit(): the parent's atexit handlers and statics are not this process's to run.
  ::_exit(exit_status);
}

}  // namespace shunt::bootstrap
