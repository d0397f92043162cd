// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_puts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "support/allocations.hpp"

namespace shunt::bench {
namespace {

using fabric::Event;
using fabric::Fabric;
using fabric::Put;

constexpr std::uint64_t kPatienceNs = 60'000'000'000;
constexpr std::size_t kBlob = 4096;
constexpr std::size_t kWords = 512;

/// Shared by both processes; anonymous memory from before the fork.
struct Board {
  std::atomic<std::uint32_t> arrived[2];  ///< Steps that each end has reached.
  std::size_t blob_bytes[2];
  std::byte blob[2][kBlob];
  std::atomic<bool> failed;
  char words[kWords];  ///< Of the child's error.
  std::uint64_t last_arrival_ns;
  std::uint64_t receiver_cpu_ns;
};

struct Unmap {
  void operator()(Board* board) const { ::munmap(board, sizeof(Board)); }
};

std::uint64_t cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(t.tv_usec) * 1000U;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

/// One of the two processes.
class End {
 public:
  End(Board& board, int self, const PlainPutsOptions& options)
      : board_(board), self_(self), options_(options) {}

  Status open();
  /// Sender: all repetitions of a size. Receiver: takes part, returns nothing.
  Result<std::vector<Repetition>> run(std::uint64_t size);
  /// Both ends pass here together.
  Status meet();
  [[nodiscard]] const Fabric& fabric() const { return *fabric_; }

 private:
  Status enter_namespace() const;
  Result<std::uint64_t> send(std::uint64_t size, std::uint64_t puts);
  Status receive(std::uint64_t puts);
  /// One poll(); sleeps after spin_ns without events.
  Result<std::size_t> poll(std::span<Event> events);

  Board& board_;
  const int self_;
  const PlainPutsOptions& options_;
  std::vector<std::byte> region_;
  std::unique_ptr<Fabric> fabric_;
  std::uint32_t step_ = 0;
  std::uint64_t idle_since_ns_ = 0;
};

Status End::enter_namespace() const {
  const std::string& name = options_.namespaces[static_cast<std::size_t>(self_)];
  if (name.empty()) return {};
  const std::string path = "/var/run/netns/" + name;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::setns(fd.get(), CLONE_NEWNET) != 0) {
    return system_error(errno, "network namespace {} cannot be entered", name);
  }
  return {};
}

Status End::open() {
  SHUNT_TRY(enter_namespace());
  const auto self = static_cast<std::size_t>(self_);
  fabric::LibfabricOptions own = options_.fabric;
  if (!options_.addresses[self].empty()) own.bind_address = options_.addresses[self];
  own.depth = options_.window;
  auto opened = create_libfabric(own);
  if (!opened) return Unexpected(std::move(opened).error());
  fabric_ = std::move(*opened);
  region_.resize(options_.window * *std::max_element(options_.sizes.begin(), options_.sizes.end()));
  SHUNT_TRY(fabric_->expose(region_));
  auto address = fabric_->address();
  if (!address) return Unexpected(std::move(address).error());
  if (address->size() > kBlob) return usage_error("too many queue pairs for this bench");
  std::memcpy(board_.blob[self], address->data(), address->size());
  board_.blob_bytes[self] = address->size();
  SHUNT_TRY(meet());
  const std::byte* other = board_.blob[1 - self];
  return fabric_->connect(
      std::vector<std::vector<std::byte>>{{other, other + board_.blob_bytes[1 - self]}});
}

Status End::meet() {
  ++step_;
  board_.arrived[self_].store(step_, std::memory_order_release);
  const Deadline deadline = Deadline::after_ns(kPatienceNs);
  while (board_.arrived[1 - self_].load(std::memory_order_acquire) < step_) {
    if (board_.failed.load()) {
      return fail(
          ErrorCode::kPeerLost, ErrorScope::kFatal, "the receiver failed: {}", board_.words);
    }
    if (deadline.expired()) {
      return fail(ErrorCode::kTimeout, ErrorScope::kFatal, "the other end did not come");
    }
    ::sched_yield();
  }
  return {};
}

Result<std::size_t> End::poll(std::span<Event> events) {
  const std::size_t count = fabric_->poll(events);
  for (const Event& event : events.first(count)) {
    if (event.kind == Event::Kind::kFailed) return Unexpected(fabric_->last_error());
  }
  if (count > 0) {
    idle_since_ns_ = 0;
    return count;
  }
  const std::uint64_t now = now_ns();
  if (idle_since_ns_ == 0) idle_since_ns_ = now;
  if (now - idle_since_ns_ > options_.spin_ns) fabric_->wait(1'000'000);
  if (now - idle_since_ns_ > kPatienceNs || board_.failed.load()) {
    return fail(ErrorCode::kTimeout, ErrorScope::kFatal, "nothing has moved for a minute");
  }
  return count;
}

Result<std::uint64_t> End::send(std::uint64_t size, std::uint64_t puts) {
  std::array<Event, 64> events;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  const std::uint64_t start = now_ns();
  while (completed < puts) {
    while (posted < puts && posted - completed < options_.window) {
      const std::uint64_t slot = posted % options_.window;
      const Put put{.context = posted,
                    .source_offset = slot * size,
                    .target_offset = slot * size,
                    .bytes = size,
                    .immediate = static_cast<std::uint32_t>(posted),
                    .peer = 0,
                    .qp = static_cast<std::int32_t>(
                        posted % static_cast<std::uint64_t>(options_.fabric.qps))};
      if (fabric_->post({&put, 1}) == 0) break;
      ++posted;
    }
    auto count = poll(events);
    if (!count) return Unexpected(std::move(count).error());
    completed += *count;
  }
  return start;
}

Status End::receive(std::uint64_t puts) {
  std::array<Event, 64> events;
  for (std::uint64_t seen = 0; seen < puts;) {
    auto count = poll(events);
    if (!count) return Unexpected(std::move(count).error());
    seen += *count;
  }
  board_.last_arrival_ns = now_ns();
  return {};
}

Result<std::vector<Repetition>> End::run(std::uint64_t size) {
  const std::uint64_t puts = std::max<std::uint64_t>(
      options_.bytes_per_repetition / std::max<std::uint64_t>(size, 1), options_.window);
  std::vector<Repetition> repetitions;
  for (int i = 0; i <= options_.repetitions; ++i) {
    SHUNT_TRY(meet());
    const std::uint64_t cpu = cpu_ns();
    if (self_ == 1) {
      SHUNT_TRY(receive(puts));
      board_.receiver_cpu_ns = cpu_ns() - cpu;
      SHUNT_TRY(meet());
      continue;
    }
    const std::uint64_t allocations = testing::allocations();
    auto start = send(size, puts);
    if (!start) return Unexpected(std::move(start).error());
    Repetition one{.bytes = puts * size, .puts = puts};
    one.allocations = testing::allocations() - allocations;
    one.cpu_ns = cpu_ns() - cpu;
    // Data may still be in this process's hands: tcp moves it within poll() only.
    SHUNT_TRY(meet());
    one.cpu_ns += board_.receiver_cpu_ns;
    one.ns = board_.last_arrival_ns - *start;
    // The first one pays for cold pages.
    if (i > 0) repetitions.push_back(one);
  }
  return repetitions;
}

Result<PlainPuts> run_end(Board& board, int self, const PlainPutsOptions& options) {
  End end(board, self, options);
  SHUNT_TRY(end.open());
  PlainPuts results;
  results.provider = end.fabric().provider();
  for (const std::uint64_t size : options.sizes) {
    auto repetitions = end.run(size);
    if (!repetitions) return Unexpected(std::move(repetitions).error());
    results.by_size.push_back(std::move(*repetitions));
  }
  SHUNT_TRY(end.meet());
  return results;
}

[[noreturn]] void receiver(Board& board, const PlainPutsOptions& options) {
  const auto results = run_end(board, 1, options);
  if (!results) {
    std::strncpy(board.words, results.error().to_string().c_str(), kWords - 1);
    board.failed.store(true);
  }
  ::_exit(results ? 0 : 1);
}

}  // namespace

Result<PlainPuts> measure_plain_puts(const PlainPutsOptions& options) {
  if (options.sizes.empty() || options.window == 0 || options.repetitions < 1) {
    return usage_error("at least one size, one put in flight and one repetition");
  }
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return system_error(errno, "no shared page between the two ends");
  const std::unique_ptr<Board, Unmap> board(new (memory) Board{});
  const pid_t child = ::fork();
  if (child < 0) return system_error(errno, "the receiver could not be started");
  if (child == 0) receiver(*board, options);
  auto results = run_end(*board, 0, options);
  if (!results) ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!results && board->failed.load()) {
    return fail(ErrorCode::kPeerLost, ErrorScope::kFatal, "the receiver failed: {}", board->words);
  }
  return results;
}

}  // namespace shunt::bench
