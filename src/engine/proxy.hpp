// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A progress thread of a rank. in: descriptors from the blocks, events from the fabric → out:
// puts, credits, flags; heartbeats and the verdict on peers that have fallen silent. Serves the
// rail peers of its share, over a fabric of its own; proxy_group.hpp holds all threads of the rank.
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
#include "engine/alarm.hpp"
#include "exec/descriptor_ring.hpp"
#include "exec/peer_share.hpp"
#include "exec/rank_view.hpp"
#include "fabric/fabric.hpp"
#include "fabric/signal.hpp"
#include "record/lane.hpp"

namespace shunt::engine {

/// What all progress threads of a rank have in common.
struct ProgressOptions {
  exec::RankView rank;  ///< As the host reaches it.
  int qps = 1;          ///< For data; queue pair `qps` carries credits and heartbeats.
  int nics = 1;         ///< Queue pair q runs on NIC q mod nics, for the records.
  std::uint64_t heartbeat_ns = 1'000'000'000;  ///< Silence after which a peer is lost.
  Cpus cpus;  ///< The threads stay on these; empty: where their creator may run.

  /// The slots of chunks lie on a device: the threads do not look into them. What an arrival was
  /// is told by RankView::landed then, once it has been read.
  bool slots_on_device = false;
  /// Called before arrivals of chunks are told to the blocks, by the thread that has found them,
  /// once for all that it found at a time: makes what the NIC has written visible to the device.
  /// Empty: it is.
  std::function<Status()> flush_arrivals;

  // Executors that cannot wake the threads (a GPU) are looked after instead.
  /// Called in every round of each thread: whether operations are in flight. While they are, and a
  /// little longer, the threads stay awake; then they look at their rings every kLook_ns.
  std::function<bool()> in_flight;
  /// Added to SlotNote::posted_ns to make it now_ns(). Any thread.
  std::function<std::int64_t()> clock_offset;
};

/// What one thread has of its own.
struct ProxyPart {
  exec::PeerShare share;
  exec::RingView ring;                     ///< At least ring_capacity(rank, share) entries.
  std::unique_ptr<fabric::Fabric> fabric;  ///< Its peers are the share's, by number; null in a
                                           ///< world of one node.
  record::Lane* lane = nullptr;            ///< Null: recording off.
};

/// Entries that the ring of a thread needs: descriptors outstanding never exceed the credits and
/// landing slots of all its channels.
[[nodiscard]] std::uint64_t ring_capacity(const exec::RankView& rank, const exec::PeerShare& share);

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

/// Counters of a progress thread, for run.json and reports.
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
  /// `options` and `alarm` outlive it.
  Proxy(const ProgressOptions& options, Alarm& alarm, ProxyPart part);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void start();
  /// Has the thread say goodbye, serve its peers until they have said it too (bounded by twice the
  /// heartbeat time; after a failure by a quarter of it, and half a second), and end.
  void ask_to_stop();
  /// Waits for that. Idempotent, like ask_to_stop().
  void join();

  [[nodiscard]] std::atomic<bool>& sleeps() { return sleeps_; }
  /// Any thread.
  void wake();

  [[nodiscard]] const ProxyStats& stats() const { return stats_; }
  /// CPU time of the thread so far. By whoever starts and stops it.
  [[nodiscard]] std::uint64_t cpu_ns() const;

 private:
  struct Flight;   // A put between descriptor and completion.
  struct Channel;  // Both directions of a (kind, peer).

  void run();
  void settle() const;
  void fail(Error error, ControlCode code, int rank) { alarm_.raise(std::move(error), code, rank); }
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
  void say_goodbye(std::size_t number);
  bool leave(std::uint64_t now);  // True once the thread may end.
  void rest(std::uint64_t now);
  bool send_immediate(std::size_t number, const fabric::Signal& signal, std::uint64_t context = 0);
  Channel& channel(int kind, std::uint32_t number);
  Flight& flight(int kind, std::uint32_t number, std::uint64_t sequence);
  /// The rank of the share's peer of that number.
  [[nodiscard]] int rail_rank(std::size_t number) const;
  /// What a rank does once, whatever its number of threads, is done by this one.
  [[nodiscard]] bool leads() const { return part_.share.thread == 0; }

  const ProgressOptions& options_;
  Alarm& alarm_;
  ProxyPart part_;
  exec::DescriptorReader ring_;
  // Rail peers of the share by their numbers in it.
  std::uint32_t own_ = 0;                    // How many.
  std::vector<Channel> channels_;            // [3][own]
  std::vector<Flight> flights_[3];           // [own][capacity]
  std::vector<std::uint64_t> landed_ns_[2];  // [own][capacity], where slots lie on a device.
  std::vector<fabric::Put> pending_;         // Ring of puts that the fabric has not taken.
  std::uint64_t pending_head_ = 0;
  std::uint64_t pending_tail_ = 0;
  std::vector<std::uint32_t> dirty_;     // Channels with credits to tell.
  std::vector<std::uint32_t> my_index_;  // [own]: this rank's index at that peer.
  std::vector<std::uint64_t> heard_ns_;  // [own]
  std::vector<std::uint8_t> rail_gone_;  // [own]: has said goodbye.
  std::vector<std::uint8_t> told_;       // [own]: of this rank's failure.
  enum Farewell : std::uint8_t { kSilent, kSaying, kSaid };
  std::vector<Farewell> farewell_;        // [own]: this rank's goodbye to it.
  std::vector<std::uint64_t> beat_seen_;  // [ranks_per_node]: by who leads.
  std::vector<std::uint64_t> beat_ns_;
  std::uint64_t next_beat_ns_ = 0;
  std::uint64_t last_check_ns_ = 0;
  bool ring_needed_ = false;
  std::uint64_t leaving_since_ = 0;
  int quiet_rounds_ = 0;
  bool in_flight_ = false;
  std::uint64_t busy_until_ns_ = 0;  ///< Looked after: stays awake until then.
  std::uint64_t polled_ns_ = 0;      ///< Of the latest round; 0 after a rest.
  ProxyStats stats_;

  std::atomic<bool> sleeps_{false};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> wake_word_{0};
  std::thread thread_;
};

}  // namespace shunt::engine
