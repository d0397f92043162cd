// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "fabric/ofi_engine.hpp"
#include "fabric/ofi_words.hpp"

namespace shunt::fabric::ofi {
namespace {

/// A peer that was connected once and cannot be reached for this long has closed or died: tcp
/// providers connect again for ever, and say nothing but EAGAIN.
constexpr std::uint64_t kReconnectNs = 200'000'000;

}  // namespace

Status Engine::connect(std::span<const std::vector<std::byte>> peers) {
  if (!streams_.empty()) return usage_error("fabric {}: connect() was called twice", provider());
  if (limits_.source.regions() == 0)
    return usage_error("fabric {}: expose() before connect()", provider());
  streams_.resize(peers.size() * static_cast<std::size_t>(limits_.qps));
  endpoints_.resize(static_cast<std::size_t>(limits_.qps));
  backlogged_.reserve(streams_.size());
  targets_.assign(peers.size(), {});
  lost_.resize(peers.size());
  for (std::size_t peer = 0; peer < peers.size(); ++peer) {
    if (!peers[peer].empty()) SHUNT_TRY(connect_peer(peer, peers[peer]));
  }
  limits_.targets = targets_;
  return {};
}

Status Engine::connect_peer(std::size_t peer, const std::vector<std::byte>& bytes) {
  auto decoded = decode(bytes);
  if (!decoded) {
    Error error = std::move(decoded).error();
    error.message = fmt::format("fabric {}, peer {}: {}", provider(), peer, error.message);
    return Unexpected(std::move(error));
  }
  if (decoded->provider != provider()) {
    return fail(ErrorCode::kProtocol,
                ErrorScope::kPeer,
                "peer {} uses provider {}, this rank {}: ask for the same everywhere",
                peer,
                decoded->provider,
                provider());
  }
  const auto qps = static_cast<std::size_t>(limits_.qps);
  if (decoded->endpoints.size() != qps) {
    return fail(ErrorCode::kProtocol,
                ErrorScope::kPeer,
                "peer {} has {} queue pairs, this rank {}: ask for the same number everywhere",
                peer,
                decoded->endpoints.size(),
                qps);
  }
  Space space;
  for (const RegionAddress& region : decoded->regions) (void)space.add(region.bytes);
  for (std::size_t qp = 0; qp < qps; ++qp) {
    auto address = device_.insert(decoded->endpoints[qp]);
    if (!address) return Unexpected(std::move(address).error());
    Stream& stream = streams_[peer * qps + qp];
    stream.address = *address;
    for (std::size_t r = 0; r < decoded->regions.size(); ++r) {
      stream.keys[r] = decoded->endpoints[qp].keys[r];
      // Offsets of puts count from the first region's begin.
      stream.bases[r] = decoded->regions[r].base - space.begin_of(r);
    }
  }
  targets_[peer] = space;
  return {};
}

std::size_t Engine::post(std::span<const Put> puts) {
  std::size_t taken = 0;
  for (const Put& put : puts) {
    if (free_.empty()) break;
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].put = put;
    slots_[index].busy = true;
    start(index);
    ++taken;
  }
  return taken;
}

void Engine::start(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!allowed(slot.put, limits_)) {
    fail_put(index, explain_refusal(slot.put, limits_));
    return;
  }
  if (const auto& lost = lost_[static_cast<std::size_t>(slot.put.peer)]; lost != nullptr) {
    fail_put(index, put_not_sent(slot.put, *lost));
    return;
  }
  Stream& stream = stream_of(slot.put);
  if (stream.head == kNone) {
    const ssize_t rc = submit(slot, stream);
    if (rc == 0) return;
    if (rc != -FI_EAGAIN) {
      fail_put(index, static_cast<int>(-rc), "refused by the provider");
      return;
    }
    backlogged_.push_back(static_cast<std::uint32_t>(&stream - streams_.data()));
    progressed(stream, now_ns());
    stream.head = index;
  } else {
    slots_[stream.tail].next = index;
  }
  stream.tail = index;
  slot.next = kNone;
}

ssize_t Engine::submit(Slot& slot, Stream& stream) {
  const Put& put = slot.put;
  const auto qp = static_cast<std::size_t>(put.qp);
  const std::size_t from = limits_.source.region_of(put.source_offset);
  const std::size_t to =
      limits_.targets[static_cast<std::size_t>(put.peer)].region_of(put.target_offset);
  const std::uint64_t within = put.source_offset - limits_.source.begin_of(from);
  iovec source{device_.regions()[from].bytes.data() + within, put.bytes};
  void* description = device_.description(qp, from);
  const fi_rma_iov target{stream.bases[to] + put.target_offset, put.bytes, stream.keys[to]};
  fi_msg_rma message{};
  // No element at all for an immediate alone: NICs read an element of length 0 as 2 GiB.
  message.msg_iov = &source;
  message.desc = &description;
  message.iov_count = put.bytes == 0 ? 0 : 1;
  message.addr = stream.address;
  message.rma_iov = &target;
  message.rma_iov_count = 1;
  message.context = &slot.scratch;
  message.data = put.immediate;
  const ssize_t rc = fi_writemsg(device_.endpoint(qp), &message, FI_REMOTE_CQ_DATA | FI_COMPLETION);
  if (rc == 0) {
    ++stream.flying;
    ++endpoints_[qp].accepted;
  }
  return rc;
}

void Engine::retry_backlogs() {
  const std::uint64_t now = now_ns();
  for (std::size_t i = 0; i < backlogged_.size();) {
    Stream& stream = streams_[backlogged_[i]];
    ssize_t rc = 0;
    while (stream.head != kNone) {
      const std::uint32_t index = stream.head;
      rc = submit(slots_[index], stream);
      if (rc == -FI_EAGAIN) break;
      stream.head = slots_[index].next;
      progressed(stream, now);
      if (rc != 0) fail_put(index, static_cast<int>(-rc), "refused by the provider");
    }
    if (stream.flying > 0) progressed(stream, now);
    if (stream.head != kNone) give_up_late(stream, now);
    if (stream.head != kNone) {
      ++i;
      continue;
    }
    backlogged_[i] = backlogged_.back();
    backlogged_.pop_back();
  }
}

void Engine::give_up_late(Stream& stream, std::uint64_t now) {
  const std::uint64_t limit = stream.met ? kReconnectNs : connect_timeout_ns_;
  const std::uint64_t blocked = now - std::min(now, stream.blocked_since_ns);
  if (blocked < limit) return;
  // Other peers' puts may hold all room of the endpoint: then it is not this peer's fault.
  const Endpoint& endpoint = endpoints_[qp_of(stream)];
  const bool idle = endpoint.accepted == endpoint.finished;
  if (!idle && endpoint.accepted == stream.accepted_then) return;
  const std::uint32_t index = stream.head;
  stream.head = slots_[index].next;
  fail_put(index,
           stream.met ? FI_ENOTCONN : FI_ETIMEDOUT,
           fmt::format("{} for {}",
                       stream.met ? "the connection is gone and does not come back"
                                  : "no connection: is the peer there, and does it poll?",
                       format_ns(blocked)));
}

}  // namespace shunt::fabric::ofi
