// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/proxy.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "dispatch/args.hpp"
#include "exec/cpu/flags.hpp"

namespace shunt::engine {

using exec::cpu::load_acquire;
using exec::cpu::ring_bell;
using exec::cpu::store_release;
using fabric::Signal;
using fabric::SignalKind;
using fabric::Widened;

struct Proxy::Flight {
  std::uint64_t enqueued_ns = 0;
  std::uint64_t posted_ns = 0;
  std::uint64_t bytes = 0;
  exec::SlotNote note;
};

struct Proxy::Channel {
  fabric::ReceiverChannel receiver;
  fabric::SenderChannel sender;
  std::uint64_t credit_told = 0;
  bool dirty = false;
};

namespace {

constexpr int kBatch = 64;
constexpr int kKinds = fabric::kChannelKinds;
// Rounds without any work before the thread sleeps: about as long as a message takes on a fast
// fabric, and nothing where cores are shared.
constexpr int kQuietRounds = 16;
// How long after the last work the thread stays awake for an executor that cannot wake it, and how
// often it looks then: a look costs some microseconds, a late look as much as kLook_ns.
constexpr std::uint64_t kLinger_ns = 2'000'000;
constexpr std::uint64_t kLook_ns = 1'000'000;

// Context of a data put: 1 (bit 63) | kind (2 bits at 60) | peer (16 at 44) | sequence (44).
// Unique for the life of a Buffer, so that a duplicated completion names its own put.
constexpr std::uint64_t kDataTag = std::uint64_t{1} << 63;
constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << 44) - 1;
// Context of a goodbye: this tag and the peer.
constexpr std::uint64_t kGoodbyeTag = std::uint64_t{1} << 62;

constexpr std::uint64_t make_context(int kind, std::uint32_t peer, std::uint64_t sequence) {
  return kDataTag | (static_cast<std::uint64_t>(kind) << 60) |
         (static_cast<std::uint64_t>(peer) << 44) | (sequence & kSequenceMask);
}

record::Phase put_phase(int kind) {
  constexpr record::Phase kPhases[] = {record::Phase::kDispatchInterNodeSend,
                                       record::Phase::kCombineInterNode,
                                       record::Phase::kCountExchange};
  return kPhases[kind];
}

std::uint64_t read_clock(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

std::uint64_t ring_capacity(const exec::RankView& rank) {
  std::uint64_t total = 64;
  for (int kind = 0; kind < kKinds; ++kind) {
    total += 2ULL * rank.layout.capacity[kind] * static_cast<std::uint64_t>(rank.peers());
  }
  return total;
}

Proxy::Proxy(ProxyOptions options) : options_(std::move(options)), ring_(options_.ring) {
  const exec::RankView& rank = options_.rank;
  const auto peers = static_cast<std::size_t>(rank.peers());
  std::size_t slots = 0;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::uint32_t capacity = rank.layout.capacity[kind];
    for (std::size_t p = 0; p < peers; ++p) {
      channels_.push_back(
          {fabric::ReceiverChannel(capacity), fabric::SenderChannel(capacity), 0, false});
    }
    flights_[kind].resize(peers * capacity);
    slots += peers * capacity;
  }
  pending_.resize(std::max<std::size_t>(slots, 1));
  dirty_.reserve(channels_.size());
  for (std::size_t p = 0; p < peers; ++p) {
    const int node = rank.shape.peer_node(rank.node, static_cast<int>(p));
    my_index_.push_back(static_cast<std::uint32_t>(rank.shape.peer_index(node, rank.node)));
  }
  heard_ns_.assign(peers, 0);
  rail_gone_.assign(peers, 0);
  farewell_.assign(peers, kSilent);
  beat_seen_.assign(static_cast<std::size_t>(rank.shape.ranks_per_node), 0);
  beat_ns_.assign(beat_seen_.size(), 0);
}

Proxy::~Proxy() {
  stop();
}

void Proxy::start() {
  const std::uint64_t now = now_ns();
  std::ranges::fill(heard_ns_, now);
  std::ranges::fill(beat_ns_, now);
  last_check_ns_ = now;
  next_beat_ns_ = now;
  thread_ = std::thread([this] { run(); });
}

void Proxy::stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_seq_cst);
  wake();
  thread_.join();
}

void Proxy::wake() {
  wake_word_.fetch_add(1, std::memory_order_seq_cst);
  if (options_.fabric != nullptr) {
    options_.fabric->wake();
  } else {
    futex_wake_all(wake_word_);
  }
}

void Proxy::fail(Error error, ControlCode code, int rank) {
  if (!options_.failure->report(std::move(error))) return;
  const std::uint64_t word = abort_word(code, rank);
  abort_.store(word, std::memory_order_release);
  for (int l = 0; l < options_.rank.shape.ranks_per_node; ++l) {
    memory::Control* control = options_.rank.control(l);
    if (load_acquire(&control->abort) == 0) store_release(&control->abort, word);
    ring_bell(control);
  }
  if (options_.on_abort) options_.on_abort(word);
  wake();
}

std::uint64_t Proxy::cpu_ns() const {
  if (!thread_.joinable()) return stats_.busy_ns.get();
  clockid_t clock{};
  const auto thread = const_cast<std::thread&>(thread_).native_handle();
  return ::pthread_getcpuclockid(thread, &clock) == 0 ? read_clock(clock) : 0;
}

void Proxy::absorb_abort(std::uint64_t word) {
  const auto code = static_cast<ControlCode>(word >> 32);
  const int subject = static_cast<int>(word & 0xffff'ffffU) - 1;
  if (code == ControlCode::kPeerLost) {
    fail(Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               fmt::format("rank {} was lost (found by another rank)", subject),
               0},
         code,
         subject);
  } else {
    fail(Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               fmt::format("rank {} failed and ended the operation; its own message says why",
                           subject),
               0},
         code,
         subject);
  }
}

Proxy::Channel& Proxy::channel(int kind, std::uint32_t peer) {
  return channels_[static_cast<std::size_t>(kind) *
                       static_cast<std::size_t>(options_.rank.peers()) +
                   peer];
}

void Proxy::run() {
  std::uint64_t leaving_since = 0;
  for (;;) {
    bool busy = take_descriptors();
    if (options_.fabric != nullptr) {
      busy |= post_pending();
      busy |= post_credits(!busy);
      busy |= take_events();
      busy |= post_credits(!busy);
    }
    if (ring_needed_) {
      ring_bell(options_.rank.control(options_.rank.local));
      ring_needed_ = false;
    }
    const std::uint64_t now = now_ns();
    heartbeat(now);
    check_peers(now);
    send_abort();
    if (stop_.load(std::memory_order_acquire)) {
      if (leaving_since == 0) leaving_since = now;
      say_goodbye();
      const bool late = now - leaving_since > 2 * options_.heartbeat_ns;
      if (options_.failure->failed() || all_gone() || late) break;
    }
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
  stats_.busy_ns.add(read_clock(CLOCK_THREAD_CPUTIME_ID));
}

bool Proxy::take_descriptors() {
  exec::Descriptor descriptor;
  int taken = 0;
  while (taken < kBatch && ring_.try_pop(descriptor)) {
    ++taken;
    if (descriptor.kind == exec::DescriptorKind::kPut) {
      enqueue_put(descriptor);
      continue;
    }
    const int kind = static_cast<int>(descriptor.channel);
    Channel& c = channel(kind, descriptor.peer);
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
  if (taken == kBatch) backlog += ring_.ready(options_.ring.size);
  stats_.largest_backlog.raise_to(backlog);
  return true;
}

void Proxy::enqueue_put(const exec::Descriptor& descriptor) {
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>(descriptor.channel);
  const std::size_t slot = rank.layout.slot(kind, descriptor.peer, descriptor.sequence);
  const std::uint32_t index = my_index_[descriptor.peer];
  fabric::Put& put = pending_[pending_tail_++ % pending_.size()];
  put.context = make_context(kind, descriptor.peer, descriptor.sequence);
  // The exposed region begins where the fabric's part of the layout does.
  const std::size_t begin = rank.layout.fabric_begin;
  put.source_offset = rank.layout.staging_slot(kind, descriptor.peer, descriptor.sequence) - begin;
  put.target_offset = rank.layout.landing_slot(kind, index, descriptor.sequence) - begin;
  put.bytes = descriptor.bytes;
  put.immediate = fabric::encode(fabric::signal_of(
      descriptor.channel, index, rank.layout.capacity[kind], descriptor.sequence));
  put.peer = static_cast<std::int32_t>(descriptor.peer);
  put.qp = queue_pair(kind, descriptor.sequence);
  Flight& flight = flights_[kind][slot];
  flight.bytes = descriptor.bytes;
  flight.note = rank.notes[kind][slot];
  if (options_.lane == nullptr) return;
  flight.enqueued_ns = now_ns();
  if (flight.note.posted_ns == 0) return;
  const std::int64_t offset = options_.clock_offset ? options_.clock_offset() : 0;
  const std::uint64_t posted = flight.note.posted_ns + static_cast<std::uint64_t>(offset);
  // Clocks of two machines: what is left of their difference may make an age negative.
  const std::uint64_t age = flight.enqueued_ns > posted ? flight.enqueued_ns - posted : 0;
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
  const std::uint64_t now = options_.lane != nullptr ? now_ns() : 0;
  // Before post(): a completion may be polled at once, and must find the time.
  const auto stamp = [&](const fabric::Put& put) {
    const int kind = static_cast<int>((put.context >> 60) & 3U);
    const std::uint64_t sequence = put.context & kSequenceMask;
    const auto peer = static_cast<std::uint32_t>(put.peer);
    flights_[kind][options_.rank.layout.slot(kind, peer, sequence)].posted_ns = now;
  };
  if (options_.lane != nullptr) std::ranges::for_each(batch, stamp);
  const std::size_t taken = options_.fabric->post(batch);
  pending_head_ += taken;
  stats_.puts.add(taken);
  return taken > 0;
}

bool Proxy::send_immediate(int peer, const Signal& signal, std::uint64_t context) {
  fabric::Put put;
  put.context = context;
  put.immediate = fabric::encode(signal);
  put.peer = peer;
  put.qp = options_.qps;
  return options_.fabric->post({&put, 1}) == 1;
}

bool Proxy::post_credits(bool idle) {
  bool sent = false;
  for (std::size_t i = 0; i < dirty_.size();) {
    Channel& c = channels_[dirty_[i]];
    const auto peers = static_cast<std::uint32_t>(options_.rank.peers());
    const int kind = static_cast<int>(dirty_[i] / peers);
    const std::uint32_t peer = dirty_[i] % peers;
    const std::uint64_t released = c.receiver.released();
    const std::uint32_t capacity = c.receiver.capacity();
    // A quarter of the ring, or whatever there is once nothing else needs the thread.
    if (!idle && (released - c.credit_told) * 4 < capacity) {
      ++i;
      continue;
    }
    const auto credit = static_cast<SignalKind>(kind + fabric::kCreditOffset);
    if (!rail_gone_[peer] &&
        !send_immediate(static_cast<int>(peer),
                        fabric::signal_of(credit, my_index_[peer], capacity, released))) {
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

bool Proxy::take_events() {
  std::array<fabric::Event, kBatch> events;
  const std::size_t count = options_.fabric->poll(events);
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

void Proxy::on_arrival(const fabric::Event& event) {
  const Signal signal = fabric::decode(event.immediate);
  const auto peers = static_cast<std::uint32_t>(options_.rank.peers());
  const int kind = static_cast<int>(signal.kind);
  std::uint32_t source = signal.slot;
  if (kind < kKinds) source = signal.slot / options_.rank.layout.capacity[kind];
  if (kind >= kKinds && kind < 2 * kKinds) {
    source = signal.slot / options_.rank.layout.capacity[kind - kKinds];
  }
  if (signal.kind == SignalKind::kControl) {
    on_control(signal);
    return;
  }
  if (source >= peers) {
    fail(Error{ErrorCode::kProtocol,
               ErrorScope::kFatal,
               fmt::format("rank {} got signal {:08x}, which names source {} of {}",
                           options_.rank.rank,
                           event.immediate,
                           source,
                           peers),
               0},
         ControlCode::kFailed,
         options_.rank.rank);
    return;
  }
  heard_ns_[source] = event.time_ns;
  if (kind < kKinds) {
    on_data(signal, event);
  } else if (kind < 2 * kKinds) {
    on_credit(signal);
  }
}

void Proxy::on_data(const Signal& signal, const fabric::Event& event) {
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>(signal.kind);
  const std::uint32_t capacity = rank.layout.capacity[kind];
  const std::uint32_t peer = signal.slot / capacity;
  const Widened got = channel(kind, peer).receiver.arrive(signal.slot % capacity, signal.lap);
  if (got.kind == Widened::Kind::kViolation) {
    fail(Error{ErrorCode::kProtocol,
               ErrorScope::kFatal,
               fmt::format("rank {} sent slot {} lap {} of channel {} outside its credits",
                           rank.rail_rank(static_cast<int>(peer)),
                           signal.slot,
                           signal.lap,
                           kind),
               0},
         ControlCode::kFailed,
         rank.rank);
    return;
  }
  std::uint64_t* flag = rank.fabric_word(rank.layout.arrived[kind]) + signal.slot;
  if (got.kind == Widened::Kind::kStale || load_acquire(flag) >= got.sequence + 1) {
    stats_.stale_signals.add(1);
    return;
  }
  store_release(flag, got.sequence + 1);
  ring_needed_ = true;
  if (options_.lane == nullptr) return;
  record::Arrival arrival;
  arrival.time_ns = event.time_ns;
  arrival.peer = rank.rail_rank(static_cast<int>(peer));
  arrival.phase = put_phase(kind);
  const std::byte* slot = rank.landing_slot(kind, static_cast<int>(peer), got.sequence);
  arrival.qp = static_cast<std::uint16_t>(queue_pair(kind, got.sequence));
  arrival.nic = static_cast<std::uint16_t>(arrival.qp % options_.nics);
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
  options_.lane->push(arrival);
}

void Proxy::on_credit(const Signal& signal) {
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>(signal.kind) - fabric::kCreditOffset;
  const std::uint32_t capacity = rank.layout.capacity[kind];
  const std::uint32_t peer = signal.slot / capacity;
  const Widened got = channel(kind, peer).sender.credit(signal.slot % capacity, signal.lap);
  if (got.kind == Widened::Kind::kViolation) {
    fail(Error{ErrorCode::kProtocol,
               ErrorScope::kFatal,
               fmt::format("rank {} returned a credit that it was never given (slot {} lap {})",
                           rank.rail_rank(static_cast<int>(peer)),
                           signal.slot,
                           signal.lap),
               0},
         ControlCode::kFailed,
         rank.rank);
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
    if (signal.slot < rail_gone_.size()) rail_gone_[signal.slot] = 1;
    return;
  }
  absorb_abort(abort_word(code, static_cast<int>(signal.slot)));
}

void Proxy::on_completion(const fabric::Event& event) {
  if ((event.context & kDataTag) == 0) {
    if ((event.context & kGoodbyeTag) != 0) farewell_[event.context & 0xffffU] = kSaid;
    return;
  }
  const exec::RankView& rank = options_.rank;
  const int kind = static_cast<int>((event.context >> 60) & 3U);
  const auto peer = static_cast<std::uint32_t>((event.context >> 44) & 0xffffU);
  const std::uint64_t sequence = event.context & kSequenceMask;
  const std::size_t slot = rank.layout.slot(kind, peer, sequence);
  std::uint64_t* flag = rank.fabric_word(rank.layout.completed[kind]) + slot;
  if (load_acquire(flag) >= sequence + 1) {
    stats_.stale_signals.add(1);
    return;
  }
  if (options_.lane != nullptr) {
    const Flight& flight = flights_[kind][slot];
    record::Put put;
    put.enqueued_ns = flight.enqueued_ns;
    put.posted_ns = flight.posted_ns;
    put.completed_ns = event.time_ns;
    put.bytes = flight.bytes;
    put.op = flight.note.op;
    put.chunk = flight.note.chunk;
    put.peer = rank.rail_rank(static_cast<int>(peer));
    put.qp = static_cast<std::uint16_t>(queue_pair(kind, sequence));
    put.nic = static_cast<std::uint16_t>(put.qp % options_.nics);
    put.phase = put_phase(kind);
    options_.lane->push(put);
  }
  store_release(flag, sequence + 1);
  ring_needed_ = true;
}

void Proxy::on_fabric_failure(const fabric::Event& event) {
  const int peer = event.peer;
  if (peer >= 0 && rail_gone_[static_cast<std::size_t>(peer)]) return;
  if (peer >= 0 && leaving_) {
    // It has left first, with its goodbye still on the way.
    rail_gone_[static_cast<std::size_t>(peer)] = 1;
    return;
  }
  Error error = options_.fabric->last_error();
  const int subject = peer >= 0 ? options_.rank.rail_rank(peer) : options_.rank.rank;
  if (peer >= 0) {
    error.message = fmt::format("rank {} (node {}) was lost: {}",
                                subject,
                                options_.rank.shape.node_of(subject),
                                error.message);
    error.code = ErrorCode::kPeerLost;
    error.scope = ErrorScope::kFatal;
  }
  fail(std::move(error), peer >= 0 ? ControlCode::kPeerLost : ControlCode::kFailed, subject);
}

void Proxy::heartbeat(std::uint64_t now) {
  if (now < next_beat_ns_) return;
  next_beat_ns_ = now + options_.heartbeat_ns / 10;
  memory::Control* mine = options_.rank.control(options_.rank.local);
  store_release(&mine->heartbeat, load_acquire(&mine->heartbeat) + 1);
  for (int p = 0; p < options_.rank.peers(); ++p) {
    if (rail_gone_[static_cast<std::size_t>(p)]) continue;
    // Refused while the queue is full: then other signals keep this rank alive at the peer.
    const Signal beat{SignalKind::kHeartbeat, my_index_[static_cast<std::size_t>(p)], 0};
    if (send_immediate(p, beat)) stats_.heartbeats.add(1);
  }
}

void Proxy::check_peers(std::uint64_t now) {
  const std::uint64_t word = load_acquire(&options_.rank.control(options_.rank.local)->abort);
  if (word != 0 && !options_.failure->failed()) absorb_abort(word);
  const std::uint64_t gap = now - last_check_ns_;
  if (gap < options_.heartbeat_ns / 20) return;
  last_check_ns_ = now;
  // While this thread did not run it could not hear anybody: its own pause is no peer's silence.
  const std::uint64_t pause = gap > options_.heartbeat_ns / 4 ? gap : 0;
  const auto lost = [&](int rank, std::uint64_t silence) {
    fail(Error{ErrorCode::kPeerLost,
               ErrorScope::kFatal,
               fmt::format("rank {} (node {}) was lost: rank {} has heard nothing from it for {}",
                           rank,
                           options_.rank.shape.node_of(rank),
                           options_.rank.rank,
                           format_ns(silence)),
               0},
         ControlCode::kPeerLost,
         rank);
  };
  for (int l = 0; l < options_.rank.shape.ranks_per_node; ++l) {
    const auto i = static_cast<std::size_t>(l);
    const memory::Control* control = options_.rank.control(l);
    const std::uint64_t beat = load_acquire(&control->heartbeat);
    beat_ns_[i] += pause;
    if (beat != beat_seen_[i] || load_acquire(&control->goodbye) != 0) {
      beat_seen_[i] = beat;
      beat_ns_[i] = now;
    } else if (l != options_.rank.local && now > beat_ns_[i] + options_.heartbeat_ns) {
      lost(options_.rank.shape.rank_of(options_.rank.node, l), now - beat_ns_[i]);
    }
  }
  for (int p = 0; p < options_.rank.peers(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    heard_ns_[i] += pause;
    if (!rail_gone_[i] && now > heard_ns_[i] + options_.heartbeat_ns) {
      lost(options_.rank.rail_rank(p), now - heard_ns_[i]);
    }
  }
}

void Proxy::send_abort() {
  const std::uint64_t word = abort_.load(std::memory_order_acquire);
  if (word == 0 || abort_sent_) return;
  abort_sent_ = true;
  const Signal signal{SignalKind::kControl,
                      static_cast<std::uint32_t>((word & 0xffff'ffffU) - 1),
                      static_cast<std::uint8_t>(word >> 32)};
  for (int p = 0; p < options_.rank.peers(); ++p) {
    if (!rail_gone_[static_cast<std::size_t>(p)]) (void)send_immediate(p, signal);
  }
}

void Proxy::say_goodbye() {
  if (!leaving_) store_release(&options_.rank.control(options_.rank.local)->goodbye, 1);
  leaving_ = true;
  for (int p = 0; p < options_.rank.peers(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    if (farewell_[i] != kSilent) continue;
    const Signal signal{
        SignalKind::kControl, my_index_[i], static_cast<std::uint8_t>(ControlCode::kGoodbye)};
    if (send_immediate(p, signal, kGoodbyeTag | i)) farewell_[i] = kSaying;
  }
}

bool Proxy::all_gone() const {
  for (std::size_t p = 0; p < rail_gone_.size(); ++p) {
    if (!rail_gone_[p] || farewell_[p] == kSilent) return false;
    // Until the goodbye has completed, ending the fabric could lose it.
    if (farewell_[p] == kSaying && !options_.failure->failed()) return false;
  }
  return true;
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
    if (options_.fabric != nullptr) {
      options_.fabric->wait(until);
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
