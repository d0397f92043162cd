// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fd.hpp"
#include "bootstrap/launch.hpp"
#include "bootstrap/rounds.hpp"
#include "bootstrap/wire.hpp"

namespace shunt::bootstrap {

/// The parent of a local launch: relays the ranks' calls, watches them end, ends them if need be.
/// One thread. On destruction no rank is left: what still runs is killed.
class LocalHub {
 public:
  /// `signals` is a signalfd of the signals that end the launch.
  LocalHub(const LaunchOptions& options, UniqueFd signals);
  LocalHub(const LocalHub&) = delete;
  LocalHub& operator=(const LocalHub&) = delete;
  ~LocalHub();

  /// The next rank's process and the socket to it. On failure the rank still counts as started.
  [[nodiscard]] Status add(pid_t pid, UniqueFd socket);
  /// In a forked rank: closes what belongs to the parent without touching the other ranks.
  void abandon();
  /// Serves until all ranks are gone.
  [[nodiscard]] LaunchOutcome serve();

 private:
  struct Rank {
    pid_t pid = 0;
    UniqueFd process;  ///< pidfd
    UniqueFd socket;
    Decoder in;
    Bytes out;
    std::size_t sent = 0;
    bool gone = false;      ///< Its process has ended and was waited for.
    bool reported = false;  ///< It has said how it ended.
    RankOutcome outcome;
  };
  enum class Stage { kRunning, kFailing, kTerminating, kKilling };

  void step();
  [[nodiscard]] int timeout_ms() const;
  void on_deadlines();
  void on_signal();
  void receive(int rank);
  void flush(Rank& rank);
  void handle(int rank, Message message);
  void reap(int rank);
  void left(int rank, const Status& status, bool died);
  void broadcast(const Message& message);
  void publish_failure();
  void advance(Stage stage);
  void signal_all(int signal);

  const LaunchOptions& options_;
  const UniqueFd signals_;
  std::vector<Rank> ranks_;
  std::size_t gone_ = 0;
  Rounds rounds_;
  FirstFailure first_;
  bool published_ = false;         ///< The failure has been sent to the ranks.
  std::uint64_t round_until_ = 0;  ///< now_ns() limit of the round; meaningful while waiting.
  std::uint64_t stage_until_ = 0;  ///< now_ns() at which the next stage begins.
  Stage stage_ = Stage::kRunning;
  int interrupted_by_ = 0;
};

}  // namespace shunt::bootstrap
