// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A fabric between threads of one process: the contract of fabric.hpp and nothing of a network.
// in: a MockNetwork that all ranks share → out: one Fabric a rank. For tests of the protocol, and
// for worlds whose ranks are threads; wrap it in a FaultyFabric to make it behave badly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/fabric.hpp"

namespace shunt::fabric {

namespace mock {
class Port;
class Link;
}  // namespace mock

struct MockOptions {
  /// When the data of a put reaches the target's region. Either way the put completes at once.
  enum class Landing : std::uint8_t {
    kAtPost,  ///< Within post(), as RDMA hardware does: the target may sleep.
    /// Within the target's poll(), from a copy, as tcp providers do: completion long before
    /// arrival, and nothing lands at a target that does not poll. Allocates per put.
    kAtPoll,
  };
  std::size_t depth =
      1024;              ///< Puts without a delivered completion, and puts on one link unpolled.
  std::int32_t qps = 1;  ///< Puts that name another queue pair fail. All are one ordered stream.
  Landing landing = Landing::kAtPost;
};

/// What the ranks of one test share. It outlives the fabrics it made. Thread-safe.
class MockNetwork {
 public:
  explicit MockNetwork(int ranks, MockOptions options = {});
  ~MockNetwork();
  MockNetwork(const MockNetwork&) = delete;
  MockNetwork& operator=(const MockNetwork&) = delete;

  /// The fabric of `rank`, once per rank.
  [[nodiscard]] Result<std::unique_ptr<Fabric>> create(int rank);

  [[nodiscard]] int ranks() const { return static_cast<int>(ports_.size()); }
  [[nodiscard]] const MockOptions& options() const { return options_; }

  /// For MockFabric only.
  [[nodiscard]] mock::Port& port(int rank) { return *ports_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] mock::Link& link(int from, int to);

 private:
  struct Links;

  const MockOptions options_;
  std::vector<std::unique_ptr<mock::Port>> ports_;
  std::unique_ptr<Links> links_;
};

}  // namespace shunt::fabric
