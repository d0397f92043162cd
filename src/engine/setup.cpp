// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/setup.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/units.hpp"
#include "dispatch/args.hpp"
#include "exec/descriptor.hpp"
#include "exec/peer_share.hpp"
#include "fabric/signal.hpp"

namespace shunt::engine {
namespace {

constexpr std::uint32_t kCountCredits = 4;
constexpr std::int64_t kProtocolVersion = 1;
constexpr int kMostQueuePairs = 256;
constexpr int kMostBlocks = 1024;
constexpr int kMostProxyThreads = 64;

Status check_options(const BufferOptions& o, const cluster::Shape& shape) {
  const auto at_least_one = [](const char* name, std::int64_t value) -> Status {
    if (value >= 1) return {};
    return usage_error("{} {} is not allowed; at least 1", name, value);
  };
  SHUNT_TRY(at_least_one("topk", o.topk));
  SHUNT_TRY(at_least_one("hidden", o.hidden));
  SHUNT_TRY(at_least_one("chunk_tokens", o.chunk_tokens));
  SHUNT_TRY(at_least_one("credits", o.credits));
  SHUNT_TRY(at_least_one("qps", o.qps));
  SHUNT_TRY(at_least_one("proxy_threads", o.proxy_threads));
  SHUNT_TRY(at_least_one("rdma_blocks", o.rdma_blocks));
  SHUNT_TRY(at_least_one("blocks", o.blocks));
  if (o.qps > kMostQueuePairs || o.rdma_blocks > kMostBlocks || o.blocks > kMostBlocks) {
    return usage_error("qps {}, rdma_blocks {}, blocks {} are not allowed; at most {}, {} and {}",
                       o.qps,
                       o.rdma_blocks,
                       o.blocks,
                       kMostQueuePairs,
                       kMostBlocks,
                       kMostBlocks);
  }
  if (o.proxy_threads > kMostProxyThreads) {
    return usage_error(
        "proxy_threads {} is not allowed; 1 to {}: each takes a core while data moves",
        o.proxy_threads,
        kMostProxyThreads);
  }
  if (static_cast<std::size_t>(o.qps) < o.nics.size()) {
    return usage_error("{} nics need as many queue pairs or more; qps is {}", o.nics.size(), o.qps);
  }
  SHUNT_TRY(at_least_one("heartbeat_ns", static_cast<std::int64_t>(o.heartbeat_ns)));
  SHUNT_TRY(at_least_one("deadline_ns", static_cast<std::int64_t>(o.deadline_ns)));
  if (o.max_tokens < 0 || o.max_tokens > std::numeric_limits<std::int32_t>::max()) {
    return usage_error("max_tokens {} is not allowed; 0 to {}",
                       o.max_tokens,
                       std::numeric_limits<std::int32_t>::max());
  }
  const std::uint64_t row = static_cast<std::uint64_t>(o.hidden) * size_of(o.dtype);
  if (row % 16 != 0) {
    return usage_error("hidden {} of {} makes rows of {} bytes; a multiple of 16 bytes is needed",
                       o.hidden,
                       to_string(o.dtype),
                       row);
  }
  if (o.experts < shape.world || o.experts % shape.world != 0) {
    return usage_error("{} experts do not divide over {} ranks; give a multiple of {}",
                       o.experts,
                       shape.world,
                       shape.world);
  }
  const std::uint64_t peers = static_cast<std::uint64_t>(shape.nodes - 1);
  if (peers * static_cast<std::uint64_t>(o.credits) > fabric::kMaxSlots) {
    return usage_error(
        "{} credits for each of {} remote nodes are more slots than a signal can "
        "name ({})",
        o.credits,
        peers,
        fabric::kMaxSlots);
  }
  if (peers > exec::kMaxPeers) {
    return usage_error("{} nodes are more than the {} that a descriptor can name",
                       shape.nodes,
                       exec::kMaxPeers + 1);
  }
  return {};
}

/// The size of a put has 32 bits, in descriptors and in chunk headers.
Status check_put_size(const BufferOptions& o, const memory::Layout& layout) {
  for (const std::size_t bytes : layout.slot_bytes) {
    if (bytes <= std::numeric_limits<std::uint32_t>::max()) continue;
    return usage_error("chunk_tokens {} make puts of {}; less than 4 GiB is allowed",
                       o.chunk_tokens,
                       format_size(bytes));
  }
  return {};
}

/// What all ranks must agree on, by name.
std::vector<std::pair<const char*, std::int64_t>> shared_options(const BufferOptions& o,
                                                                 const memory::AheadRows& ahead) {
  return {{"protocol version", kProtocolVersion},
          {"ranks_per_node", o.ranks_per_node},
          {"experts", o.experts},
          {"topk", o.topk},
          {"hidden", o.hidden},
          {"dtype", static_cast<std::int64_t>(o.dtype)},
          {"wire_dtype", static_cast<std::int64_t>(o.wire_dtype.value_or(o.dtype))},
          {"max_tokens", o.max_tokens},
          {"number of nics", static_cast<std::int64_t>(o.nics.size())},
          {"chunk_tokens", o.chunk_tokens},
          {"credits", o.credits},
          {"qps", o.qps},
          {"proxy_threads", o.proxy_threads},
          {"weights", static_cast<std::int64_t>(o.weights)},
          {"heap_bytes", static_cast<std::int64_t>(o.heap_bytes)},
          {"number of rows that come ahead", ahead.rows},
          {"step of rows that come ahead, log2", ahead.step_log2}};
}

Status compare_options(bootstrap::World& world,
                       const BufferOptions& options,
                       const memory::AheadRows& ahead) {
  const auto mine = shared_options(options, ahead);
  std::vector<std::int64_t> values;
  for (const auto& [name, value] : mine) values.push_back(value);
  auto all = world.all_gather(std::as_bytes(std::span(values)));
  if (!all) return Unexpected(std::move(all).error());
  for (std::size_t r = 0; r < all->size(); ++r) {
    std::vector<std::int64_t> theirs(values.size());
    if ((*all)[r].size() != values.size() * sizeof(std::int64_t)) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "rank {} runs another version of the library than rank {}",
                  r,
                  world.rank());
    }
    std::memcpy(theirs.data(), (*all)[r].data(), (*all)[r].size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (theirs[i] == values[i]) continue;
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kUsage,
                  "{} is {} on rank {} and {} on rank {}; all ranks must agree",
                  mine[i].first,
                  values[i],
                  world.rank(),
                  theirs[i],
                  r);
    }
  }
  return {};
}

void lay_out(const BufferOptions& o, memory::AheadRows ahead, Sizes& sizes, exec::RankView& view) {
  traffic::RecordLayout& record = sizes.record;
  record.hidden_bytes = static_cast<std::uint64_t>(o.hidden) * size_of(o.dtype);
  record.topk = o.topk;
  record.has_weights = o.weights;
  record.chunk_tokens = o.chunk_tokens;
  record.ranks_per_node = view.shape.ranks_per_node;
  const DType wire = o.wire_dtype.value_or(o.dtype);
  sizes.wire_stride = memory::align_up(static_cast<std::size_t>(o.hidden) * size_of(wire), 16);
  memory::ChannelSizes channels;
  const auto credits = static_cast<std::uint32_t>(o.credits);
  const std::uint32_t capacities[] = {credits, credits, kCountCredits};
  const std::size_t slots[] = {
      record.max_chunk_bytes(),
      sizeof(dispatch::ChunkHeader) + static_cast<std::size_t>(o.chunk_tokens) * sizes.wire_stride,
      record.count_message_bytes()};
  for (int kind = 0; kind < 3; ++kind) {
    channels.capacity[kind] = capacities[kind];
    channels.slot_bytes[kind] = slots[kind];
  }
  ahead.row_bytes = record.hidden_bytes;
  view.layout = memory::Layout(view.shape, channels, ahead);
}

Result<std::unique_ptr<fabric::Fabric>> libfabric(const BufferOptions& options,
                                                  int peers,
                                                  std::span<const fabric::Region> regions) {
  fabric::LibfabricOptions o = libfabric_options(options, peers);
  o.device_memory = std::ranges::any_of(regions, [](const fabric::Region& region) {
    return region.kind != fabric::Region::Kind::kHost;
  });
  if (options.nics.empty()) return fabric::create_libfabric(o);
  return fabric::create_libfabric_on(options.nics, o);
}

Status open_fabrics(const BufferOptions& options,
                    const exec::RankView& view,
                    std::span<const fabric::Region> regions,
                    const MakeFabric& make,
                    Fabrics& fabrics) {
  for (std::uint32_t t = 0; t < fabrics.size(); ++t) {
    const exec::PeerShare share{t, static_cast<std::uint32_t>(fabrics.size())};
    const auto peers = static_cast<int>(share.count(static_cast<std::uint32_t>(view.peers())));
    auto made =
        make ? make(options.qps + 1, static_cast<int>(t)) : libfabric(options, peers, regions);
    if (!made) return Unexpected(std::move(made).error());
    fabrics[t] = std::move(*made);
    SHUNT_TRY(fabrics[t]->expose_regions(regions));
  }
  return {};
}

}  // namespace

fabric::LibfabricOptions libfabric_options(const BufferOptions& options, int peers) {
  const std::size_t data = static_cast<std::size_t>(peers) *
                           (2 * static_cast<std::size_t>(options.credits) + kCountCredits);
  fabric::LibfabricOptions o;
  o.provider = options.provider;
  o.bind_address = options.bind_address;
  o.qps = options.qps + 1;
  // Data within the credits; credits, heartbeats and control words beside them.
  o.depth = std::max<std::size_t>(256, data * 2 + static_cast<std::size_t>(peers) * 16);
  o.arrivals = std::max<std::size_t>(1024, data * 4 + static_cast<std::size_t>(peers) * 32);
  return o;
}

Result<Sizes> set_up(bootstrap::World& world,
                     const BufferOptions& options,
                     exec::RankView& view,
                     const memory::AheadRows& ahead) {
  auto shape = cluster::Shape::create(world.size(), options.ranks_per_node);
  if (!shape) return Unexpected(std::move(shape).error());
  SHUNT_TRY(check_options(options, *shape));
  SHUNT_TRY(compare_options(world, options, ahead));
  view.shape = *shape;
  view.rank = world.rank();
  view.node = shape->node_of(view.rank);
  view.local = shape->local_of(view.rank);
  Sizes sizes;
  lay_out(options, ahead, sizes, view);
  SHUNT_TRY(check_put_size(options, view.layout));
  if (const int threads = progress_threads(options.proxy_threads, *shape);
      threads < options.proxy_threads) {
    SHUNT_LOG_INFO("rank {} proxy threads {}, not {}: each serves at least one other node, of {}",
                   view.rank,
                   threads,
                   options.proxy_threads,
                   view.peers());
  }
  return sizes;
}

int progress_threads(int wanted, const cluster::Shape& shape) {
  return std::clamp(wanted, 1, std::max(1, shape.nodes - 1));
}

Result<Fabrics> connect_fabrics(bootstrap::World& world,
                                const BufferOptions& options,
                                const exec::RankView& view,
                                std::span<const fabric::Region> regions,
                                const MakeFabric& make) {
  const auto threads =
      static_cast<std::uint32_t>(progress_threads(options.proxy_threads, view.shape));
  Fabrics fabrics(threads);
  if (view.peers() == 0) return fabrics;
  const Status opened = open_fabrics(options, view, regions, make, fabrics);
  // By thread and rank. A rank that failed still takes part, with empty addresses, so that nobody
  // waits for it.
  std::vector<std::vector<std::vector<std::byte>>> addresses;
  Status exchanged = opened;
  for (const auto& fabric : fabrics) {
    std::vector<std::byte> mine;
    if (exchanged) {
      auto own = fabric->address();
      if (own) {
        mine = std::move(*own);
      } else {
        exchanged = Unexpected(std::move(own).error());
      }
    }
    auto all = world.all_gather(mine);
    if (!all) return Unexpected(std::move(all).error());
    addresses.push_back(std::move(*all));
  }
  if (!exchanged) return Unexpected(std::move(exchanged).error());
  for (std::uint32_t t = 0; t < threads; ++t) {
    const exec::PeerShare share{t, threads};
    std::vector<std::vector<std::byte>> peers;
    for (std::uint32_t n = 0; n < share.count(static_cast<std::uint32_t>(view.peers())); ++n) {
      const auto peer = static_cast<int>(share.peer(n));
      const int node = view.shape.peer_node(view.node, peer);
      // The thread of theirs that serves this rank.
      const std::uint32_t theirs = exec::PeerShare::thread_of(
          static_cast<std::uint32_t>(view.shape.peer_index(node, view.node)), threads);
      peers.push_back(addresses[theirs][static_cast<std::size_t>(view.rail_rank(peer))]);
      if (peers.back().empty()) {
        return fail(ErrorCode::kPeerLost,
                    ErrorScope::kFatal,
                    "rank {} has no fabric; its own message says why",
                    view.rail_rank(peer));
      }
    }
    SHUNT_TRY(fabrics[t]->connect(peers));
  }
  return fabrics;
}

std::uint64_t parameters_hash(const BufferOptions& o) {
  std::uint64_t hash = 0x736875'6e74U;
  for (const std::int64_t value : {std::int64_t{o.experts},
                                   std::int64_t{o.topk},
                                   o.hidden,
                                   std::int64_t{o.chunk_tokens},
                                   static_cast<std::int64_t>(o.dtype),
                                   static_cast<std::int64_t>(o.weights)}) {
    hash = Random::mix(hash ^ static_cast<std::uint64_t>(value));
  }
  return hash;
}

}  // namespace shunt::engine
