// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The GPUs and NICs of one node and how they reach each other. in: a pasted matrix (logs/) or this
// machine (discovery.hpp) → out: Topology, read by pairing.hpp, verdict/ and the renderers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::cluster {

/// How two devices reach each other, nearest first. In JSON by name.
enum class PathKind {
  kSelf,
  kNvlink,  ///< NV#: direct or switched NVLink; Path::links is the number of bonded links.
  kXgmi,
  kHccs,
  kC2c,
  kNvb,     ///< NVLink through another GPU.
  kPix,     ///< At most one PCIe bridge.
  kPxb,     ///< Several PCIe bridges, no host bridge.
  kPhb,     ///< One host bridge, that is, the CPU.
  kNode,    ///< Several host bridges of one NUMA node.
  kPcie,    ///< PCIe, number of bridges not stated (AMD tools).
  kSys,     ///< Between sockets.
  kNoLink,  ///< No direct GPU link; what carries the traffic instead is not stated.
  kUnknown,
};

/// "NV18" needs Path; this is the bare word: "PIX", "SYS", "?".
[[nodiscard]] const char* to_string(PathKind kind);
/// A link made for GPU memory traffic: not PCIe, not the path to itself.
[[nodiscard]] constexpr bool is_gpu_link(PathKind kind) {
  return kind >= PathKind::kNvlink && kind <= PathKind::kNvb;
}
/// GPUDirect RDMA stays inside PCIe bridges.
[[nodiscard]] constexpr bool is_near(PathKind kind) {
  return kind >= PathKind::kSelf && kind <= PathKind::kPxb;
}

struct Path {
  PathKind kind = PathKind::kUnknown;
  int links = 0;        ///< Bonded NVLinks or xGMI links; 0 where not stated.
  int hops = -1;        ///< AMD tools; −1 where not stated.
  int weight = -1;      ///< AMD tools; −1 where not stated.
  double gb_per_s = 0;  ///< One direction, where a tool printed it; 0 where not.

  /// The vocabulary of `nvidia-smi topo -m`: "X", "NV18", "PIX"; "XGMI", "PCIE"; "?" if unknown.
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Path&, const Path&) = default;
};

/// "NV12", "PIX", "SOC" (2017 drivers' SYS), "XGMI" … → Path; nothing for other words.
[[nodiscard]] std::optional<Path> parse_path(std::string_view word);

enum class DeviceKind { kGpu, kNic };

struct Device {
  DeviceKind kind = DeviceKind::kGpu;
  int index = 0;          ///< Among its kind, as the tool numbers it.
  std::string label;      ///< As the matrix names it: "GPU3", "NIC0", "mlx5_0".
  std::string name;       ///< RDMA device or GPU model, empty where not stated.
  std::string bdf;        ///< PCI address, empty where not stated.
  std::string uuid;       ///< Empty where not stated.
  std::string netdev;     ///< Network interface of a NIC, empty where not stated.
  std::string cpus;       ///< "0-27,112-139", empty where not stated or cut.
  std::string numa;       ///< "0", "0-1"; empty where not stated.
  std::string own_numa;   ///< NUMA node that the GPU's memory is (coherent CPU); empty otherwise.
  std::string state;      ///< Of a NIC's port: "ACTIVE", "DOWN"; empty where not stated.
  std::string link_type;  ///< Of a NIC's port: "InfiniBand", "Ethernet"; empty where not stated.
  double rating_bytes_per_s = 0;  ///< Of a NIC's port; 0 where not stated.

  /// The name to write into a NIC list: the RDMA device where known, else the label.
  [[nodiscard]] const std::string& list_name() const { return name.empty() ? label : name; }
  friend bool operator==(const Device&, const Device&) = default;
};

/// Devices (GPUs first, then NICs) and one cell per ordered pair, as the row of the first states
/// it.
struct Topology {
  std::string node;            ///< Host name or caption of the matrix; may be empty.
  std::string source;          ///< Which tool printed it: "nvidia-smi topo -m".
  std::size_t first_line = 0;  ///< 1-based line of the input, 0 for a machine.
  std::size_t last_line = 0;
  bool pcie_view =
      false;  ///< The tool leaves GPU links out (`topo -mp`): their absence means nothing.
  std::vector<Device> devices;
  std::vector<Path> cells;        ///< devices.size()², row-major.
  std::vector<std::string> gaps;  ///< What the paste lacks: "row GPU7 is missing".

  /// Appends a device with unknown paths to all others.
  std::size_t add(Device device);
  [[nodiscard]] Path& cell(std::size_t row, std::size_t column) {
    return cells[row * devices.size() + column];
  }
  [[nodiscard]] const Path& cell(std::size_t row, std::size_t column) const {
    return cells[row * devices.size() + column];
  }
  /// The pair's path: the row's own statement, else the partner's, else unknown.
  [[nodiscard]] const Path& path(std::size_t a, std::size_t b) const;
  /// Both rows state the pair, and differently.
  [[nodiscard]] bool contradicts(std::size_t a, std::size_t b) const;
  [[nodiscard]] std::vector<std::size_t> of_kind(DeviceKind kind) const;
  [[nodiscard]] std::optional<std::size_t> find(std::string_view label_or_name) const;
  /// The same devices and paths (not: node, source, lines).
  [[nodiscard]] bool same_matrix(const Topology& other) const;
};

/// Typed edges with stable ids, one object, no trailing newline. Schema "shunt.topology/1".
[[nodiscard]] std::string to_json(const Topology& topology);

}  // namespace shunt::cluster
