// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/near_cpus.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace shunt::cluster {
namespace {

Unexpected unknown(std::string text) {
  return fail(ErrorCode::kUnsupported, ErrorScope::kUsage, "{}", text);
}

}  // namespace

Result<Cpus> near_cpus(std::string_view pci, const Cpus& allowed, const std::string& root) {
  // CUDA writes capitals, sysfs does not.
  std::string address(pci);
  for (char& c : address) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::filesystem::path path =
      std::filesystem::path(root) / "sys/bus/pci/devices" / address / "local_cpulist";
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return unknown(fmt::format("{} cannot be read", path.string()));
  const auto local = parse_cpus(line);
  if (!local) {
    return unknown(fmt::format("{}: {}", path.string(), local.error().message));
  }
  Cpus near;
  std::set_intersection(
      local->begin(), local->end(), allowed.begin(), allowed.end(), std::back_inserter(near));
  if (near.size() >= 2) return near;
  return unknown(fmt::format("of CPUs {} near device {} this thread may use {}",
                             local->empty() ? "(none)" : format_cpus(*local),
                             address,
                             near.empty() ? "none" : "one alone"));
}

}  // namespace shunt::cluster
