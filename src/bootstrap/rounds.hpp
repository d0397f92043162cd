// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The rules of collective calls, without threads, sockets or clocks: what a hub of any kind keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bootstrap/names.hpp"
#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// One collective call after the other: each is a round that all ranks enter once. The first
/// failure is final; every later call gets it. Not thread-safe.
class Rounds {
 public:
  explicit Rounds(int ranks);

  /// `rank` makes `call` and gives `blob`. An error is the world's failure, for this rank.
  [[nodiscard]] Status enter(int rank, Call call, std::vector<std::byte> blob);
  /// True once all ranks have entered.
  [[nodiscard]] bool complete() const { return count_ == entered_.size(); }
  /// Ends the round and returns its blobs. REQUIRES complete().
  [[nodiscard]] Blobs take();

  /// `rank` will make no more calls: with success, or with the error that ended it.
  void leave(int rank, const Status& status);
  /// The ranks that have entered have waited too long for the others.
  void expire(std::uint64_t deadline_ns);
  /// The world fails with `error` unless it has failed already.
  void fail_with(Error error);

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// The call that ranks wait in. Meaningful while waiting().
  [[nodiscard]] Call call() const { return call_; }
  [[nodiscard]] bool waiting() const { return count_ > 0; }

 private:
  Call call_ = Call::kBarrier;
  std::size_t count_ = 0;
  std::vector<bool> entered_;
  std::vector<bool> left_;
  Blobs gathering_;
  std::optional<Error> failure_;
};

/// Which of several ranks' failures to show: the cause rather than its consequences.
class FirstFailure {
 public:
  /// In the order in which they became known. `died`: the rank's process was killed.
  void add(int rank, const Error& error, bool died = false);
  /// "rank 2: <message>", or success.
  [[nodiscard]] Status status() const;
  [[nodiscard]] int rank() const { return rank_; }

 private:
  int rank_ = -1;
  int distance_ = 0;  ///< From the cause: 0 died, 1 own error, 2 waited in vain, 3 lost a peer.
  Error error_;
};

}  // namespace shunt::bootstrap
