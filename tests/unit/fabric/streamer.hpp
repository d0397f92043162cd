// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A small protocol as strict as the real one: windows of slots, credits by immediate, data checked
// at its own immediate, nothing assumed about order, events counted once however often they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fabric_rig.hpp"

namespace shunt::fabric::test {

struct StreamShape {
  int ranks = 2;
  int qps = 1;
  std::uint32_t messages = 100;  ///< From each rank to each rank, itself included.
  std::uint32_t window = 4;      ///< Slots per pair.
  std::uint64_t slot_bytes = 512;
  std::vector<std::uint64_t> sizes;  ///< Message m has sizes[m mod size()] bytes.

  /// Landing slots by source, then staging slots by target.
  [[nodiscard]] std::uint64_t region_bytes() const {
    return 2 * static_cast<std::uint64_t>(ranks) * window * slot_bytes;
  }
};

/// One rank of it; call step() until finished(). peer index = rank.
class Streamer {
 public:
  Streamer(Fabric& fabric, std::span<std::byte> region, int self, const StreamShape& shape);

  /// Posts what may be posted, handles what has come; false if nothing happened.
  bool step();
  /// All sent, completed and credited; all received and credited.
  [[nodiscard]] bool finished() const;

  /// What was not as the contract says: empty at the end of a good run.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  void complain(const std::string& text);
  [[nodiscard]] std::uint64_t duplicates() const { return duplicates_; }
  /// Messages that overtook an earlier one of the same source.
  [[nodiscard]] std::uint64_t overtakings() const { return overtakings_; }

 private:
  struct Peer {
    std::uint32_t sent = 0;
    std::uint32_t newest = 0;  ///< 1 + the highest message received.
    std::uint32_t received = 0;
    std::uint32_t credited = 0;
    std::uint32_t credits_sent = 0;
    std::vector<std::uint32_t> free_at;       ///< By slot: message that may use it next.
    std::vector<bool> completed;              ///< By slot: the last put from it is complete.
    std::vector<std::uint32_t> expected;      ///< By slot: message that lands in it next.
    std::vector<std::uint32_t> credits_owed;  ///< Messages received, credit not posted.
  };

  bool send_data(int target);
  bool send_credits(int target);
  bool put(Put put);
  void on_arrival(const Event& event);
  void on_credit(Peer& peer, std::uint32_t message);
  void on_data(int source, std::uint32_t message);
  void on_completion(const Event& event);
  [[nodiscard]] std::uint64_t landing(int rank, std::uint32_t slot) const;
  [[nodiscard]] std::uint64_t staging(int rank, std::uint32_t slot) const;
  [[nodiscard]] std::uint64_t size_of(std::uint32_t message) const {
    return shape_.sizes[message % shape_.sizes.size()];
  }

  Fabric* fabric_;
  std::span<std::byte> region_;
  int self_;
  StreamShape shape_;
  std::vector<Peer> peers_;
  std::set<std::uint64_t> outstanding_;  ///< Contexts.
  std::uint64_t next_context_ = 0;
  std::vector<std::uint64_t> slot_of_context_;  ///< target << 32 | slot, or no slot.
  std::string complaint_;
  std::uint64_t duplicates_ = 0;
  std::uint64_t overtakings_ = 0;
};

/// Every rank streams to every rank from a thread of its own, sleeping in wait() when idle; an
/// expired patience is a complaint. One streamer per rank, for their counts.
[[nodiscard]] std::vector<Streamer> stream_in_threads(std::vector<Rank>& ranks,
                                                      const StreamShape& shape);

/// The same with all ranks polled in turn by this thread: the same calls each time.
[[nodiscard]] std::vector<Streamer> stream_in_turn(std::vector<Rank>& ranks,
                                                   const StreamShape& shape);

}  // namespace shunt::fabric::test
