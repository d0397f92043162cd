// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bad behaviour on purpose, over any fabric: what unordered transports, full queues, broken
// providers and dying peers do to a protocol. in: a Fabric, FaultOptions → out: a Fabric. For tests
// and drills; it allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "fabric/fabric.hpp"

namespace shunt::fabric {

/// Which faults, how often. Probabilities are in [0, 1]; a "hold" of n keeps each item back for 0
/// to n further calls of poll(), each item on its own: that is delay and random order in one.
///
/// What befalls the i-th put, the i-th arrival and the i-th completion follows from `seed` alone,
/// and time is counted in calls of poll(): the same calls on the same events give the same faults.
/// Give each rank its own seed.
struct FaultOptions {
  std::uint64_t seed = 1;

  /// Puts are read and sent late: the data of different puts lands in random order. (The immediate
  /// still implies its own data, whatever the inner fabric does.)
  std::uint32_t hold_puts = 0;
  /// Arrivals are seen late: long after the data is there, and after the sender's completion.
  std::uint32_t hold_arrivals = 0;
  /// Completions (and failures) are seen late: possibly after the target has answered.
  std::uint32_t hold_completions = 0;

  double duplicate_arrival = 0;
  /// The copy may come after the context has been reused: contexts must not be.
  double duplicate_completion = 0;
  /// The data lands, the event does not: what a lost completion looks like.
  double lose_arrival = 0;
  /// The put is not carried out and ends in kFailed.
  double fail_put = 0;

  /// Per call of post() that takes all it is given: take fewer instead, possibly none …
  double refuse_post = 0;
  /// … and nothing at all in this many calls after it.
  std::uint32_t storm_posts = 0;
};

/// What has become of a peer.
enum class PeerFault : std::uint8_t {
  kNone,
  /// A cut link, as tcp sees it at first: puts vanish without completion, nothing arrives any more
  /// (arrivals of an unknown peer do: cut the link at both ends).
  kCut,
  /// A dead process, as tcp reports it: each put fails with ErrorCode::kPeerLost.
  kDead,
};

/// See the file comment. Threads as for Fabric; set_peer_fault() from any.
class FaultyFabric final : public Fabric {
 public:
  [[nodiscard]] static Result<std::unique_ptr<FaultyFabric>> create(std::unique_ptr<Fabric> inner,
                                                                    const FaultOptions& options);
  ~FaultyFabric() override;

  /// From now on. REQUIRES: connect() has returned, and `peer` is one of its list.
  void set_peer_fault(int peer, PeerFault fault);

  [[nodiscard]] Status expose_regions(std::span<const Region> regions) override;
  [[nodiscard]] Result<std::vector<std::byte>> address() const override;
  [[nodiscard]] Status connect(std::span<const std::vector<std::byte>> peers) override;
  [[nodiscard]] std::size_t post(std::span<const Put> puts) override;
  [[nodiscard]] std::size_t poll(std::span<Event> events) override;
  /// Returns at once while anything is held back: holds end by polling.
  void wait(std::uint64_t timeout_ns) override;
  void wake() override;
  [[nodiscard]] Error last_error() const override;
  [[nodiscard]] std::string provider() const override;
  [[nodiscard]] std::size_t depth() const override;

 private:
  class State;
  explicit FaultyFabric(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A probability outside [0, 1] is refused by name.
[[nodiscard]] Status check_faults(const FaultOptions& options);

/// "hold_puts=8,lose_arrival=0.01,seed=7": names as in FaultOptions, for command lines. The empty
/// text gives no faults.
[[nodiscard]] Result<FaultOptions> parse_faults(std::string_view text);

}  // namespace shunt::fabric
