// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The one-sided engine between nodes. in: registered heap, addresses of the rail peers → out: puts
// whose arrival raises one 32-bit immediate at the target, and events. Called from one thread
// (a progress thread of the rank) only, except wake(). Batch calls: no virtual call per message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shunt/result.hpp"

namespace shunt::fabric {

/// Event::context where a failure belongs to a peer rather than to a put. No put may carry it.
inline constexpr std::uint64_t kNoContext = ~std::uint64_t{0};

/// Memory that puts read from and write into. An engine hands its address to whatever moves the
/// data and never looks at the content: memory of a device is no memory of the host.
struct Region {
  enum class Kind : std::uint8_t { kHost, kCudaDevice };
  std::span<std::byte> bytes;
  Kind kind = Kind::kHost;
  int device = -1;  ///< CUDA's number of the device that it lies on.
  int dmabuf = -1;  ///< Descriptor of a dmabuf of exactly this memory; −1: none. Borrowed.
};

/// One-sided write of `bytes` from what this rank exposes to what the target exposes, then the
/// immediate. bytes may be 0: the immediate alone travels. Offsets count through the exposed
/// regions, one behind the other; a put stays within one region at either end.
struct Put {
  std::uint64_t context = 0;        ///< Comes back in the completion event.
  std::uint64_t source_offset = 0;  ///< In what this rank exposes.
  std::uint64_t target_offset = 0;  ///< In what the target exposes.
  std::uint64_t bytes = 0;
  std::uint32_t immediate = 0;
  std::int32_t peer = 0;  ///< Index into connect()'s list.
  std::int32_t qp = 0;    ///< 0 … qps−1.
};

/// Regions that a rank can expose.
inline constexpr std::size_t kMostRegions = 2;

/// What happened. Times are now_ns() when progress saw it.
struct Event {
  enum class Kind : std::uint8_t {
    kArrived,    ///< A peer's put has landed here with `immediate`; its data is visible.
    kCompleted,  ///< The put `context` is locally complete: its source may be reused. No arrival.
    kFailed,     ///< The put `context` (or, kNoContext, the peer) failed; see last_error().
  };
  std::uint64_t context = 0;
  std::uint64_t time_ns = 0;
  std::uint32_t immediate = 0;
  std::int32_t peer = -1;  ///< Where known; arrivals need not know it.
  Kind kind = Kind::kArrived;
};

/// See the file comment. Destruction never blocks on a dead peer.
class Fabric {
 public:
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// Registers the regions that puts of this rank read and puts of peers write: 1 to kMostRegions,
  /// none of them empty. Once, before address(). The memory outlives the fabric.
  [[nodiscard]] virtual Status expose_regions(std::span<const Region> regions) = 0;
  /// One region, in memory of the host.
  [[nodiscard]] Status expose(std::span<std::byte> memory) {
    const Region region{memory};
    return expose_regions({&region, 1});
  }
  /// What peers need to reach this rank (endpoint names, keys): exchanged through the World.
  [[nodiscard]] virtual Result<std::vector<std::byte>> address() const = 0;
  /// Addresses of the peers, by peer index.
  [[nodiscard]] virtual Status connect(std::span<const std::vector<std::byte>> peers) = 0;

  /// Posts puts in order until one would block; returns how many were taken. A put that is refused
  /// for good is taken and reported by a kFailed event.
  [[nodiscard]] virtual std::size_t post(std::span<const Put> puts) = 0;
  /// Moves data and fills `events`; returns how many. Never blocks.
  [[nodiscard]] virtual std::size_t poll(std::span<Event> events) = 0;
  /// Sleeps until poll() may have something, wake() was called, or the time is up.
  virtual void wait(std::uint64_t timeout_ns) = 0;
  /// Ends a wait() in progress, or the next one. Any thread.
  virtual void wake() = 0;

  /// The words for the latest kFailed event: which operation, which peer, what the provider said.
  [[nodiscard]] virtual Error last_error() const = 0;
  /// "net", "tcp", "verbs;ofi_rxm", "mock": what carries the data, for logs and run.json.
  [[nodiscard]] virtual std::string provider() const = 0;
  /// Upper bound of puts that may be outstanding to all peers together.
  [[nodiscard]] virtual std::size_t depth() const = 0;

 protected:
  Fabric() = default;
};

}  // namespace shunt::fabric
