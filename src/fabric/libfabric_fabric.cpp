// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric_fabric.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "base/fd.hpp"
#include "fabric/ofi_device.hpp"
#include "fabric/ofi_discovery.hpp"
#include "fabric/ofi_engine.hpp"
#include "fabric/striped_fabric.hpp"

namespace shunt::fabric {
Result<std::unique_ptr<Fabric>> create_libfabric(const LibfabricOptions& options) {
  if (options.qps < 1 || options.depth < 1 || options.depth >= ofi::kNone || options.arrivals < 1) {
    return usage_error(
        "fabric: qps {}, depth {} and arrivals {} must be at least 1, depth below 2^32 - 1",
        options.qps,
        options.depth,
        options.arrivals);
  }
  auto info = ofi::discover(options);
  if (!info) return Unexpected(std::move(info).error());
  auto device = ofi::Device::open(std::move(*info), options);
  if (!device) return Unexpected(std::move(device).error());
  UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.valid()) return system_error(errno, "fabric: no eventfd for wake()");
  return std::unique_ptr<Fabric>(
      std::make_unique<ofi::Engine>(std::move(*device), std::move(bell), options));
}

Result<std::unique_ptr<Fabric>> create_libfabric_on(const std::vector<std::string>& nics,
                                                    const LibfabricOptions& options) {
  const int count = static_cast<int>(nics.size());
  if (options.qps < count) {
    return usage_error(
        "fabric: {} NICs need as many queue pairs or more; qps is {}", count, options.qps);
  }
  std::vector<std::unique_ptr<Fabric>> opened;
  for (int k = 0; k < count; ++k) {
    const std::string& nic = nics[static_cast<std::size_t>(k)];
    LibfabricOptions own = ofi::on_nic(nic, options);
    own.qps = qps_of_nic(options.qps, count, k);
    auto fabric = create_libfabric(own);
    if (!fabric) {
      Error error = std::move(fabric).error();
      error.message = fmt::format("NIC '{}': {}", nic, error.message);
      return Unexpected(std::move(error));
    }
    opened.push_back(std::move(*fabric));
  }
  return stripe(std::move(opened), options.qps);
}

}  // namespace shunt::fabric
