// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "dispatch/args.hpp"
#include "engine/proxy_parts.hpp"
#include "exec/cpu/flags.hpp"

namespace shunt::engine {

using exec::cpu::load_acquire;
using exec::cpu::store_release;
using fabric::Signal;
using fabric::SignalKind;
using fabric::Widened;

namespace {

record::Phase put_phase(int kind) {
  constexpr record::Phase kPhases[] = {record::Phase::kDispatchInterNodeSend,
                                       record::Phase::kCombineInterNode,
                                       record::Phase::kCountExchange};
  return kPhases[kind];
}

}  // namespace

bool Proxy::take_events() {
  std::array<fabric::Event, proxy::kBatch> events;
  const std::size_t count = part_.fabric->poll(events);
  if (!flush_arrivals(std::span(events).first(count))) return true;
  for (std::size_t i = 0; i < count; ++i) {
    switch (events[i].kind) {
      case fabric::Event::Kind::kArrived:
        on_arrival(events[i]);
        break;
      case fabric::Event::Kind::kCompleted:
        on_completion(events[i]);
        break;
      case fabric::Event::Kind::kFailed:
        on_fabric_failure(events[i]);
        break;
    }
  }
  return count > 0;
}

bool Proxy::flush_arrivals(std::span<const fabric::Event> events) {
  const auto is_chunk = [](const fabric::Event& event) {
    return event.kind == fabric::Event::Kind::kArrived &&
           memory::Layout::holds_chunks(static_cast<int>(fabric::decode(event.immediate).kind));
  };
  if (!options_.flush_arrivals || std::ranges::none_of(events, is_chunk)) return true;
  Status flushed = options_.flush_arrivals();
  if (flushed) return true;
  fail(std::move(flushed).error(), ControlCode::kFailed, options_.rank.rank);
  return false;
}

void Proxy::break_off(std::string why) {
  fail(Error{ErrorCode::kProtocol, ErrorScope::kFatal, std::move(why), 0},
       ControlCode::kFailed,
       options_.rank.rank);
}

void Proxy::on_arrival(const fabric::Event& event) {
  const Signal signal = fabric::decode(event.immediate);
  const auto peers = static_cast<std::uint32_t>(options_.rank.peers());
  const int kind = static_cast<int>(signal.kind);
  std::uint32_t source = signal.slot;
  if (kind < proxy::kKinds) source = signal.slot / options_.rank.layout.capacity[kind];
  if (kind >= proxy::kKinds && kind < 2 * proxy::kKinds) {
    source = signal.slot / options_.rank.layout.capacity[kind - proxy::kKinds];
  }
  if (signal.kind == SignalKind::kControl) {
    on_control(signal);
    return;
  }
  if (source >= peers || !part_.share.holds(source)) {
    break_off(fmt::format(
        "rank {} got signal {:08x}, which names source {} of {}, on progress thread {} of {}",
        options_.rank.rank,
        event.immediate,
        source,
        peers,
        part_.share.thread,
        part_.share.threads));
    return;
  }
  heard_ns_[part_.share.number(source)] = event.time_ns;
  if (kind < proxy::kKinds) {
    on_data(signal, event);
  } else if (kind < 2 * proxy::kKinds) {
    on_credit(signal);
  }
}

void Proxy::on_data(const Signal& signal, const fabric::Event& event) {
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>(signal.kind);
  const std::uint32_t capacity = rank.layout.capacity[kind];
  const std::uint32_t peer = signal.slot / capacity;
  const Widened got =
      channel(kind, part_.share.number(peer)).receiver.arrive(signal.slot % capacity, signal.lap);
  if (got.kind == Widened::Kind::kViolation) {
    break_off(fmt::format("rank {} sent slot {} lap {} of channel {} outside its credits",
                          rank.rail_rank(static_cast<int>(peer)),
                          signal.slot,
                          signal.lap,
                          kind));
    return;
  }
  std::uint64_t* flag = rank.fabric_word(rank.layout.arrived[kind]) + signal.slot;
  if (got.kind == Widened::Kind::kStale || load_acquire(flag) >= got.sequence + 1) {
    stats_.stale_signals.add(1);
    return;
  }
  store_release(flag, got.sequence + 1);
  ring_needed_ = true;
  if (part_.lane != nullptr) record_arrival(signal, got.sequence, event.time_ns);
}

record::Arrival Proxy::arrival_of(int kind, std::uint32_t peer, std::uint64_t sequence) const {
  record::Arrival arrival;
  arrival.peer = options_.rank.rail_rank(static_cast<int>(peer));
  arrival.phase = put_phase(kind);
  arrival.qp = static_cast<std::uint16_t>(queue_pair(kind, sequence));
  arrival.nic = static_cast<std::uint16_t>(arrival.qp % options_.nics);
  return arrival;
}

void Proxy::record_arrival(const Signal& signal, std::uint64_t sequence, std::uint64_t time_ns) {
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>(signal.kind);
  const std::uint32_t peer = signal.slot / rank.layout.capacity[kind];
  if (options_.slots_on_device && memory::Layout::holds_chunks(kind)) {
    landed_ns_[kind][rank.layout.slot(kind, part_.share.number(peer), sequence)] = time_ns;
    return;
  }
  record::Arrival arrival = arrival_of(kind, peer, sequence);
  arrival.time_ns = time_ns;
  const std::byte* slot = rank.landing_slot(kind, static_cast<int>(peer), sequence);
  if (signal.kind == SignalKind::kCount) {
    const auto* entry = reinterpret_cast<const memory::CountEntry*>(slot);
    arrival.op = static_cast<std::uint32_t>(entry->op);
    arrival.bytes = sizeof(memory::CountEntry) +
                    static_cast<std::uint64_t>(rank.shape.ranks_per_node) * sizeof(std::int32_t);
  } else {
    const auto* header = reinterpret_cast<const dispatch::ChunkHeader*>(slot);
    arrival.op = static_cast<std::uint32_t>(header->op);
    arrival.chunk = header->chunk;
    arrival.bytes = header->bytes;
  }
  part_.lane->push(arrival);
}

void Proxy::record_landed(int kind, std::uint32_t peer, std::uint64_t sequence) {
  if (part_.lane == nullptr || !options_.slots_on_device || !memory::Layout::holds_chunks(kind)) {
    return;
  }
  const memory::Layout& layout = options_.rank.layout;
  const exec::LandedNote& note = options_.rank.landed[kind][layout.slot(kind, peer, sequence)];
  record::Arrival arrival = arrival_of(kind, peer, sequence);
  arrival.time_ns = landed_ns_[kind][layout.slot(kind, part_.share.number(peer), sequence)];
  arrival.op = note.op;
  arrival.chunk = note.chunk;
  arrival.bytes = note.bytes;
  part_.lane->push(arrival);
}

void Proxy::on_credit(const Signal& signal) {
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>(signal.kind) - fabric::kCreditOffset;
  const std::uint32_t capacity = rank.layout.capacity[kind];
  const std::uint32_t peer = signal.slot / capacity;
  const Widened got =
      channel(kind, part_.share.number(peer)).sender.credit(signal.slot % capacity, signal.lap);
  if (got.kind == Widened::Kind::kViolation) {
    break_off(fmt::format("rank {} returned a credit that it was never given (slot {} lap {})",
                          rank.rail_rank(static_cast<int>(peer)),
                          signal.slot,
                          signal.lap));
    return;
  }
  if (got.kind == Widened::Kind::kStale) {
    stats_.stale_signals.add(1);
    return;
  }
  store_release(rank.fabric_word(rank.layout.credit[kind]) + peer, got.sequence);
  ring_needed_ = true;
}

void Proxy::on_control(const Signal& signal) {
  const auto code = static_cast<ControlCode>(signal.lap);
  if (code == ControlCode::kGoodbye) {
    const bool known = signal.slot < static_cast<std::uint32_t>(options_.rank.peers()) &&
                       part_.share.holds(signal.slot);
    if (known) rail_gone_[part_.share.number(signal.slot)] = 1;
    return;
  }
  alarm_.absorb(abort_word(code, static_cast<int>(signal.slot)));
}

void Proxy::on_completion(const fabric::Event& event) {
  if ((event.context & proxy::kDataTag) == 0) {
    if ((event.context & proxy::kGoodbyeTag) != 0) farewell_[event.context & 0xffffU] = kSaid;
    return;
  }
  const exec::RankView& rank = options_.rank;
  const int kind = proxy::kind_of(event.context);
  const std::uint32_t peer = proxy::peer_of(event.context);
  const std::uint64_t sequence = proxy::sequence_of(event.context);
  const std::size_t slot = rank.layout.slot(kind, peer, sequence);
  std::uint64_t* flag = rank.fabric_word(rank.layout.completed[kind]) + slot;
  if (load_acquire(flag) >= sequence + 1) {
    stats_.stale_signals.add(1);
    return;
  }
  if (part_.lane != nullptr) {
    const Flight& sent = flight(kind, part_.share.number(peer), sequence);
    record::Put put;
    put.enqueued_ns = sent.enqueued_ns;
    put.posted_ns = sent.posted_ns;
    put.completed_ns = event.time_ns;
    put.bytes = sent.bytes;
    put.op = sent.note.op;
    put.chunk = sent.note.chunk;
    put.peer = rank.rail_rank(static_cast<int>(peer));
    put.qp = static_cast<std::uint16_t>(queue_pair(kind, sequence));
    put.nic = static_cast<std::uint16_t>(put.qp % options_.nics);
    put.phase = put_phase(kind);
    part_.lane->push(put);
  }
  store_release(flag, sequence + 1);
  ring_needed_ = true;
}

void Proxy::on_fabric_failure(const fabric::Event& event) {
  const int peer = event.peer;
  if (peer >= 0 && (rail_gone_[static_cast<std::size_t>(peer)] || leaving_since_ != 0)) {
    // It has left, perhaps with its goodbye still on the way; there is nobody to say one to.
    rail_gone_[static_cast<std::size_t>(peer)] = 1;
    farewell_[static_cast<std::size_t>(peer)] = kSaid;
    return;
  }
  Error error = part_.fabric->last_error();
  const int subject = peer >= 0 ? rail_rank(static_cast<std::size_t>(peer)) : options_.rank.rank;
  if (peer >= 0) {
    heard_ns_[static_cast<std::size_t>(peer)] = 0;  // Nobody to wait for.
    error.message = fmt::format("rank {} (node {}) was lost: {}",
                                subject,
                                options_.rank.shape.node_of(subject),
                                error.message);
    error.code = ErrorCode::kPeerLost;
    error.scope = ErrorScope::kFatal;
  }
  fail(std::move(error), peer >= 0 ? ControlCode::kPeerLost : ControlCode::kFailed, subject);
}

}  // namespace shunt::engine
