// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/clock.hpp"
#include "fabric/ofi_engine.hpp"
#include "fabric/ofi_words.hpp"

namespace shunt::fabric::ofi {
namespace {

constexpr std::size_t kBatch = 64;
/// A wait is cut to this while puts wait for room in the provider, whose coming ends no sleep.
constexpr std::uint64_t kRetryNs = 500'000;
/// Where a provider cannot sleep: short naps instead.
constexpr std::uint64_t kNapNs = 50'000;
constexpr std::uint64_t kLongestWaitMs = 3'600'000;

}  // namespace

std::uint32_t Engine::slot_of(void* context) const {
  const auto* slot = static_cast<const Slot*>(context);
  const std::less<const Slot*> before;
  if (slot == nullptr || before(slot, slots_.data()) ||
      !before(slot, slots_.data() + slots_.size())) {
    return kNone;
  }
  const auto index = static_cast<std::uint32_t>(slot - slots_.data());
  return slots_[index].busy ? index : kNone;
}

std::size_t Engine::poll(std::span<Event> events) {
  std::size_t count = 0;
  std::array<fi_cq_data_entry, kBatch> entries;
  deliver_failures(events, count);
  if (count < events.size() && std::exchange(kept_, false)) {
    finish(kept_entry_, now_ns(), events, count);
  }
  while (count < events.size() && !broken_) {
    const ssize_t got =
        fi_cq_read(device_.queue(), entries.data(), std::min(kBatch, events.size() - count));
    if (got == -FI_EAVAIL) {
      read_failure();
      deliver_failures(events, count);
    } else if (got < 0 && got != -FI_EAGAIN) {
      fail_queue(static_cast<int>(-got));
    }
    if (got <= 0 && got != -FI_EAVAIL) break;
    const std::uint64_t time_ns = now_ns();
    for (ssize_t i = 0; i < got; ++i) {
      finish(entries[static_cast<std::size_t>(i)], time_ns, events, count);
    }
  }
  if (!backlogged_.empty()) retry_backlogs();
  more_ = count == events.size();
  return count;
}

void Engine::finish(const fi_cq_data_entry& entry,
                    std::uint64_t time_ns,
                    std::span<Event> events,
                    std::size_t& count) {
  const std::uint32_t index = slot_of(entry.op_context);
  if (index != kNone) {
    const Put& put = slots_[index].put;
    events[count++] = Event{put.context, time_ns, put.immediate, put.peer, Event::Kind::kCompleted};
    Stream& stream = stream_of(put);
    landed(stream);
    stream.met = true;
    release(index);
    return;
  }
  (void)device_.replenish(entry.op_context);
  if ((entry.flags & FI_REMOTE_CQ_DATA) == 0) return;
  events[count++] =
      Event{0, time_ns, static_cast<std::uint32_t>(entry.data), -1, Event::Kind::kArrived};
}

void Engine::deliver_failures(std::span<Event> events, std::size_t& count) {
  while (count < events.size() && !failures_.empty()) {
    Failure failure = failures_.pop();
    last_error_ = std::move(failure.error);
    if (failure.slot != kNone) release(failure.slot);
    events[count] = failure.event;
    events[count++].time_ns = now_ns();
  }
}

void Engine::read_failure() {
  fi_cq_err_entry entry{};
  const ssize_t got = fi_cq_readerr(device_.queue(), &entry, 0);
  if (got == -FI_EAGAIN) return;
  if (got < 0) {
    fail_queue(static_cast<int>(-got));
    return;
  }
  const std::string detail = provider_words(device_.queue(), entry);
  const std::uint32_t index = slot_of(entry.op_context);
  if (index != kNone) {
    landed(stream_of(slots_[index].put));
    fail_put(index, entry.err, detail);
    return;
  }
  // A receive for an immediate that was flushed with its endpoint, or an arrival that went wrong.
  if (device_.replenish(entry.op_context) && entry.err == FI_ECANCELED) return;
  if (failures_.size() >= slots_.size()) return;
  failures_.push(Failure{
      Event{kNoContext, 0, 0, -1, Event::Kind::kFailed},
      Error{
          ErrorCode::kPeerLost,
          ErrorScope::kPeer,
          fmt::format("{}: an arrival failed: {} ({})", provider(), fi_strerror(entry.err), detail),
          0},
      kNone});
}

void Engine::fail_put(std::uint32_t index, int error, const std::string& detail) {
  const Put put = slots_[index].put;
  const Error words = put_failed(put, provider(), error, detail);
  fail_put(index, words);
  lose_peer(put.peer, words);
}

void Engine::fail_put(std::uint32_t index, Error error) {
  const Put& put = slots_[index].put;
  failures_.push(Failure{Event{put.context, 0, put.immediate, put.peer, Event::Kind::kFailed},
                         std::move(error),
                         index});
}

void Engine::lose_peer(std::int32_t peer, const Error& error) {
  const auto p = static_cast<std::size_t>(peer);
  if (lost_[p] != nullptr) return;
  lost_[p] = std::make_unique<Error>(error);
  const auto qps = static_cast<std::size_t>(limits_.qps);
  for (std::size_t s = p * qps; s < (p + 1) * qps; ++s) {
    for (std::uint32_t index = streams_[s].head; index != kNone; index = slots_[index].next) {
      fail_put(index, put_not_sent(slots_[index].put, error));
    }
    streams_[s].head = kNone;
  }
}

void Engine::fail_queue(int error) {
  broken_ = true;
  failures_.push(Failure{
      Event{kNoContext, 0, 0, -1, Event::Kind::kFailed}, queue_failed(provider(), error), kNone});
}

void Engine::wait(std::uint64_t timeout_ns) {
  if (std::exchange(more_, false) || !failures_.empty() || woken_.exchange(false)) return;
  if (!backlogged_.empty()) timeout_ns = std::min(timeout_ns, kRetryNs);
  if (device_.can_sleep() && !broken_) {
    const std::uint64_t ms =
        std::min(timeout_ns / 1'000'000 + (timeout_ns % 1'000'000 == 0 ? 0 : 1), kLongestWaitMs);
    // Takes what ends the sleep from the queue: kept for poll(). Errors stay in the queue.
    const ssize_t got =
        fi_cq_sread(device_.queue(), &kept_entry_, 1, nullptr, static_cast<int>(ms));
    kept_ = got == 1;
  } else {
    pollfd bell{bell_.get(), POLLIN, 0};
    timespec limit{0, static_cast<long>(std::min(timeout_ns, kNapNs))};
    (void)::ppoll(&bell, 1, &limit, nullptr);
    std::uint64_t rings = 0;
    (void)!::read(bell_.get(), &rings, sizeof(rings));
  }
  woken_.store(false);
}

void Engine::wake() {
  woken_.store(true);
  if (device_.can_sleep()) {
    (void)fi_cq_signal(device_.queue());
    return;
  }
  const std::uint64_t one = 1;
  (void)!::write(bell_.get(), &one, sizeof(one));
}

}  // namespace shunt::fabric::ofi
