// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What `shunt bench` measures: a Buffer and its arrays, on the CPU or on a device. in: World,
// options, input → out: operations, and what they brought in memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/world.hpp"
#include "engine/proxy_group.hpp"
#include "engine/setup.hpp"
#include "record/lane.hpp"
#include "routing/routing.hpp"
#include "shunt/device.hpp"
#include "shunt/shunt.hpp"

namespace shunt::cli {

struct EngineSetup {
  bootstrap::World& world;
  BufferOptions options;
  engine::MakeFabric make_fabric;  ///< Empty: libfabric.
  record::Recorder* recorder = nullptr;
  const routing::Routing* routing = nullptr;
  std::int64_t capacity = 0;  ///< Rows that this rank will receive.
  std::vector<std::byte> input;
  int sms = 0;            ///< Blocks of a launch on a device.
  bool near_cpus = true;  ///< Of a device's progress threads.
  Staging staging = Staging::kAuto;
};

/// The rows that a dispatch has brought.
struct Arrived {
  std::byte* rows = nullptr;  ///< May be changed; see return_rows().
  const RowOrigin* origins = nullptr;
  std::int64_t count = 0;
};

class BenchEngine {
 public:
  virtual ~BenchEngine() = default;
  BenchEngine(const BenchEngine&) = delete;
  BenchEngine& operator=(const BenchEngine&) = delete;

  /// An operation from the call to its end, as the caller sees it.
  [[nodiscard]] virtual Status dispatch() = 0;
  /// Of the rows that the latest dispatch brought, as they are now.
  [[nodiscard]] virtual Status combine() = 0;

  /// For the check, in memory of the host.
  [[nodiscard]] virtual Result<Arrived> arrived() = 0;
  /// What stands in arrived().rows is what combine sums from now on.
  [[nodiscard]] virtual Status return_rows() = 0;
  [[nodiscard]] virtual Result<const std::byte*> sums() = 0;

  [[nodiscard]] virtual std::string provider() const = 0;
  /// DeviceBuffer::staging(); empty on the CPU.
  [[nodiscard]] virtual std::string staging() const { return {}; }
  [[nodiscard]] virtual const engine::ProxyGroup& progress() const = 0;
  /// Records that the engine itself had no room for.
  [[nodiscard]] virtual std::uint64_t dropped() const = 0;
  /// All ranks have ended their operations.
  virtual void close() = 0;

 protected:
  BenchEngine() = default;
};

/// Collective.
[[nodiscard]] Result<std::unique_ptr<BenchEngine>> cpu_engine(EngineSetup setup);
/// Collective. Ranks of a node take the devices in turn. An error in builds without CUDA.
[[nodiscard]] Result<std::unique_ptr<BenchEngine>> cuda_engine(EngineSetup setup);

}  // namespace shunt::cli
