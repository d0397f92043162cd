// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The engine on one opened NIC: puts in, events out. in: Device → out: Fabric. Made by
// create_libfabric(); one thread, but for wake(). ofi_puts.cpp has the way to the provider,
// ofi_events.cpp the way back.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "fabric/fixed_queue.hpp"
#include "fabric/ofi_address.hpp"
#include "fabric/ofi_device.hpp"
#include "fabric/put_check.hpp"

namespace shunt::fabric::ofi {

/// No slot.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

class Engine final : public Fabric {
 public:
  Engine(Device device, UniqueFd bell, const LibfabricOptions& options)
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

  Status expose_regions(std::span<const Region> regions) override {
    SHUNT_TRY(device_.expose(regions));
    limits_.source = Space(regions);
    return {};
  }
  Result<std::vector<std::byte>> address() const override {
    auto own = device_.address();
    if (!own) return Unexpected(std::move(own).error());
    return encode(*own);
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
    std::array<std::uint64_t, kMostRegions> keys{};   ///< By region of the peer,
    std::array<std::uint64_t, kMostRegions> bases{};  ///< what to add to an offset.
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

  Device device_;
  const UniqueFd bell_;
  const std::uint64_t connect_timeout_ns_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Stream> streams_;  ///< peer · qps + qp.
  std::vector<Endpoint> endpoints_;
  std::vector<std::uint32_t> backlogged_;  ///< Streams with a backlog, each once.
  std::vector<Space> targets_;
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

}  // namespace shunt::fabric::ofi
