// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/proxy.hpp"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <string>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/log.hpp"
#include "engine/proxy_parts.hpp"
#include "exec/cpu/flags.hpp"

namespace shunt::engine {

namespace {

// Rounds without any work before the thread sleeps: about as long as a message takes on a fast
// fabric, and nothing where cores are shared.
constexpr int kQuietRounds = 16;
// How long after the last work the thread stays awake for an executor that cannot wake it, and how
// often it looks then: a look costs some microseconds, a late look as much as kLook_ns.
constexpr std::uint64_t kLinger_ns = 2'000'000;
constexpr std::uint64_t kLook_ns = 1'000'000;

std::uint64_t read_clock(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

std::uint64_t ring_capacity(const exec::RankView& rank, const exec::PeerShare& share) {
  const std::uint64_t own = share.count(static_cast<std::uint32_t>(rank.peers()));
  std::uint64_t total = 64;
  for (const std::uint32_t capacity : rank.layout.capacity) total += 2 * capacity * own;
  return total;
}

Proxy::Proxy(const ProgressOptions& options, Alarm& alarm, ProxyPart part)
    : options_(options), alarm_(alarm), part_(std::move(part)), ring_(part_.ring) {
  const exec::RankView& rank = options_.rank;
  own_ = part_.share.count(static_cast<std::uint32_t>(rank.peers()));
  std::size_t slots = 0;
  for (int kind = 0; kind < proxy::kKinds; ++kind) {
    const std::uint32_t capacity = rank.layout.capacity[kind];
    for (std::uint32_t n = 0; n < own_; ++n) {
      channels_.push_back(
          {fabric::ReceiverChannel(capacity), fabric::SenderChannel(capacity), 0, false});
    }
    flights_[kind].resize(std::size_t{own_} * capacity);
    if (memory::Layout::holds_chunks(kind)) landed_ns_[kind].resize(flights_[kind].size());
    slots += flights_[kind].size();
  }
  pending_.resize(std::max<std::size_t>(slots, 1));
  dirty_.reserve(channels_.size());
  for (std::uint32_t n = 0; n < own_; ++n) {
    const int node = rank.shape.peer_node(rank.node, static_cast<int>(part_.share.peer(n)));
    my_index_.push_back(static_cast<std::uint32_t>(rank.shape.peer_index(node, rank.node)));
  }
  heard_ns_.assign(own_, 0);
  rail_gone_.assign(own_, 0);
  told_.assign(own_, 0);
  farewell_.assign(own_, kSilent);
  beat_seen_.assign(static_cast<std::size_t>(rank.shape.ranks_per_node), 0);
  beat_ns_.assign(beat_seen_.size(), 0);
}

Proxy::~Proxy() {
  ask_to_stop();
  join();
}

void Proxy::start() {
  const std::uint64_t now = now_ns();
  std::ranges::fill(heard_ns_, now);
  std::ranges::fill(beat_ns_, now);
  last_check_ns_ = now;
  next_beat_ns_ = now;
  thread_ = std::thread([this] { run(); });
}

void Proxy::ask_to_stop() {
  stop_.store(true, std::memory_order_seq_cst);
  wake();
}

void Proxy::join() {
  if (thread_.joinable()) thread_.join();
}

void Proxy::wake() {
  wake_word_.fetch_add(1, std::memory_order_seq_cst);
  if (part_.fabric != nullptr) {
    part_.fabric->wake();
  } else {
    futex_wake_all(wake_word_);
  }
}

std::uint64_t Proxy::cpu_ns() const {
  if (!thread_.joinable()) return stats_.busy_ns.get();
  clockid_t clock{};
  const auto thread = const_cast<std::thread&>(thread_).native_handle();
  return ::pthread_getcpuclockid(thread, &clock) == 0 ? read_clock(clock) : 0;
}

void Proxy::settle() const {
  if (!options_.cpus.empty()) {
    if (const Status bound = bind_this_thread(options_.cpus); !bound) {
      SHUNT_LOG_DEBUG("rank {} progress thread {} not bound: {}",
                      options_.rank.rank,
                      part_.share.thread,
                      bound.error().to_string());
    }
  }
  // What top and debuggers show; last, so that who sees the name sees a thread in its place.
  const std::string name = fmt::format("shunt-prog-{}", part_.share.thread);
  (void)::pthread_setname_np(::pthread_self(), name.c_str());
}

void Proxy::run() {
  settle();
  for (;;) {
    bool busy = take_descriptors();
    if (part_.fabric != nullptr) {
      busy |= post_pending();
      busy |= post_credits(!busy);
      busy |= take_events();
      busy |= post_credits(!busy);
    }
    if (ring_needed_) {
      exec::cpu::ring_bell(options_.rank.control(options_.rank.local));
      ring_needed_ = false;
    }
    const std::uint64_t now = now_ns();
    heartbeat(now);
    check_peers(now);
    send_abort();
    if (stop_.load(std::memory_order_acquire) && leave(now)) break;
    if (polled_ns_ != 0) {
      stats_.largest_poll_gap_ns.raise_to(now - polled_ns_);
    }
    polled_ns_ = now;
    if (options_.in_flight) {
      in_flight_ = options_.in_flight();
      if (busy || in_flight_) busy_until_ns_ = now + kLinger_ns;
    }
    quiet_rounds_ = busy ? 0 : quiet_rounds_ + 1;
    if (quiet_rounds_ > kQuietRounds) rest(now);
  }
  // What blocks have read is recorded, though nobody gets credit for it any more.
  while (options_.slots_on_device && take_descriptors()) {
  }
  stats_.busy_ns.add(read_clock(CLOCK_THREAD_CPUTIME_ID));
}

void Proxy::rest(std::uint64_t now) {
  const std::uint32_t seen = wake_word_.load(std::memory_order_seq_cst);
  sleeps_.store(true, std::memory_order_seq_cst);
  const bool work = !ring_.empty() || stop_.load(std::memory_order_seq_cst) ||
                    pending_head_ != pending_tail_ || !dirty_.empty();
  std::uint64_t until = next_beat_ns_ > now ? next_beat_ns_ - now : 0;
  if (options_.in_flight) {
    const bool stay = now < busy_until_ns_ || options_.in_flight();
    until = stay ? 0 : std::min(until, kLook_ns);
  }
  if (!work && until > 0) {
    polled_ns_ = 0;
    if (part_.fabric != nullptr) {
      part_.fabric->wait(until);
    } else {
      futex_wait(wake_word_, seen, until);
    }
  } else {
    // EAGAIN or a peer's goodbye outstanding: give the core away, but stay.
    std::this_thread::yield();
  }
  sleeps_.store(false, std::memory_order_seq_cst);
}

}  // namespace shunt::engine
