// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "engine/proxy_parts.hpp"

namespace shunt::engine {

using fabric::Signal;
using fabric::SignalKind;

bool Proxy::take_descriptors() {
  exec::Descriptor descriptor;
  int taken = 0;
  while (taken < proxy::kBatch && ring_.try_pop(descriptor)) {
    ++taken;
    if (descriptor.kind == exec::DescriptorKind::kPut) {
      enqueue_put(descriptor);
      continue;
    }
    const int kind = static_cast<int>(descriptor.channel);
    Channel& c = channel(kind, part_.share.number(descriptor.peer));
    record_landed(kind, descriptor.peer, descriptor.sequence);
    if (!c.receiver.consume(descriptor.sequence)) {
      fail(Error{ErrorCode::kInternal, ErrorScope::kFatal, "a slot was released twice", 0},
           ControlCode::kFailed,
           options_.rank.rank);
      return true;
    }
    if (!c.dirty && c.receiver.released() != c.credit_told) {
      c.dirty = true;
      dirty_.push_back(static_cast<std::uint32_t>(&c - channels_.data()));
    }
  }
  if (taken == 0) return false;
  stats_.descriptors.add(static_cast<std::uint64_t>(taken));
  std::uint64_t backlog = static_cast<std::uint64_t>(taken);
  if (taken == proxy::kBatch) backlog += ring_.ready(part_.ring.size);
  stats_.largest_backlog.raise_to(backlog);
  return true;
}

void Proxy::enqueue_put(const exec::Descriptor& descriptor) {
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>(descriptor.channel);
  const std::uint32_t number = part_.share.number(descriptor.peer);
  const std::uint32_t index = my_index_[number];
  fabric::Put& put = pending_[pending_tail_++ % pending_.size()];
  put.context = proxy::make_context(kind, descriptor.peer, descriptor.sequence);
  // The exposed region begins where the fabric's part of the layout does.
  const std::size_t begin = rank.layout.fabric_begin;
  put.source_offset = rank.layout.staging_slot(kind, descriptor.peer, descriptor.sequence) - begin;
  put.target_offset = rank.layout.landing_slot(kind, index, descriptor.sequence) - begin;
  put.bytes = descriptor.bytes;
  put.immediate = fabric::encode(fabric::signal_of(
      descriptor.channel, index, rank.layout.capacity[kind], descriptor.sequence));
  put.peer = static_cast<std::int32_t>(number);
  put.qp = queue_pair(kind, descriptor.sequence);
  Flight& sent = flight(kind, number, descriptor.sequence);
  sent.bytes = descriptor.bytes;
  sent.note = rank.notes[kind][rank.layout.slot(kind, descriptor.peer, descriptor.sequence)];
  if (part_.lane == nullptr) return;
  sent.enqueued_ns = now_ns();
  if (sent.note.posted_ns == 0) return;
  const std::int64_t offset = options_.clock_offset ? options_.clock_offset() : 0;
  const std::uint64_t posted = sent.note.posted_ns + static_cast<std::uint64_t>(offset);
  // Clocks of two machines: what is left of their difference may make an age negative.
  const std::uint64_t age = sent.enqueued_ns > posted ? sent.enqueued_ns - posted : 0;
  stats_.aged.add(1);
  stats_.total_age_ns.add(age);
  stats_.largest_age_ns.raise_to(age);
}

std::int32_t Proxy::queue_pair(int kind, std::uint64_t sequence) const {
  // Counts are few and everybody waits for them: not behind bulk.
  if (kind == static_cast<int>(SignalKind::kCount)) return options_.qps;
  return static_cast<std::int32_t>(sequence % static_cast<std::uint64_t>(options_.qps));
}

bool Proxy::post_pending() {
  if (pending_head_ == pending_tail_) return false;
  const std::size_t at = pending_head_ % pending_.size();
  const std::size_t count =
      std::min<std::size_t>(pending_tail_ - pending_head_, pending_.size() - at);
  const std::span<const fabric::Put> batch(pending_.data() + at, count);
  const std::uint64_t now = part_.lane != nullptr ? now_ns() : 0;
  // Before post(): a completion may be polled at once, and must find the time.
  const auto stamp = [&](const fabric::Put& put) {
    const int kind = proxy::kind_of(put.context);
    const std::uint64_t sequence = proxy::sequence_of(put.context);
    flight(kind, static_cast<std::uint32_t>(put.peer), sequence).posted_ns = now;
  };
  if (part_.lane != nullptr) std::ranges::for_each(batch, stamp);
  const std::size_t taken = part_.fabric->post(batch);
  pending_head_ += taken;
  stats_.puts.add(taken);
  return taken > 0;
}

bool Proxy::send_immediate(std::size_t number, const Signal& signal, std::uint64_t context) {
  fabric::Put put;
  put.context = context;
  put.immediate = fabric::encode(signal);
  put.peer = static_cast<std::int32_t>(number);
  put.qp = options_.qps;
  return part_.fabric->post({&put, 1}) == 1;
}

bool Proxy::post_credits(bool idle) {
  bool sent = false;
  for (std::size_t i = 0; i < dirty_.size();) {
    Channel& c = channels_[dirty_[i]];
    const int kind = static_cast<int>(dirty_[i] / own_);
    const std::uint32_t number = dirty_[i] % own_;
    const std::uint64_t released = c.receiver.released();
    const std::uint32_t capacity = c.receiver.capacity();
    // A quarter of the ring, or whatever there is once nothing else needs the thread.
    if (!idle && (released - c.credit_told) * 4 < capacity) {
      ++i;
      continue;
    }
    const auto credit = static_cast<SignalKind>(kind + fabric::kCreditOffset);
    if (!rail_gone_[number] &&
        !send_immediate(number, fabric::signal_of(credit, my_index_[number], capacity, released))) {
      ++i;
      continue;
    }
    stats_.credits.add(1);
    sent = true;
    c.credit_told = released;
    c.dirty = false;
    dirty_[i] = dirty_.back();
    dirty_.pop_back();
  }
  return sent;
}

}  // namespace shunt::engine
