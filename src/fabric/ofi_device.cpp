// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/ofi_device.hpp"

#include <algorithm>
#include <functional>

#include "fabric/ofi_hmem.hpp"
#include "fabric/put_check.hpp"

namespace shunt::fabric::ofi {
namespace {

bool has(const fi_info& info, int mr_mode) {
  return (info.domain_attr->mr_mode & mr_mode) != 0;
}

}  // namespace

Result<Device> Device::open(UniqueInfo info, const LibfabricOptions& options) {
  Device device;
  device.info_ = std::move(info);
  device.device_memory_ = options.device_memory;
  SHUNT_TRY(device.open_domain());
  SHUNT_TRY(device.open_queue(options));
  for (std::int32_t qp = 0; qp < options.qps; ++qp) SHUNT_TRY(device.open_endpoint());
  if ((device.info_->mode & FI_RX_CQ_DATA) != 0 ||
      (device.info_->rx_attr->mode & FI_RX_CQ_DATA) != 0) {
    SHUNT_TRY(device.post_receives(options.arrivals));
  }
  return device;
}

Device::~Device() {
  // Endpoints first, so that nothing arrives in memory that is about to go; but a region bound to
  // an endpoint has to leave before it.
  if (info_ != nullptr && has(*info_, FI_MR_ENDPOINT)) registrations_.clear();
  endpoints_.clear();
  registrations_.clear();
  queue_.reset();
  names_.reset();
  domain_.reset();
  fabric_.reset();
}

Status Device::open_domain() {
  fid_fabric* fabric = nullptr;
  int rc = fi_fabric(info_->fabric_attr, &fabric, nullptr);
  if (rc != 0) return call_error(rc, "provider {}: its fabric cannot be opened", provider());
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  rc = fi_domain(fabric, info_.get(), &domain, nullptr);
  if (rc != 0) {
    return call_error(
        rc, "provider {}: device {} cannot be opened", provider(), info_->domain_attr->name);
  }
  domain_.reset(domain);
  fi_av_attr attributes{};
  attributes.type =
      info_->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info_->domain_attr->av_type;
  fid_av* names = nullptr;
  rc = fi_av_open(domain, &attributes, &names, nullptr);
  if (rc != 0) return call_error(rc, "provider {}: no address table", provider());
  names_.reset(names);
  return {};
}

Status Device::open_queue(const LibfabricOptions& options) {
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.size = options.depth + options.arrivals;
  // Asked for so that fi_cq_sread() keeps its time: shm's other ways of waiting ignore it. With
  // fi_trywait() and poll() it would be of no use: net (1.17) leaves it readable after an event.
  attributes.wait_obj = FI_WAIT_FD;
  fid_cq* queue = nullptr;
  int rc = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  if (rc == 0) {
    // A trial: it ends at most one sleep early.
    can_sleep_ = fi_cq_signal(queue) == 0;
  } else {
    attributes.wait_obj = FI_WAIT_NONE;
    rc = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  }
  if (rc != 0) {
    return call_error(rc,
                      "provider {}: no completion queue of {} entries (depth {} + arrivals {}: "
                      "lower them)",
                      provider(),
                      attributes.size,
                      options.depth,
                      options.arrivals);
  }
  queue_.reset(queue);
  return {};
}

Status Device::open_endpoint() {
  fid_ep* endpoint = nullptr;
  int rc = fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr);
  if (rc != 0) {
    return call_error(rc,
                      "provider {}: endpoint {} cannot be made{}",
                      provider(),
                      endpoints_.size(),
                      rc == -EADDRNOTAVAIL
                          ? " (bind_address must be the address of an interface here: `ip addr`)"
                          : "");
  }
  endpoints_.emplace_back(endpoint);
  if (device_memory_) forbid_copies(endpoint);
  rc = fi_ep_bind(endpoint, &queue_->fid, FI_TRANSMIT | FI_RECV);
  if (rc == 0) rc = fi_ep_bind(endpoint, &names_->fid, 0);
  if (rc == 0) rc = fi_enable(endpoint);
  if (rc != 0) {
    return call_error(rc,
                      "provider {}: endpoint {} cannot be enabled (many providers size queues by "
                      "FI_UNIVERSE_SIZE: try 4)",
                      provider(),
                      endpoints_.size() - 1);
  }
  return {};
}

Status Device::post_receives(std::size_t count) {
  // One slot of a receive queue takes one immediate.
  const std::size_t per_endpoint = std::min(info_->rx_attr->size, count / endpoints_.size() + 1);
  receives_.resize(per_endpoint * endpoints_.size());
  for (std::size_t i = 0; i < receives_.size(); ++i) SHUNT_TRY(post_receive(i));
  return {};
}

Status Device::post_receive(std::size_t index) {
  const std::size_t qp = index % endpoints_.size();
  const ssize_t rc =
      fi_recv(endpoints_[qp].get(), nullptr, 0, nullptr, FI_ADDR_UNSPEC, &receives_[index]);
  if (rc != 0) return call_error(rc, "provider {}: no receive for an immediate", provider());
  return {};
}

bool Device::replenish(void* context) {
  const auto* receive = static_cast<fi_context2*>(context);
  const std::less<const fi_context2*> before;
  if (receives_.empty() || receive == nullptr || before(receive, receives_.data()) ||
      !before(receive, receives_.data() + receives_.size())) {
    return false;
  }
  // A queue that has just given up a slot has room for it again.
  (void)post_receive(static_cast<std::size_t>(receive - receives_.data()));
  return true;
}

Status Device::expose(std::span<const Region> regions) {
  if (!regions_.empty()) return usage_error("fabric {}: expose() was called twice", provider());
  SHUNT_TRY(check_regions(regions, provider()));
  for (const Region& region : regions) {
    if (region.kind != Region::Kind::kHost && !device_memory_) {
      return usage_error("fabric {}: it was not opened for memory of devices", provider());
    }
  }
  regions_.assign(regions.begin(), regions.end());
  const std::size_t times = has(*info_, FI_MR_ENDPOINT) ? endpoints_.size() : 1;
  for (std::size_t qp = 0; qp < times; ++qp) SHUNT_TRY(register_regions(qp));
  for (std::size_t qp = 0; qp < endpoints_.size(); ++qp) {
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      descriptions_.push_back(fi_mr_desc(registration(qp, r).handle.get()));
    }
  }
  return {};
}

const Registration& Device::registration(std::size_t qp, std::size_t region) const {
  const std::size_t index = qp * regions_.size() + region;
  return registrations_[index < registrations_.size() ? index : region];
}

Status Device::register_regions(std::size_t qp) {
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    // Ignored where the provider chooses (FI_MR_PROV_KEY).
    const std::uint64_t wanted_key = qp * regions_.size() + r + 1;
    auto made = register_region(
        domain_.get(), regions_[r], wanted_key, provider(), takes_dmabuf(), library_call());
    if (!made) return Unexpected(std::move(made).error());
    registrations_.push_back(std::move(*made));
    if (!has(*info_, FI_MR_ENDPOINT)) continue;
    fid_mr* handle = registrations_.back().handle.get();
    int rc = fi_mr_bind(handle, &endpoints_[qp]->fid, 0);
    if (rc == 0) rc = fi_mr_enable(handle);
    if (rc != 0) return call_error(rc, "provider {}: region {} cannot be used", provider(), r);
  }
  return {};
}

Result<RankAddress> Device::address() const {
  if (descriptions_.empty())
    return usage_error("fabric {}: call expose() before address()", provider());
  RankAddress address;
  address.provider = provider();
  for (const Region& region : regions_) {
    const auto base = reinterpret_cast<std::uintptr_t>(region.bytes.data());
    address.regions.push_back({region.bytes.size(), has(*info_, FI_MR_VIRT_ADDR) ? base : 0});
  }
  for (std::size_t qp = 0; qp < endpoints_.size(); ++qp) {
    EndpointAddress endpoint;
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      endpoint.keys.push_back(fi_mr_key(registration(qp, r).handle.get()));
    }
    std::size_t length = 0;
    int rc = fi_getname(&endpoints_[qp]->fid, nullptr, &length);
    endpoint.name.resize(length);
    if (rc == -FI_ETOOSMALL || rc == 0) {
      rc = fi_getname(&endpoints_[qp]->fid, endpoint.name.data(), &length);
    }
    if (rc != 0) return call_error(rc, "provider {}: endpoint {} has no name", provider(), qp);
    endpoint.name.resize(length);
    address.endpoints.push_back(std::move(endpoint));
  }
  return address;
}

Result<fi_addr_t> Device::insert(const EndpointAddress& endpoint) {
  fi_addr_t address = FI_ADDR_UNSPEC;
  // Providers read as many bytes as their address format has, whatever the name's size.
  std::vector<std::byte> name(endpoint.name);
  name.resize(std::max<std::size_t>(name.size(), 256));
  const int inserted = fi_av_insert(names_.get(), name.data(), 1, &address, 0, nullptr);
  if (inserted != 1) {
    return call_error(inserted < 0 ? inserted : -FI_EINVAL,
                      "provider {}: the address of a peer is not accepted",
                      provider());
  }
  return address;
}

}  // namespace shunt::fabric::ofi
