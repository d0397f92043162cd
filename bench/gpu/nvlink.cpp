// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvlink.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace shunt::bench::gpu {

std::optional<LinkBytes> read_nvlink(int device) {
  const std::string command = fmt::format("nvidia-smi nvlink -gt d -i {} 2>/dev/null", device);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return std::nullopt;
  LinkBytes total{0, 0};
  bool any = false;
  char line[256];
  while (std::fgets(line, sizeof(line), pipe.get()) != nullptr) {
    for (const auto& [name, sum] :
         {std::pair{"Data Tx:", &total.sent}, std::pair{"Data Rx:", &total.received}}) {
      const char* at = std::strstr(line, name);
      double kib = 0;
      if (at == nullptr || std::sscanf(at + std::strlen(name), "%lf KiB", &kib) != 1) continue;
      *sum += kib * 1024;
      any = true;
    }
  }
  if (!any) return std::nullopt;
  return total;
}

}  // namespace shunt::bench::gpu
