// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/ofi_registration.hpp"

#include <string>
#include <utility>

#include "base/units.hpp"

namespace shunt::fabric::ofi {
namespace {

constexpr std::uint64_t kAccess = FI_WRITE | FI_REMOTE_WRITE;

// FI_MR_DMABUF, which 1.17's headers lack.
constexpr std::uint64_t kDmabufFlag = std::uint64_t{1} << 40;
#ifdef FI_MR_DMABUF
static_assert(kDmabufFlag == FI_MR_DMABUF);
static_assert(sizeof(DmabufRange) == sizeof(fi_mr_dmabuf));
static_assert(offsetof(DmabufRange, offset) == offsetof(fi_mr_dmabuf, offset));
static_assert(offsetof(DmabufRange, bytes) == offsetof(fi_mr_dmabuf, len));
static_assert(offsetof(DmabufRange, base) == offsetof(fi_mr_dmabuf, base_addr));
#endif
static_assert(offsetof(MrRequest, later_fields) ==
                  offsetof(MrRequest, attributes) + sizeof(fi_mr_attr),
              "libraries with a longer fi_mr_attr read on behind ours");

const char* name_of(Way way) {
  switch (way) {
    case Way::kHostAddress:
      return "by address";
    case Way::kDeviceAddress:
      return "by device address (is nvidia_peermem loaded?)";
    case Way::kDmabuf:
      return "by dmabuf";
  }
  return "unknown";
}

}  // namespace

MrRequest::MrRequest(const Region& region, Way way, std::uint64_t key) {
  memory = {region.bytes.data(), region.bytes.size()};
  attributes.mr_iov = &memory;
  attributes.iov_count = 1;
  attributes.access = kAccess;
  attributes.requested_key = key;
  if (way == Way::kHostAddress) return;
  attributes.iface = FI_HMEM_CUDA;
  attributes.device.cuda = region.device;
  if (way != Way::kDmabuf) return;
  // Offset 0 of the dmabuf is the region's first byte: writes name the same addresses either way.
  dmabuf = {region.dmabuf, 0, region.bytes.size(), region.bytes.data()};
  // mr_iov shares its place with a pointer to this from 1.20 on.
  attributes.mr_iov = reinterpret_cast<const iovec*>(&dmabuf);
  flags = kDmabufFlag;
}

RegisterCall library_call() {
  return [](fid_domain* domain, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** made) {
    return fi_mr_regattr(domain, attributes, flags, made);
  };
}

bool takes_dmabuf() {
  return FI_VERSION_GE(fi_version(), FI_VERSION(1, 20));
}

Result<Registration> register_region(fid_domain* domain,
                                     const Region& region,
                                     std::uint64_t key,
                                     const char* provider,
                                     bool dmabuf_allowed,
                                     const RegisterCall& call) {
  const bool device = region.kind == Region::Kind::kCudaDevice;
  std::array<Way, 2> ways{device ? Way::kDeviceAddress : Way::kHostAddress};
  std::size_t count = 1;
  if (device && dmabuf_allowed && region.dmabuf >= 0) {
    // Needs no kernel module of the device's maker.
    ways = {Way::kDmabuf, Way::kDeviceAddress};
    count = 2;
  }
  std::string tried;
  for (std::size_t i = 0; i < count; ++i) {
    const MrRequest request(region, ways[i], key);
    fid_mr* made = nullptr;
    const int rc = call(domain, &request.attributes, request.flags, &made);
    if (rc == 0) return Registration{Unique<fid_mr>(made), ways[i]};
    tried += fmt::format("{}{}: {}", i == 0 ? "" : ", ", name_of(ways[i]), fi_strerror(-rc));
  }
  return fail(ErrorCode::kSystem,
              ErrorScope::kDevice,
              "provider {}: {} of {} cannot be registered ({}){}",
              provider,
              format_size(region.bytes.size()),
              device ? fmt::format("device {}", region.device) : std::string("host memory"),
              tried,
              device ? "" : "; RDMA NICs need `ulimit -l unlimited`");
}

}  // namespace shunt::fabric::ofi
