// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/discovery.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"

namespace shunt::cluster {
namespace {

namespace fs = std::filesystem;

/// First line of a small file, "" if it cannot be read.
std::string read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
  return line;
}

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string resolved(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? std::string() : real.string();
}

struct Found {
  Device device;
  std::string path;  ///< Resolved, of its PCI function; "" if it has none (virtual device).
};

void fill_pci(const std::string& path, Device& device) {
  const std::string numa = read_line(fs::path(path) / "numa_node");
  device.numa = numa == "-1" ? "" : numa;
  device.cpus = read_line(fs::path(path) / "local_cpulist");
  device.bdf = fs::path(path).filename().string();
}

/// Display and accelerator functions of the two vendors; a server's VGA chip is of neither.
bool is_gpu(const fs::path& pci) {
  const std::string vendor = read_line(pci / "vendor");
  const std::string type = read_line(pci / "class");
  const bool known = vendor == "0x10de" || vendor == "0x1002";
  return known && (type.substr(0, 4) == "0x03" || type.substr(0, 4) == "0x12");
}

std::vector<Found> find_gpus(const fs::path& sys) {
  std::vector<Found> gpus;
  for (const fs::path& pci : entries(sys / "bus/pci/devices")) {
    if (!is_gpu(pci)) continue;
    Found gpu;
    gpu.path = resolved(pci);
    gpu.device.kind = DeviceKind::kGpu;
    gpu.device.index = static_cast<int>(gpus.size());
    gpu.device.label = fmt::format("GPU{}", gpu.device.index);
    fill_pci(gpu.path, gpu.device);
    gpu.device.bdf = pci.filename().string();
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

/// "4: ACTIVE" → "ACTIVE".
std::string after_colon(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

void fill_port(const fs::path& port, Device& device) {
  device.state = after_colon(read_line(port / "state"));
  device.link_type = read_line(port / "link_layer");
  const std::string rate = read_line(port / "rate");  // "400 Gb/sec (4X NDR)"
  const double gbit = std::strtod(rate.c_str(), nullptr);
  if (gbit > 0 && rate.find("Gb/sec") != std::string::npos) {
    device.rating_bytes_per_s = gbit * 1e9 / 8;
  }
}

/// mlx5_2 before mlx5_10: as people and NIC lists count.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto number = [&digit](const std::string& text, std::size_t& at) {
      unsigned long long value = 0;
      while (at < text.size() && digit(text[at])) {
        value = value * 10 + static_cast<unsigned long long>(text[at++] - '0');
      }
      return value;
    };
    const auto x = number(a, i);
    const auto y = number(b, j);
    if (x != y) return x < y;
  }
  return a.size() - i < b.size() - j;
}

std::vector<Found> find_nics(const fs::path& sys) {
  std::vector<fs::path> devices = entries(sys / "class/infiniband");
  std::sort(devices.begin(), devices.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  std::vector<Found> nics;
  for (const fs::path& entry : devices) {
    Found nic;
    nic.path = resolved(entry / "device");
    nic.device.kind = DeviceKind::kNic;
    nic.device.index = static_cast<int>(nics.size());
    nic.device.label = fmt::format("NIC{}", nics.size());
    nic.device.name = entry.filename().string();
    if (!nic.path.empty()) {
      fill_pci(nic.path, nic.device);
      const auto nets = entries(fs::path(nic.path) / "net");
      if (!nets.empty()) nic.device.netdev = nets.front().filename().string();
    }
    const auto ports = entries(entry / "ports");
    if (!ports.empty()) fill_port(ports.front(), nic.device);
    nics.push_back(std::move(nic));
  }
  return nics;
}

std::map<std::string, std::string> properties(const fs::path& file) {
  std::map<std::string, std::string> found;
  std::ifstream stream(file);
  std::string key;
  std::string value;
  while (stream >> key >> value) found[key] = value;
  return found;
}

unsigned long number_of(const std::map<std::string, std::string>& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : std::strtoul(found->second.c_str(), nullptr, 10);
}

/// PCI address of a kfd node; empty for CPUs.
std::string kfd_bdf(const std::map<std::string, std::string>& node) {
  if (number_of(node, "simd_count") == 0) return {};
  const unsigned long location = number_of(node, "location_id");
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}",
                     number_of(node, "domain"),
                     location >> 8 & 0xff,
                     location >> 3 & 0x1f,
                     location & 7);
}

constexpr unsigned long kKfdLinkXgmi = 11;  // HSA_IOLINKTYPE_XGMI of the kernel's kfd interface

void add_xgmi(const fs::path& sys, Topology& topology) {
  std::map<std::string, std::string> bdf_of_node;
  const auto nodes = entries(sys / "class/kfd/kfd/topology/nodes");
  for (const fs::path& node : nodes) {
    bdf_of_node[node.filename().string()] = kfd_bdf(properties(node / "properties"));
  }
  const auto gpu_at = [&topology](const std::string& bdf) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < topology.devices.size() && !bdf.empty(); ++i) {
      if (topology.devices[i].bdf == bdf) return i;
    }
    return std::nullopt;
  };
  for (const fs::path& node : nodes) {
    for (const fs::path& link : entries(node / "io_links")) {
      const auto values = properties(link / "properties");
      if (number_of(values, "type") != kKfdLinkXgmi) continue;
      const auto from = gpu_at(bdf_of_node[std::to_string(number_of(values, "node_from"))]);
      const auto to = gpu_at(bdf_of_node[std::to_string(number_of(values, "node_to"))]);
      if (!from || !to) continue;
      Path& cell = topology.cell(*from, *to);
      cell.kind = PathKind::kXgmi;
      cell.weight = static_cast<int>(number_of(values, "weight"));
    }
  }
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

PathKind pci_path(const std::string& a, const std::string& b, bool same_numa) {
  const auto bridges = [](const std::string& path) {
    std::vector<std::string> parts;
    for (const fs::path& part : fs::path(path)) {
      const std::string text = part.string();
      const bool host_bridge = text.substr(0, 3) == "pci" && text.find(':') != std::string::npos;
      if (host_bridge) parts.clear();
      if (host_bridge || !parts.empty()) parts.push_back(text);
    }
    return parts;
  };
  const auto one = bridges(a);
  const auto two = bridges(b);
  if (one.empty() || two.empty()) return PathKind::kUnknown;
  std::size_t common = 0;
  while (common < one.size() && common < two.size() && one[common] == two[common]) ++common;
  if (common == one.size() && common == two.size()) return PathKind::kPix;
  if (common == 0) return same_numa ? PathKind::kNode : PathKind::kSys;
  const std::string& x = one[std::min(common, one.size() - 1)];
  const std::string& y = two[std::min(common, two.size() - 1)];
  // Functions of one card differ behind the dot only.
  if (common + 1 == one.size() && common + 1 == two.size() &&
      x.substr(0, x.rfind('.')) == y.substr(0, y.rfind('.'))) {
    return PathKind::kPix;
  }
  if (common == 1) return PathKind::kPhb;
  // Below a switch's upstream port each device has its own downstream port: one bridge in all.
  const std::size_t apart = std::max(one.size(), two.size()) - common;
  return apart <= 2 ? PathKind::kPix : PathKind::kPxb;
}

Result<Topology> discover(const DiscoveryOptions& options) {
  const fs::path sys = fs::path(options.root) / "sys";
  std::error_code error;
  if (!fs::is_directory(sys / "bus", error) && !fs::is_directory(sys / "class", error)) {
    return fail(ErrorCode::kUnsupported,
                ErrorScope::kUsage,
                "no sysfs under '{}': neither sys/bus nor sys/class is a directory",
                options.root);
  }
  std::vector<Found> found = find_gpus(sys);
  for (Found& nic : find_nics(sys)) found.push_back(std::move(nic));
  Topology topology;
  topology.source = "sysfs";
  const bool own = options.root == "/";
  topology.node = own ? host_name() : "";
  for (const Found& each : found) topology.add(each.device);
  for (std::size_t a = 0; a < found.size(); ++a) {
    for (std::size_t b = 0; b < found.size(); ++b) {
      if (a == b) continue;
      const bool same_numa = found[a].device.numa == found[b].device.numa;
      topology.cell(a, b).kind = pci_path(found[a].path, found[b].path, same_numa);
    }
  }
  add_xgmi(sys, topology);
  const bool nvidia = std::any_of(found.begin(), found.end(), [](const Found& each) {
    return each.device.kind == DeviceKind::kGpu &&
           read_line(fs::path(each.path) / "vendor") == "0x10de";
  });
  if (nvidia && own && options.nvml) {
    add_nvlinks(topology);
  } else if (nvidia) {
    topology.pcie_view = true;
    topology.gaps.emplace_back("NVLinks not asked for: PCIe paths only");
  }
  return topology;
}

}  // namespace shunt::cluster
