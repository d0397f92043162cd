// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A NIC opened for one rank: domain, one queue, endpoints, registered region. in: fi_info → out:
// endpoints ready to write. No put passes through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/libfabric_fabric.hpp"
#include "fabric/ofi.hpp"
#include "fabric/ofi_address.hpp"
#include "fabric/ofi_registration.hpp"

namespace shunt::fabric::ofi {

/// Owner of all libfabric objects of a rank; one thread. Destruction closes them in the order that
/// providers ask for, and never waits for peers.
class Device {
 public:
  static Result<Device> open(UniqueInfo info, const LibfabricOptions& options);
  Device(Device&&) = default;
  Device& operator=(Device&&) = delete;
  ~Device();

  /// Registers the regions: once. In an own order of keys: that of the regions.
  [[nodiscard]] Status expose(std::span<const Region> regions);
  /// REQUIRES: expose().
  [[nodiscard]] Result<RankAddress> address() const;
  /// Makes an endpoint of a peer known; the result goes into writes.
  [[nodiscard]] Result<fi_addr_t> insert(const EndpointAddress& endpoint);

  [[nodiscard]] fid_cq* queue() const { return queue_.get(); }
  [[nodiscard]] fid_ep* endpoint(std::size_t qp) const { return endpoints_[qp].get(); }
  /// What fi_writemsg wants to know of a local region; null where the provider does not care.
  [[nodiscard]] void* description(std::size_t qp, std::size_t region) const {
    return descriptions_[qp * regions_.size() + region];
  }
  [[nodiscard]] std::span<const Region> regions() const { return regions_; }
  /// True if fi_cq_sread() sleeps, and fi_cq_signal() of another thread ends that.
  [[nodiscard]] bool can_sleep() const { return can_sleep_; }
  [[nodiscard]] const char* provider() const { return info_->fabric_attr->prov_name; }

  /// True if `context` is that of a receive posted for an immediate: it has been posted again.
  [[nodiscard]] bool replenish(void* context);

 private:
  Device() = default;
  Status open_domain();
  Status open_queue(const LibfabricOptions& options);
  Status open_endpoint();
  Status register_regions(std::size_t qp);
  [[nodiscard]] const Registration& registration(std::size_t qp, std::size_t region) const;
  Status post_receives(std::size_t count);
  Status post_receive(std::size_t index);

  UniqueInfo info_;
  Unique<fid_fabric> fabric_;
  Unique<fid_domain> domain_;
  Unique<fid_av> names_;
  Unique<fid_cq> queue_;
  std::vector<Unique<fid_ep>> endpoints_;
  std::vector<Region> regions_;
  /// By region; all of them once, or once an endpoint (FI_MR_ENDPOINT).
  std::vector<Registration> registrations_;
  std::vector<void*> descriptions_;    ///< By endpoint and region.
  std::vector<fi_context2> receives_;  ///< For FI_RX_CQ_DATA: index mod qps is the endpoint.
  bool device_memory_ = false;         ///< FI_HMEM was asked for.
  bool can_sleep_ = false;
};

}  // namespace shunt::fabric::ofi
