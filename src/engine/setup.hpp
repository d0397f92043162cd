// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the creation of a Buffer is on every executor. in: World, options → out: options checked and
// compared, sizes and offsets, the fabrics connected.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bootstrap/world.hpp"
#include "exec/rank_view.hpp"
#include "fabric/fabric.hpp"
#include "fabric/libfabric_fabric.hpp"
#include "shunt/shunt.hpp"
#include "traffic/record_layout.hpp"

namespace shunt::engine {

/// Sizes that follow from the options.
struct Sizes {
  traffic::RecordLayout record;
  std::uint64_t wire_stride = 0;  ///< Bytes of a partial row in a combine chunk.
};

/// Checks the options, compares them with those of all ranks, and fills in who this rank is and
/// where everything lies; pointers are left to the caller. `ahead`: which rows of combine come
/// ahead in a world of one node, on all ranks alike; their size is filled in here. Collective.
[[nodiscard]] Result<Sizes> set_up(bootstrap::World& world,
                                   const BufferOptions& options,
                                   exec::RankView& view,
                                   const memory::AheadRows& ahead = {});

/// Memory for the slots of chunks apart from the rest, as on a device (Layout, from slots_begin).
struct SlotMemory {
  std::byte* blocks = nullptr;    ///< As blocks reach it. All three point to its first byte.
  std::byte* host = nullptr;      ///< As progress threads would, which do not.
  fabric::Region region;          ///< As the fabric reaches it.
  std::function<Status()> flush;  ///< As ProgressOptions::flush_arrivals.
};

/// Progress threads of each rank of such a world: as many as wanted, but none without a rail peer;
/// one in a world of one node.
[[nodiscard]] int progress_threads(int wanted, const cluster::Shape& shape);

using MakeFabric =
    std::function<Result<std::unique_ptr<fabric::Fabric>>(int queue_pairs, int thread)>;
using Fabrics = std::vector<std::unique_ptr<fabric::Fabric>>;

/// Opens a fabric for each progress thread (libfabric, if `make` is empty), exposes the fabric's
/// part of the layout on each (in the layout's order: one region, or cut at slots_begin), and
/// connects it with the peers of the thread's share (PeerShare). Null in a world of one node.
/// Collective: a rank that fails takes part.
[[nodiscard]] Result<Fabrics> connect_fabrics(bootstrap::World& world,
                                              const BufferOptions& options,
                                              const exec::RankView& view,
                                              std::span<const fabric::Region> regions,
                                              const MakeFabric& make);

/// How connect_fabrics() opens libfabric for a progress thread with so many peers.
[[nodiscard]] fabric::LibfabricOptions libfabric_options(const BufferOptions& options, int peers);

/// What all ranks of an operation must share, as a number.
[[nodiscard]] std::uint64_t parameters_hash(const BufferOptions& options);

}  // namespace shunt::engine
