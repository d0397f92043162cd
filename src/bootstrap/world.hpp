// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Who is in the world and how they meet before any fabric exists. in: threads, a local launch, MPI
// or a caller's all-gather → out: World, on which memory/ and fabric/ exchange addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// One blob of bytes per rank, in rank order; sizes may differ.
using Blobs = std::vector<std::vector<std::byte>>;

/// The collective calls of a World. Sent between ranks: never renumber.
enum class Call : std::uint8_t { kBarrier = 1, kAllGather = 2 };

/// This rank's view of the world. Set-up and tear-down only: nothing on a data path calls it. Every
/// call is collective, bounded by the world's deadline, and not thread-safe within a rank.
class World {
 public:
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// "threads", "local", "mpi", "caller": for logs and run.json.
  [[nodiscard]] virtual const char* kind() const = 0;
  /// True when all ranks are threads of one process: heaps are then plain memory of that process.
  [[nodiscard]] virtual bool one_process() const { return false; }

  /// Everyone gives a blob and gets all of them. A lost rank is kPeerLost naming it where known;
  /// an expired deadline kTimeout.
  [[nodiscard]] Result<Blobs> all_gather(std::span<const std::byte> mine) {
    return exchange(Call::kAllGather, mine);
  }
  /// Returns once all ranks have entered.
  [[nodiscard]] Status barrier() {
    const Result<Blobs> done = exchange(Call::kBarrier, {});
    if (!done) return Unexpected(done.error());
    return {};
  }

 protected:
  World(int rank, int size) : rank_(rank), size_(size) {}

  /// One call, which carries its kind: ranks that make different ones are told so.
  virtual Result<Blobs> exchange(Call call, std::span<const std::byte> mine) = 0;

 private:
  const int rank_;
  const int size_;
};

}  // namespace shunt::bootstrap
