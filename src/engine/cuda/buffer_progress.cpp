// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The progress threads of a Buffer on a device: fabrics opened, threads placed and started.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "bootstrap/collective.hpp"
#include "cluster/near_cpus.hpp"
#include "engine/cuda/buffer.hpp"
#include "engine/setup.hpp"
#include "memory/cuda/rdma.hpp"

namespace shunt::engine::cuda {

Cpus Buffer::progress_cpus() const {
  // Inside one node a thread sleeps but for heartbeats: where it does so is all the same.
  if (!hooks_.near_cpus || host_view_.peers() == 0) return {};
  const auto find = [&]() -> Result<Cpus> {
    char bus[32] = {};
    SHUNT_TRY(read_bus(bus));
    auto allowed = allowed_cpus();
    if (!allowed) return allowed;
    return cluster::near_cpus(bus, *allowed);
  };
  auto cpus = find();
  if (!cpus) {
    SHUNT_LOG_DEBUG("rank {} progress threads not bound: {}", rank(), cpus.error().to_string());
    return {};
  }
  SHUNT_LOG_INFO(
      "rank {} progress threads on CPUs {}, near its device", rank(), format_cpus(*cpus));
  return std::move(*cpus);
}

std::vector<ProxyPart> Buffer::make_parts(Fabrics fabrics) const {
  const exec::cuda::Rings& rings = context_.rings;
  std::vector<ProxyPart> parts;
  for (std::uint32_t t = 0; t < rings.threads; ++t) {
    const std::size_t begin = static_cast<std::size_t>(t) * rings.size;
    parts.push_back({{t, rings.threads},
                     {ring_entries_ + begin, rings.size, &ring_heads_[t].index},
                     std::move(fabrics[t]),
                     hooks_.recorder != nullptr ? hooks_.recorder->add_lane() : nullptr});
  }
  return parts;
}

ProgressOptions Buffer::progress_options(int device) const {
  ProgressOptions o;
  o.rank = host_view_;
  o.qps = options_.qps;
  o.nics = std::max<int>(1, static_cast<int>(options_.nics.size()));
  o.heartbeat_ns = options_.heartbeat_ns;
  o.cpus = progress_cpus();
  o.slots_on_device = choice_.device;
  if (choice_.flush) {
    o.flush_arrivals = [device] { return memory::cuda::flush_writes(device); };
  }
  if (host_view_.peers() > 0) {
    o.in_flight = [this] {
      absorb_device_failure();
      return !failures_.failed() &&
             launched_.load(std::memory_order_seq_cst) >
                 std::atomic_ref<std::uint64_t>(*ended_).load(std::memory_order_acquire);
    };
  }
  if (spans_ != nullptr) o.clock_offset = [this] { return spans_->clock().offset(); };
  return o;
}

AlarmOptions Buffer::alarm_options() {
  AlarmOptions o;
  o.rank = host_view_;
  o.failure = &failures_;
  o.on_abort = [this](std::uint64_t word) {
    std::atomic_ref<std::uint64_t>(*host_abort_).store(word, std::memory_order_release);
  };
  o.own_failure = [this] { report_own_failure(); };
  return o;
}

Status Buffer::start_progress(bootstrap::World& world) {
  const exec::RankView& view = host_view_;
  const auto exposed = regions();
  SHUNT_TRY(bootstrap::agree(world, exposed ? Status() : Unexpected(exposed.error()), "exposing"));
  auto fabrics = connect_fabrics(world, options_, view, *exposed, hooks_.make_fabric);
  if (!fabrics) return Unexpected(std::move(fabrics).error());
  if (view.peers() > 0) provider_ = fabrics->front()->provider();
  progress_ = std::make_unique<ProxyGroup>(
      progress_options(exposed->back().device), alarm_options(), make_parts(std::move(*fabrics)));
  // Nobody sends before everybody can receive.
  SHUNT_TRY(world.barrier());
  progress_->start();
  SHUNT_LOG_INFO("rank {} of {} node {} device heap {}",
                 rank(),
                 shape().world,
                 view.node,
                 format_size(heap_->size()));
  if (view.peers() > 0) {
    SHUNT_LOG_INFO("rank {} staging of {} in {}",
                   rank(),
                   format_size(view.layout.fabric_end - view.layout.slots_begin),
                   staging_);
  }
  return {};
}

}  // namespace shunt::engine::cuda
