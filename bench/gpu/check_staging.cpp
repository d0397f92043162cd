// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check_staging.hpp"

#include <cstring>

#include "bootstrap/collective.hpp"
#include "engine/setup.hpp"
#include "gpu/bounce_fabric.hpp"
#include "gpu/check_rank.hpp"
#include "gpu/check_rounds.hpp"
#include "memory/cuda/rdma.hpp"

namespace shunt::bench::gpu {
namespace {

using engine::cuda::Hooks;

Unexpected wrong(const char* what, const std::string& seen) {
  return fail(ErrorCode::kInternal, ErrorScope::kFatal, "{}: {}", what, seen);
}

/// Over tcp, which reaches no device.
Status run_without(bootstrap::World& world, int ranks_per_node) {
  Case c;
  const WorldCase w = world_case(c, world.size(), ranks_per_node, 3);
  Hooks hooks;
  {
    auto buffer = Buffer::create(world, options_of(c, w), geometry_of(c, w), hooks);
    if (!buffer) return Unexpected(std::move(buffer).error());
    const std::string& text = (*buffer)->staging();
    if (text.rfind("pinned host memory (", 0) != 0) return wrong("staging of its own", text);
    if (world.rank() == 0) fmt::print(stderr, "staging, by itself: {}\n", text);
    SHUNT_TRY(world.barrier());
  }
  hooks.staging = Staging::kDevice;
  auto refused = Buffer::create(world, options_of(c, w), geometry_of(c, w), hooks);
  if (refused) return wrong("staging on the device over tcp", "was made");
  const std::string& text = refused.error().message;
  if (refused.error().code != ErrorCode::kUnsupported ||
      text.find("staging cannot lie in device memory") == std::string::npos) {
    return wrong("staging on the device over tcp", refused.error().to_string());
  }
  if (world.rank() == 0) fmt::print(stderr, "staging, on the device: {}\n", text);
  return world.barrier();
}

/// What the device says it can, tried.
Status look_at(const memory::DeviceRdma& rdma, bool print) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  auto memory = memory::cuda::DeviceMemory::create(kBytes);
  if (!memory) return Unexpected(std::move(memory).error());
  std::string descriptor = "not offered";
  if (rdma.dmabuf) {
    const auto made = memory::cuda::export_dmabuf(memory->data(), kBytes);
    descriptor = made ? "made" : made.error().message;
  }
  if (rdma.host_flush) SHUNT_TRY(memory::cuda::flush_writes(rdma.device));
  if (!print) return {};
  constexpr const char* kOrders[] = {"nobody", "its owner", "all devices"};
  fmt::print(stderr,
             "device {}: NICs {} its memory by address, dmabuf {}, their writes are in order for "
             "{}, a flush by the host {}{}\n",
             rdma.device,
             rdma.peer_memory ? "reach" : "do not reach",
             descriptor,
             kOrders[static_cast<int>(rdma.ordering)],
             rdma.host_flush ? "works" : "is not offered",
             rdma.coherent_link ? ", page tables shared with the host" : "");
  return {};
}

/// Chunks that were put and chunks that arrived, on all ranks together.
Status compare_records(bootstrap::World& world, record::Recorder& recorder, std::size_t most) {
  struct Seen {
    std::uint64_t puts = 0, put_bytes = 0, arrivals = 0, arrived_bytes = 0, odd = 0;
  } mine;
  recorder.drain([&](record::RecordType type, const unsigned char* body) {
    if (type == record::RecordType::kPut) {
      record::Put put;
      std::memcpy(&put, body, sizeof(put));
      mine.puts += put.chunk >= 0 ? 1 : 0;
      mine.put_bytes += put.chunk >= 0 ? put.bytes : 0;
    } else if (type == record::RecordType::kArrival) {
      record::Arrival arrival;
      std::memcpy(&arrival, body, sizeof(arrival));
      if (arrival.phase == record::Phase::kCountExchange) return;
      ++mine.arrivals;
      mine.arrived_bytes += arrival.bytes;
      const bool right = arrival.chunk >= 0 && arrival.time_ns > 0 && arrival.bytes <= most;
      mine.odd += right ? 0 : 1;
    }
  });
  const auto all = bootstrap::all_gather_value(world, mine);
  if (!all) return Unexpected(all.error());
  Seen sum;
  for (const Seen& rank : *all) {
    sum.puts += rank.puts;
    sum.put_bytes += rank.put_bytes;
    sum.arrivals += rank.arrivals;
    sum.arrived_bytes += rank.arrived_bytes;
    sum.odd += rank.odd;
  }
  if (sum.puts == sum.arrivals && sum.put_bytes == sum.arrived_bytes && sum.odd == 0) return {};
  return wrong("records with slots on the device",
               fmt::format("{} chunks of {} bytes put, {} of {} arrived, {} arrivals without "
                           "meaning",
                           sum.puts,
                           sum.put_bytes,
                           sum.arrivals,
                           sum.arrived_bytes,
                           sum.odd));
}

Status run_on_device(bootstrap::World& world, int ranks_per_node, const Case& c) {
  const WorldCase first = world_case(c, world.size(), ranks_per_node, 11);
  const WorldCase second = world_case(c, world.size(), ranks_per_node, 12);
  const BufferOptions options = options_of(c, first);
  exec::RankView view;
  auto sizes = engine::set_up(world, options, view);
  if (!sizes) return Unexpected(std::move(sizes).error());
  record::Recorder recorder(1U << 16);
  Hooks hooks;
  hooks.recorder = &recorder;
  hooks.staging = Staging::kDevice;
  hooks.answers.emplace();
  hooks.answers->provider = "bounce";
  hooks.answers->offered = true;
  hooks.answers->peer_to_peer = fabric::DeviceMemoryAnswers::Answer::kYes;
  hooks.make_fabric = [&](int queue_pairs, auto...) -> Result<std::unique_ptr<fabric::Fabric>> {
    fabric::LibfabricOptions lib = engine::libfabric_options(options, view.peers());
    lib.qps = queue_pairs;
    auto inner = fabric::create_libfabric(lib);
    if (!inner) return inner;
    return bounce(std::move(*inner), view.layout);
  };
  auto buffer = Buffer::create(world, options, geometry_of(c, first), hooks);
  if (!buffer) return Unexpected(std::move(buffer).error());
  if ((*buffer)->staging().rfind("device memory (", 0) != 0) {
    return wrong("staging through a bounce", (*buffer)->staging());
  }
  SHUNT_TRY(run_rounds(**buffer, c, first, second));
  SHUNT_TRY(world.barrier());
  (*buffer)->close();
  return compare_records(
      world, recorder, std::max(view.layout.slot_bytes[0], view.layout.slot_bytes[1]));
}

std::vector<Case> device_cases() {
  CaseList all;
  all.add("slots on the device", [](Case& c) { c.dropped = 0.3; });
  all.add("slots on the device, one token a chunk, one chunk in flight", [](Case& c) {
    c.chunk_tokens = c.credits = 1;
    c.tokens = {0, 1, 9, 17};
  });
  all.add("slots on the device, several blocks a direction, planned there", [](Case& c) {
    c.rdma_blocks = 3;
    c.credits = 5;
    c.plan_on_device = true;
  });
  all.add("slots on the device, hidden 7168", [](Case& c) {
    c.hidden = 7168;
    c.topk = 8;
    c.blocks = 8;
    c.warps = 16;
    c.row_warps = 4;
    c.chunk_tokens = 64;
    c.credits = 8;
  });
  all.add("slots on the device, 50 rounds with random delays", [](Case& c) {
    c.tokens = {17, 5, 33};
    c.hidden = 64;
    c.rounds = 50;
    c.delays = true;
  });
  return all.take();
}

}  // namespace

Status run_staging(bootstrap::World& world, int ranks_per_node, std::vector<std::string>* passed) {
  if (world.size() == ranks_per_node) return {};
  SHUNT_TRY(run_without(world, ranks_per_node));
  passed->emplace_back("staging over tcp: on the host by itself, refused on the device");
  auto rdma = memory::cuda::device_rdma();
  if (!rdma) return Unexpected(std::move(rdma).error());
  SHUNT_TRY(look_at(*rdma, world.rank() == 0));
  const std::string why = engine::device_obstacle(*rdma);
  if (!why.empty()) {
    passed->push_back("slots on the device: not run, as " + why);
    return {};
  }
  for (const Case& c : device_cases()) {
    SHUNT_TRY(run_on_device(world, ranks_per_node, c));
    passed->push_back(c.name);
  }
  return {};
}

}  // namespace shunt::bench::gpu
