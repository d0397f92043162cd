// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The progress thread of a rank. in: descriptors from the blocks, events from the fabric → out:
// puts, credits, flags; heartbeats and the verdict on peers that have fallen silent. Owns the
// fabric.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/cpus.hpp"
#include "exec/descriptor_ring.hpp"
#include "exec/failure.hpp"
#include "exec/rank_view.hpp"
#include "fabric/fabric.hpp"
#include "fabric/signal.hpp"
#include "record/lane.hpp"

namespace shunt::engine {

/// Words of a kControl signal, in its lap.
enum class ControlCode : std::uint8_t {
  kGoodbye = 1,   ///< slot = source index: no more operations from here.
  kPeerLost = 2,  ///< slot = rank that has fallen silent.
  kFailed = 3,    ///< slot = rank whose operation failed.
};

/// An abort word: code in the upper half, rank + 1 in the lower.
[[nodiscard]] constexpr std::uint64_t abort_word(ControlCode code, int rank) {
  return (static_cast<std::uint64_t>(code) << 32) | static_cast<std::uint32_t>(rank + 1);
}

struct ProxyOptions {
  exec::RankView rank;                     ///< As the host reaches it.
  exec::RingView ring;                     ///< At least ring_capacity(rank) entries.
  std::unique_ptr<fabric::Fabric> fabric;  ///< Null in a world of one node.
  exec::FailureBox* failure = nullptr;
  record::Lane* lane = nullptr;  ///< Null: recording off.
  int qps = 1;                   ///< For data; queue pair `qps` carries credits and heartbeats.
  int nics = 1;                  ///< Queue pair q runs on NIC q mod nics, for the records.
  std::uint64_t heartbeat_ns = 1'000'000'000;  ///< Silence after which a peer is lost.
  Cpus cpus;  ///< The thread stays on these; empty: where its creator may run.

  /// The slots of chunks lie on a device: the thread does not look into them. What an arrival was
  /// is told by RankView::landed then, once it has been read.
  bool slots_on_device = false;
  /// Called before arrivals of chunks are told to the blocks, once for all that were found at a
  /// time: makes what the NIC has written visible to the device. Empty: it is.
  std::function<Status()> flush_arrivals;

  // Executors that cannot wake the thread (a GPU) are looked after instead.
  /// Called in every round by the progress thread: whether operations are in flight. While they
  /// are, and a little longer, the thread stays awake; then it looks at the ring every kLook_ns.
  std::function<bool()> in_flight;
  /// Called before another rank's word on a failure is believed, by any thread: reports what this
  /// rank has found wrong itself, if it has, through fail(). Its failure may come back to it from
  /// the others before it has looked, and they do not know the reason.
  std::function<void()> own_failure;
  /// Called once, by whoever fails first: ends the executor's waits.
  std::function<void(std::uint64_t word)> on_abort;
  /// Added to SlotNote::posted_ns to make it now_ns().
  std::function<std::int64_t()> clock_offset;
};

/// Entries that the ring of a rank needs: descriptors outstanding never exceed the credits and
/// landing slots of all channels.
[[nodiscard]] std::uint64_t ring_capacity(const exec::RankView& rank);

/// A count that one thread advances and any may read; orders nothing.
class Tally {
 public:
  void add(std::uint64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
  void raise_to(std::uint64_t n) {
    if (n > get()) value_.store(n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Counters of the progress thread, for run.json and reports.
struct ProxyStats {
  Tally puts;
  Tally credits;
  Tally heartbeats;
  Tally stale_signals;  ///< Duplicates and overtaken messages, ignored.
  Tally busy_ns;        ///< CPU time of the thread, once it has ended.

  // Health: where these grow, the thread does not keep up with the executor or the fabric.
  Tally descriptors;
  Tally largest_backlog;      ///< Descriptors that waited at once.
  Tally aged;                 ///< Puts whose descriptor had a time (recording on) …
  Tally total_age_ns;         ///< … and how long they waited for the thread, in all,
  Tally largest_age_ns;       ///< and the longest.
  Tally largest_poll_gap_ns;  ///< Between two looks at completions, while awake.

  /// All that went to the fabric.
  [[nodiscard]] std::uint64_t messages() const {
    return puts.get() + credits.get() + heartbeats.get();
  }
};

class Proxy {
 public:
  explicit Proxy(ProxyOptions options);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void start();
  /// Says goodbye, serves peers until they have said it too (bounded by twice the heartbeat time;
  /// not at all after a failure), and ends the thread.
  void stop();

  [[nodiscard]] std::atomic<bool>& sleeps() { return sleeps_; }
  /// Any thread.
  void wake();

  /// This rank cannot go on: keeps the first error, tells node peers and rail peers. Any thread.
  void fail(Error error, ControlCode code, int rank);
  /// A node peer has set this rank's abort word. Any thread.
  void absorb_abort(std::uint64_t word);

  [[nodiscard]] const ProxyStats& stats() const { return stats_; }
  /// CPU time of the thread so far. By whoever starts and stops it.
  [[nodiscard]] std::uint64_t cpu_ns() const;

 private:
  struct Flight;   // A put between descriptor and completion.
  struct Channel;  // Both directions of a (kind, peer).

  void run();
  void settle() const;
  bool take_descriptors();
  void enqueue_put(const exec::Descriptor& descriptor);
  [[nodiscard]] std::int32_t queue_pair(int kind, std::uint64_t sequence) const;
  bool post_pending();
  bool post_credits(bool idle);
  bool take_events();
  void break_off(std::string why);  // A peer does not keep to the protocol.
  void on_arrival(const fabric::Event& event);
  bool flush_arrivals(std::span<const fabric::Event> events);
  void on_data(const fabric::Signal& signal, const fabric::Event& event);
  [[nodiscard]] record::Arrival arrival_of(int kind,
                                           std::uint32_t peer,
                                           std::uint64_t sequence) const;
  void record_arrival(const fabric::Signal& signal, std::uint64_t sequence, std::uint64_t time_ns);
  void record_landed(int kind, std::uint32_t peer, std::uint64_t sequence);
  void on_credit(const fabric::Signal& signal);
  void on_control(const fabric::Signal& signal);
  void on_completion(const fabric::Event& event);
  void on_fabric_failure(const fabric::Event& event);
  void heartbeat(std::uint64_t now);
  void check_peers(std::uint64_t now);
  void send_abort();
  void say_goodbye();
  void rest(std::uint64_t now);
  bool send_immediate(int peer, const fabric::Signal& signal, std::uint64_t context = 0);
  Channel& channel(int kind, std::uint32_t peer);
  [[nodiscard]] bool all_gone() const;

  ProxyOptions options_;
  exec::DescriptorReader ring_;
  std::vector<Channel> channels_;            // [3][peers]
  std::vector<Flight> flights_[3];           // [peers][capacity]
  std::vector<std::uint64_t> landed_ns_[2];  // [peers][capacity], where slots lie on a device.
  std::vector<fabric::Put> pending_;         // Ring of puts that the fabric has not taken.
  std::uint64_t pending_head_ = 0;
  std::uint64_t pending_tail_ = 0;
  std::vector<std::uint32_t> dirty_;     // Channels with credits to tell.
  std::vector<std::uint32_t> my_index_;  // [peers]: this rank's index at that peer.
  std::vector<std::uint64_t> heard_ns_;  // [peers]
  std::vector<std::uint8_t> rail_gone_;  // [peers]: has said goodbye.
  enum Farewell : std::uint8_t { kSilent, kSaying, kSaid };
  std::vector<Farewell> farewell_;        // [peers]: this rank's goodbye to it.
  std::vector<std::uint64_t> beat_seen_;  // [ranks_per_node]
  std::vector<std::uint64_t> beat_ns_;
  std::uint64_t next_beat_ns_ = 0;
  std::uint64_t last_check_ns_ = 0;
  bool ring_needed_ = false;
  bool abort_sent_ = false;
  bool leaving_ = false;
  int quiet_rounds_ = 0;
  bool in_flight_ = false;
  std::uint64_t busy_until_ns_ = 0;  ///< Looked after: stays awake until then.
  std::uint64_t polled_ns_ = 0;      ///< Of the latest round; 0 after a rest.
  ProxyStats stats_;

  std::atomic<bool> sleeps_{false};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> wake_word_{0};
  std::atomic<std::uint64_t> abort_{0};  // What send_abort() tells.
  std::thread thread_;
};

}  // namespace shunt::engine
