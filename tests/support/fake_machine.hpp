// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A tree of files that stands for a machine's sysfs.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temporary_directory.hpp"

namespace shunt::testing {

class FakeMachine {
 public:
  FakeMachine() {
    std::filesystem::create_directories(root_ / "sys/bus/pci/devices");
    std::filesystem::create_directories(root_ / "sys/class/infiniband");
  }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  /// A PCI function below `bridges` ("pci0000:10/0000:10:01.0/0000:11:00.0").
  void pci(const std::string& bridges,
           const std::string& bdf,
           const std::string& vendor,
           const std::string& type,
           int numa) const {
    const std::string path = "sys/devices/" + bridges + "/" + bdf;
    write(path + "/vendor", vendor);
    write(path + "/class", type);
    write(path + "/numa_node", std::to_string(numa));
    write(path + "/local_cpulist", "0-7");
    std::filesystem::create_symlink(root_ / path, root_ / "sys/bus/pci/devices" / bdf);
  }
  void gpu(const std::string& bridges, const std::string& bdf, int numa) const {
    pci(bridges, bdf, "0x10de", "0x030200", numa);
  }
  void nic(const std::string& bridges,
           const std::string& bdf,
           const std::string& name,
           int numa,
           const std::string& state) const {
    pci(bridges, bdf, "0x15b3", "0x020700", numa);
    const std::string device = "sys/class/infiniband/" + name;
    write(device + "/ports/1/state", state);
    write(device + "/ports/1/rate", "400 Gb/sec (4X NDR)");
    write(device + "/ports/1/link_layer", "InfiniBand");
    std::filesystem::create_symlink(root_ / "sys/devices" / bridges / bdf,
                                    root_ / device / "device");
    std::filesystem::create_directories(root_ / "sys/devices" / bridges / bdf / "net" /
                                        ("net_" + name));
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  TemporaryDirectory folder_;
  std::filesystem::path root_ = folder_.path();
};

}  // namespace shunt::testing
