// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// NVML, loaded at run time with declarations of our own: the machine that builds needs none of it.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "cluster/discovery.hpp"

namespace shunt::cluster {
namespace {

// From NVML's documented ABI: an opaque handle, 0 for success, and this structure.
using NvmlDevice = void*;
struct NvmlPciInfo {
  char legacy_bus_id[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];
};
constexpr unsigned kMaxLinks = 36;
constexpr unsigned kEnabled = 1;
constexpr int kRemoteGpu = 0;

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

/// The functions used; loaded() is false if the library or one of them is missing.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) return;
    load("nvmlInit_v2", init_);
    load("nvmlShutdown", shutdown_);
    load("nvmlDeviceGetHandleByPciBusId_v2", by_bus_id_);
    load("nvmlDeviceGetName", name_);
    load("nvmlDeviceGetUUID", uuid_);
    load("nvmlDeviceGetNvLinkState", link_state_);
    load("nvmlDeviceGetNvLinkRemotePciInfo_v2", remote_pci_);
    load("nvmlDeviceGetNvLinkRemoteDeviceType", remote_type_);
    started_ = complete_ && init_() == 0;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (started_) shutdown_();
  }

  [[nodiscard]] bool loaded() const { return started_; }

  [[nodiscard]] NvmlDevice device(const std::string& bdf) const {
    NvmlDevice handle = nullptr;
    return by_bus_id_(bdf.c_str(), &handle) == 0 ? handle : nullptr;
  }

  [[nodiscard]] std::string name(NvmlDevice device) const {
    std::array<char, 96> text{};
    return name_(device, text.data(), text.size()) == 0 ? text.data() : "";
  }

  [[nodiscard]] std::string uuid(NvmlDevice device) const {
    std::array<char, 96> text{};
    return uuid_(device, text.data(), text.size()) == 0 ? text.data() : "";
  }

  /// PCI addresses at the other end of each active link; "switch" for an NVSwitch.
  [[nodiscard]] std::vector<std::string> links(NvmlDevice device) const {
    std::vector<std::string> remotes;
    for (unsigned link = 0; link < kMaxLinks; ++link) {
      unsigned active = 0;
      if (link_state_(device, link, &active) != 0 || active != kEnabled) continue;
      int type = kRemoteGpu;
      NvmlPciInfo pci{};
      const bool gpu = remote_type_(device, link, &type) == 0 && type == kRemoteGpu &&
                       remote_pci_(device, link, &pci) == 0;
      remotes.push_back(gpu ? fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device)
                            : "switch");
    }
    return remotes;
  }

 private:
  template <typename Function>
  void load(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_.get(), symbol));
    complete_ = complete_ && function != nullptr;
  }

  std::unique_ptr<void, CloseLibrary> library_;
  bool complete_ = true;
  bool started_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*by_bus_id_)(const char*, NvmlDevice*) = nullptr;
  int (*name_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*uuid_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*link_state_)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*remote_pci_)(NvmlDevice, unsigned, NvmlPciInfo*) = nullptr;
  int (*remote_type_)(NvmlDevice, unsigned, int*) = nullptr;
};

int count(const std::vector<std::string>& remotes, const std::string& what) {
  return static_cast<int>(std::count(remotes.begin(), remotes.end(), what));
}

}  // namespace

void add_nvlinks(Topology& topology) {
  const Nvml nvml;
  if (!nvml.loaded()) {
    topology.pcie_view = true;
    topology.gaps.emplace_back("NVML is not available: PCIe paths only, NVLinks unknown");
    return;
  }
  topology.source = "sysfs, NVML";
  const std::vector<std::size_t> gpus = topology.of_kind(DeviceKind::kGpu);
  std::vector<std::vector<std::string>> remotes(topology.devices.size());
  for (const std::size_t gpu : gpus) {
    Device& device = topology.devices[gpu];
    const NvmlDevice handle = nvml.device(device.bdf);
    if (handle == nullptr) {
      topology.gaps.push_back(fmt::format("NVML does not know {} at {}", device.label, device.bdf));
      continue;
    }
    device.name = nvml.name(handle);
    device.uuid = nvml.uuid(handle);
    remotes[gpu] = nvml.links(handle);
  }
  for (const std::size_t a : gpus) {
    for (const std::size_t b : gpus) {
      if (a == b) continue;
      const int direct = count(remotes[a], topology.devices[b].bdf);
      const int switched = std::min(count(remotes[a], "switch"), count(remotes[b], "switch"));
      if (direct + switched > 0) {
        topology.cell(a, b).kind = PathKind::kNvlink;
        topology.cell(a, b).links = direct + switched;
      }
    }
  }
}

}  // namespace shunt::cluster
