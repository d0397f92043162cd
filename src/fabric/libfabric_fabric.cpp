// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric_fabric.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <utility>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/units.hpp"
#include "fabric/fixed_queue.hpp"
#include "fabric/ofi_device.hpp"
#include "fabric/ofi_discovery.hpp"
#include "fabric/ofi_words.hpp"
#include "fabric/put_check.hpp"
#include "fabric/striped_fabric.hpp"

namespace shunt::fabric {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kBatch = 64;
/// A peer that was connected once and cannot be reached for this long has closed or died: tcp
/// providers connect again for ever, and say nothing but EAGAIN.
constexpr std::uint64_t kReconnectNs = 200'000'000;
/// A wait is cut to this while puts wait for room in the provider, whose coming ends no sleep.
constexpr std::uint64_t kRetryNs = 500'000;
/// Where a provider cannot sleep: short naps instead.
constexpr std::uint64_t kNapNs = 50'000;
constexpr std::uint64_t kLongestWaitMs = 3'600'000;

class LibfabricFabric final : public Fabric {
 public:
  LibfabricFabric(ofi::Device device, UniqueFd bell, const LibfabricOptions& options)
      : device_(std::move(device)),
        bell_(std::move(bell)),
        connect_timeout_ns_(options.connect_timeout_ns),
        slots_(options.depth),
        failures_(2 * options.depth + 2) {
    free_.reserve(options.depth);
    for (std::size_t i = options.depth; i > 0; --i)
      free_.push_back(static_cast<std::uint32_t>(i - 1));
    limits_.qps = options.qps;
  }

  Status expose(std::span<std::byte> region) override {
    limits_.source_bytes = region.size();
    return device_.expose(region);
  }
  Result<std::vector<std::byte>> address() const override {
    auto own = device_.address();
    if (!own) return Unexpected(std::move(own).error());
    return ofi::encode(*own);
  }
  Status connect(std::span<const std::vector<std::byte>> peers) override;
  std::size_t post(std::span<const Put> puts) override;
  std::size_t poll(std::span<Event> events) override;
  void wait(std::uint64_t timeout_ns) override;
  void wake() override;
  Error last_error() const override { return last_error_; }
  std::string provider() const override { return device_.provider(); }
  std::size_t depth() const override { return slots_.size(); }

 private:
  /// A put from post() to its event. The provider owns `scratch` meanwhile (FI_CONTEXT2).
  struct Slot {
    fi_context2 scratch;
    Put put;
    std::uint32_t next = kNone;  ///< In the backlog of its stream.
    bool busy = false;
  };
  /// Puts of one queue pair to one peer. The backlog keeps their order while the provider has no
  /// room (EAGAIN), and keeps a slow or dead peer from blocking the others.
  struct Stream {
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::uint64_t key = 0;
    std::uint64_t base = 0;
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t flying = 0;            ///< Puts that the provider has.
    bool met = false;                    ///< One has completed: there was a connection.
    std::uint64_t blocked_since_ns = 0;  ///< With a backlog: the last sign of progress.
    std::uint64_t accepted_then = 0;     ///< Endpoint::accepted at that time.
  };
  /// Of one queue pair, all peers.
  struct Endpoint {
    std::uint64_t accepted = 0;  ///< Puts that the provider has taken.
    std::uint64_t finished = 0;  ///< Of these, with an outcome.
  };
  struct Failure {
    Event event;
    Error error;
    std::uint32_t slot = kNone;  ///< Freed when the event is delivered.
  };

  Status connect_peer(std::size_t peer, const std::vector<std::byte>& bytes);
  Stream& stream_of(const Put& put) {
    return streams_[static_cast<std::size_t>(put.peer) * static_cast<std::size_t>(limits_.qps) +
                    static_cast<std::size_t>(put.qp)];
  }
  void start(std::uint32_t index);
  ssize_t submit(Slot& slot, Stream& stream);
  void progressed(Stream& stream, std::uint64_t now) {
    stream.blocked_since_ns = now;
    stream.accepted_then = endpoints_[qp_of(stream)].accepted;
  }
  [[nodiscard]] std::size_t qp_of(const Stream& stream) const {
    return static_cast<std::size_t>(&stream - streams_.data()) % endpoints_.size();
  }
  void landed(Stream& stream) {
    --stream.flying;
    ++endpoints_[qp_of(stream)].finished;
  }
  void retry_backlogs();
  void give_up_late(Stream& stream, std::uint64_t now);
  void finish(const fi_cq_data_entry& entry,
              std::uint64_t time_ns,
              std::span<Event> events,
              std::size_t& count);
  [[nodiscard]] std::uint32_t slot_of(void* context) const;
  void release(std::uint32_t index) {
    slots_[index].busy = false;
    free_.push_back(index);
  }
  void deliver_failures(std::span<Event> events, std::size_t& count);
  void read_failure();
  void fail_put(std::uint32_t index, Error error);
  void fail_put(std::uint32_t index, int error, const std::string& detail);
  void lose_peer(std::int32_t peer, const Error& error);
  void fail_queue(int error);

  ofi::Device device_;
  const UniqueFd bell_;
  const std::uint64_t connect_timeout_ns_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Stream> streams_;  ///< peer · qps + qp.
  std::vector<Endpoint> endpoints_;
  std::vector<std::uint32_t> backlogged_;  ///< Streams with a backlog, each once.
  std::vector<std::uint64_t> target_ends_;
  /// By peer: its first failure, if any. Nothing is sent to it any more.
  std::vector<std::unique_ptr<Error>> lost_;
  PutLimits limits_;
  FixedQueue<Failure> failures_;  ///< At most one a slot, as many without a put, and broken_'s.
  Error last_error_;
  fi_cq_data_entry kept_entry_{};  ///< What ended a wait(), if kept_.
  bool kept_ = false;
  bool more_ = false;    ///< The latest poll() ran out of room.
  bool broken_ = false;  ///< The completion queue itself has failed; reported once.
  std::atomic<bool> woken_{false};
};

Status LibfabricFabric::connect(std::span<const std::vector<std::byte>> peers) {
  if (!streams_.empty()) return usage_error("fabric {}: connect() was called twice", provider());
  if (device_.region().empty())
    return usage_error("fabric {}: expose() before connect()", provider());
  streams_.resize(peers.size() * static_cast<std::size_t>(limits_.qps));
  endpoints_.resize(static_cast<std::size_t>(limits_.qps));
  backlogged_.reserve(streams_.size());
  target_ends_.assign(peers.size(), 0);
  lost_.resize(peers.size());
  for (std::size_t peer = 0; peer < peers.size(); ++peer) {
    if (!peers[peer].empty()) SHUNT_TRY(connect_peer(peer, peers[peer]));
  }
  limits_.target_ends = target_ends_;
  return {};
}

Status LibfabricFabric::connect_peer(std::size_t peer, const std::vector<std::byte>& bytes) {
  auto decoded = ofi::decode(bytes);
  if (!decoded) {
    Error error = std::move(decoded).error();
    error.message = fmt::format("fabric {}, peer {}: {}", provider(), peer, error.message);
    return Unexpected(std::move(error));
  }
  if (decoded->provider != provider()) {
    return fail(ErrorCode::kProtocol,
                ErrorScope::kPeer,
                "peer {} uses provider {}, this rank {}: ask for the same everywhere",
                peer,
                decoded->provider,
                provider());
  }
  const auto qps = static_cast<std::size_t>(limits_.qps);
  if (decoded->endpoints.size() != qps) {
    return fail(ErrorCode::kProtocol,
                ErrorScope::kPeer,
                "peer {} has {} queue pairs, this rank {}: ask for the same number everywhere",
                peer,
                decoded->endpoints.size(),
                qps);
  }
  for (std::size_t qp = 0; qp < qps; ++qp) {
    auto address = device_.insert(decoded->endpoints[qp]);
    if (!address) return Unexpected(std::move(address).error());
    Stream& stream = streams_[peer * qps + qp];
    stream.address = *address;
    stream.key = decoded->endpoints[qp].key;
    stream.base = decoded->base;
  }
  target_ends_[peer] = decoded->region_bytes + 1;
  return {};
}

std::size_t LibfabricFabric::post(std::span<const Put> puts) {
  std::size_t taken = 0;
  for (const Put& put : puts) {
    if (free_.empty()) break;
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].put = put;
    slots_[index].busy = true;
    start(index);
    ++taken;
  }
  return taken;
}

void LibfabricFabric::start(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!allowed(slot.put, limits_)) {
    fail_put(index, explain_refusal(slot.put, limits_));
    return;
  }
  if (const auto& lost = lost_[static_cast<std::size_t>(slot.put.peer)]; lost != nullptr) {
    fail_put(index, ofi::put_not_sent(slot.put, *lost));
    return;
  }
  Stream& stream = stream_of(slot.put);
  if (stream.head == kNone) {
    const ssize_t rc = submit(slot, stream);
    if (rc == 0) return;
    if (rc != -FI_EAGAIN) {
      fail_put(index, static_cast<int>(-rc), "refused by the provider");
      return;
    }
    backlogged_.push_back(static_cast<std::uint32_t>(&stream - streams_.data()));
    progressed(stream, now_ns());
    stream.head = index;
  } else {
    slots_[stream.tail].next = index;
  }
  stream.tail = index;
  slot.next = kNone;
}

ssize_t LibfabricFabric::submit(Slot& slot, Stream& stream) {
  const Put& put = slot.put;
  const auto qp = static_cast<std::size_t>(put.qp);
  iovec source{device_.region().data() + put.source_offset, put.bytes};
  void* description = device_.description(qp);
  const fi_rma_iov target{stream.base + put.target_offset, put.bytes, stream.key};
  fi_msg_rma message{};
  // No element at all for an immediate alone: NICs read an element of length 0 as 2 GiB.
  message.msg_iov = &source;
  message.desc = &description;
  message.iov_count = put.bytes == 0 ? 0 : 1;
  message.addr = stream.address;
  message.rma_iov = &target;
  message.rma_iov_count = 1;
  message.context = &slot.scratch;
  message.data = put.immediate;
  const ssize_t rc = fi_writemsg(device_.endpoint(qp), &message, FI_REMOTE_CQ_DATA | FI_COMPLETION);
  if (rc == 0) {
    ++stream.flying;
    ++endpoints_[qp].accepted;
  }
  return rc;
}

void LibfabricFabric::retry_backlogs() {
  const std::uint64_t now = now_ns();
  for (std::size_t i = 0; i < backlogged_.size();) {
    Stream& stream = streams_[backlogged_[i]];
    ssize_t rc = 0;
    while (stream.head != kNone) {
      const std::uint32_t index = stream.head;
      rc = submit(slots_[index], stream);
      if (rc == -FI_EAGAIN) break;
      stream.head = slots_[index].next;
      progressed(stream, now);
      if (rc != 0) fail_put(index, static_cast<int>(-rc), "refused by the provider");
    }
    if (stream.flying > 0) progressed(stream, now);
    if (stream.head != kNone) give_up_late(stream, now);
    if (stream.head != kNone) {
      ++i;
      continue;
    }
    backlogged_[i] = backlogged_.back();
    backlogged_.pop_back();
  }
}

void LibfabricFabric::give_up_late(Stream& stream, std::uint64_t now) {
  const std::uint64_t limit = stream.met ? kReconnectNs : connect_timeout_ns_;
  const std::uint64_t blocked = now - std::min(now, stream.blocked_since_ns);
  if (blocked < limit) return;
  // Other peers' puts may hold all room of the endpoint: then it is not this peer's fault.
  const Endpoint& endpoint = endpoints_[qp_of(stream)];
  const bool idle = endpoint.accepted == endpoint.finished;
  if (!idle && endpoint.accepted == stream.accepted_then) return;
  const std::uint32_t index = stream.head;
  stream.head = slots_[index].next;
  fail_put(index,
           stream.met ? FI_ENOTCONN : FI_ETIMEDOUT,
           fmt::format("{} for {}",
                       stream.met ? "the connection is gone and does not come back"
                                  : "no connection: is the peer there, and does it poll?",
                       format_ns(blocked)));
}

std::uint32_t LibfabricFabric::slot_of(void* context) const {
  const auto* slot = static_cast<const Slot*>(context);
  const std::less<const Slot*> before;
  if (slot == nullptr || before(slot, slots_.data()) ||
      !before(slot, slots_.data() + slots_.size())) {
    return kNone;
  }
  const auto index = static_cast<std::uint32_t>(slot - slots_.data());
  return slots_[index].busy ? index : kNone;
}

std::size_t LibfabricFabric::poll(std::span<Event> events) {
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

void LibfabricFabric::finish(const fi_cq_data_entry& entry,
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

void LibfabricFabric::deliver_failures(std::span<Event> events, std::size_t& count) {
  while (count < events.size() && !failures_.empty()) {
    Failure failure = failures_.pop();
    last_error_ = std::move(failure.error);
    if (failure.slot != kNone) release(failure.slot);
    events[count] = failure.event;
    events[count++].time_ns = now_ns();
  }
}

void LibfabricFabric::read_failure() {
  fi_cq_err_entry entry{};
  const ssize_t got = fi_cq_readerr(device_.queue(), &entry, 0);
  if (got == -FI_EAGAIN) return;
  if (got < 0) {
    fail_queue(static_cast<int>(-got));
    return;
  }
  const std::string detail = ofi::provider_words(device_.queue(), entry);
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

void LibfabricFabric::fail_put(std::uint32_t index, int error, const std::string& detail) {
  const Put put = slots_[index].put;
  const Error words = ofi::put_failed(put, provider(), error, detail);
  fail_put(index, words);
  lose_peer(put.peer, words);
}

void LibfabricFabric::fail_put(std::uint32_t index, Error error) {
  const Put& put = slots_[index].put;
  failures_.push(Failure{Event{put.context, 0, put.immediate, put.peer, Event::Kind::kFailed},
                         std::move(error),
                         index});
}

void LibfabricFabric::lose_peer(std::int32_t peer, const Error& error) {
  const auto p = static_cast<std::size_t>(peer);
  if (lost_[p] != nullptr) return;
  lost_[p] = std::make_unique<Error>(error);
  const auto qps = static_cast<std::size_t>(limits_.qps);
  for (std::size_t s = p * qps; s < (p + 1) * qps; ++s) {
    for (std::uint32_t index = streams_[s].head; index != kNone; index = slots_[index].next) {
      fail_put(index, ofi::put_not_sent(slots_[index].put, error));
    }
    streams_[s].head = kNone;
  }
}

void LibfabricFabric::fail_queue(int error) {
  broken_ = true;
  failures_.push(Failure{Event{kNoContext, 0, 0, -1, Event::Kind::kFailed},
                         ofi::queue_failed(provider(), error),
                         kNone});
}

void LibfabricFabric::wait(std::uint64_t timeout_ns) {
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

void LibfabricFabric::wake() {
  woken_.store(true);
  if (device_.can_sleep()) {
    (void)fi_cq_signal(device_.queue());
    return;
  }
  const std::uint64_t one = 1;
  (void)!::write(bell_.get(), &one, sizeof(one));
}

/// "10.0.0.1" or "fe80::1": of an interface, rather than its name.
bool is_address(const std::string& text) {
  in6_addr room{};
  return ::inet_pton(AF_INET, text.c_str(), &room) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

}  // namespace

Result<std::unique_ptr<Fabric>> create_libfabric(const LibfabricOptions& options) {
  if (options.qps < 1 || options.depth < 1 || options.depth >= kNone || options.arrivals < 1) {
    return usage_error(
        "fabric: qps {}, depth {} and arrivals {} must be at least 1, depth below 2^32 - 1",
        options.qps,
        options.depth,
        options.arrivals);
  }
  auto info = ofi::discover(options);
  if (!info) return Unexpected(std::move(info).error());
  auto device = ofi::Device::open(std::move(*info), options);
  if (!device) return Unexpected(std::move(device).error());
  UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.valid()) return system_error(errno, "fabric: no eventfd for wake()");
  return std::unique_ptr<Fabric>(
      std::make_unique<LibfabricFabric>(std::move(*device), std::move(bell), options));
}

Result<std::unique_ptr<Fabric>> create_libfabric_on(const std::vector<std::string>& nics,
                                                    const LibfabricOptions& options) {
  const int count = static_cast<int>(nics.size());
  if (options.qps < count) {
    return usage_error(
        "fabric: {} NICs need as many queue pairs or more; qps is {}", count, options.qps);
  }
  std::vector<std::unique_ptr<Fabric>> opened;
  for (int k = 0; k < count; ++k) {
    const std::string& nic = nics[static_cast<std::size_t>(k)];
    LibfabricOptions own = options;
    own.domain = is_address(nic) ? "" : nic;
    own.bind_address = is_address(nic) ? nic : "";
    own.qps = qps_of_nic(options.qps, count, k);
    auto fabric = create_libfabric(own);
    if (!fabric) {
      Error error = std::move(fabric).error();
      error.message = fmt::format("NIC '{}': {}", nic, error.message);
      return Unexpected(std::move(error));
    }
    opened.push_back(std::move(*fabric));
  }
  return stripe(std::move(opened), options.qps);
}

}  // namespace shunt::fabric
