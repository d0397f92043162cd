// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/striped_fabric.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace shunt::fabric {
namespace {

constexpr std::uint64_t kNapNs = 50'000;
constexpr std::size_t kBatch = 64;

using Bytes = std::vector<std::byte>;

/// u32 count, then each part behind its u32 size; as all addresses, of machines of one byte order.
Bytes join(const std::vector<Bytes>& parts) {
  Bytes all;
  const auto put = [&all](const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    all.insert(all.end(), from, from + bytes);
  };
  const auto count = static_cast<std::uint32_t>(parts.size());
  put(&count, sizeof(count));
  for (const Bytes& part : parts) {
    const auto size = static_cast<std::uint32_t>(part.size());
    put(&size, sizeof(size));
    put(part.data(), part.size());
  }
  return all;
}

Result<std::vector<Bytes>> split(const Bytes& all, std::size_t peer) {
  std::size_t at = 0;
  bool whole = true;
  const auto number = [&] {
    std::uint32_t value = 0;
    whole = whole && all.size() - at >= sizeof(value);
    if (whole) std::memcpy(&value, all.data() + at, sizeof(value));
    at += whole ? sizeof(value) : 0;
    return value;
  };
  std::vector<Bytes> parts;
  const std::uint32_t count = number();
  for (std::uint32_t i = 0; whole && i < count; ++i) {
    const std::size_t size = number();
    whole = whole && all.size() - at >= size;
    if (!whole) break;
    parts.emplace_back(all.data() + at, all.data() + at + size);
    at += size;
  }
  if (whole && at == all.size()) return parts;
  return fail(ErrorCode::kProtocol,
              ErrorScope::kPeer,
              "peer {}: its address is not that of several NICs: ask for the same NICs everywhere",
              peer);
}

class StripedFabric final : public Fabric {
 public:
  StripedFabric(std::vector<std::unique_ptr<Fabric>> nics, UniqueFd bell)
      : nics_(std::move(nics)), bell_(std::move(bell)) {}

  Status expose_regions(std::span<const Region> regions) override {
    for (const auto& nic : nics_) SHUNT_TRY(nic->expose_regions(regions));
    return {};
  }
  Result<Bytes> address() const override {
    std::vector<Bytes> parts;
    for (const auto& nic : nics_) {
      auto part = nic->address();
      if (!part) return part;
      parts.push_back(std::move(*part));
    }
    return join(parts);
  }
  Status connect(std::span<const Bytes> peers) override;
  std::size_t post(std::span<const Put> puts) override;
  std::size_t poll(std::span<Event> events) override;
  void wait(std::uint64_t timeout_ns) override;
  void wake() override {
    woken_.store(true);
    const std::uint64_t one = 1;
    (void)!::write(bell_.get(), &one, sizeof(one));
  }
  Error last_error() const override { return last_error_; }
  std::string provider() const override { return nics_.front()->provider(); }
  std::size_t depth() const override {
    std::size_t depth = 0;
    for (const auto& nic : nics_) depth += nic->depth();
    return depth;
  }

 private:
  /// A queue pair that cannot be goes to NIC 0, which refuses it.
  [[nodiscard]] std::size_t nic_of(std::int32_t qp) const {
    return qp < 0 ? 0 : static_cast<std::size_t>(qp) % nics_.size();
  }

  std::vector<std::unique_ptr<Fabric>> nics_;
  const UniqueFd bell_;
  std::size_t first_ = 0;  ///< NIC that the next poll() begins with: none starves.
  bool more_ = false;      ///< The latest poll() ran out of room.
  Error last_error_;
  std::atomic<bool> woken_{false};
};

Status StripedFabric::connect(std::span<const Bytes> peers) {
  std::vector<std::vector<Bytes>> by_nic(nics_.size(), std::vector<Bytes>(peers.size()));
  for (std::size_t peer = 0; peer < peers.size(); ++peer) {
    if (peers[peer].empty()) continue;
    auto parts = split(peers[peer], peer);
    if (!parts) return Unexpected(std::move(parts).error());
    if (parts->size() != nics_.size()) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kPeer,
                  "peer {} has {} NICs, this rank {}: ask for the same number everywhere",
                  peer,
                  parts->size(),
                  nics_.size());
    }
    for (std::size_t k = 0; k < nics_.size(); ++k) by_nic[k][peer] = std::move((*parts)[k]);
  }
  for (std::size_t k = 0; k < nics_.size(); ++k) SHUNT_TRY(nics_[k]->connect(by_nic[k]));
  return {};
}

std::size_t StripedFabric::post(std::span<const Put> puts) {
  std::array<Put, kBatch> batch;
  std::size_t taken = 0;
  while (taken < puts.size()) {
    const std::size_t nic = nic_of(puts[taken].qp);
    std::size_t count = 0;
    while (count < kBatch && taken + count < puts.size() && nic_of(puts[taken + count].qp) == nic) {
      batch[count] = puts[taken + count];
      if (batch[count].qp >= 0) batch[count].qp /= static_cast<std::int32_t>(nics_.size());
      ++count;
    }
    const std::size_t now = nics_[nic]->post(std::span(batch).first(count));
    taken += now;
    if (now < count) break;
  }
  return taken;
}

std::size_t StripedFabric::poll(std::span<Event> events) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < nics_.size() && count < events.size(); ++i) {
    const std::size_t nic = (first_ + i) % nics_.size();
    const std::span<Event> room = events.subspan(count);
    const std::size_t got = nics_[nic]->poll(room);
    const auto failed = [](const Event& event) { return event.kind == Event::Kind::kFailed; };
    if (std::any_of(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(got), failed)) {
      last_error_ = nics_[nic]->last_error();
      last_error_.message += " (NIC " + std::to_string(nic) + " of this rank)";
    }
    count += got;
  }
  first_ = (first_ + 1) % nics_.size();
  more_ = count == events.size();
  return count;
}

void StripedFabric::wait(std::uint64_t timeout_ns) {
  if (std::exchange(more_, false) || woken_.exchange(false)) return;
  pollfd bell{bell_.get(), POLLIN, 0};
  const timespec limit{0, static_cast<long>(std::min(timeout_ns, kNapNs))};
  (void)::ppoll(&bell, 1, &limit, nullptr);
  std::uint64_t rings = 0;
  (void)!::read(bell_.get(), &rings, sizeof(rings));
  woken_.store(false);
}

}  // namespace

Result<std::unique_ptr<Fabric>> stripe(std::vector<std::unique_ptr<Fabric>> nics,
                                       std::int32_t qps) {
  if (nics.empty()) return usage_error("fabric: no NIC is given");
  if (static_cast<std::size_t>(std::max(qps, 0)) < nics.size()) {
    return usage_error(
        "fabric: {} NICs need {} queue pairs or more, not {}", nics.size(), nics.size(), qps);
  }
  if (nics.size() == 1) return std::move(nics.front());
  UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.valid()) return system_error(errno, "fabric: no eventfd for wake()");
  return std::unique_ptr<Fabric>(std::make_unique<StripedFabric>(std::move(nics), std::move(bell)));
}

}  // namespace shunt::fabric
