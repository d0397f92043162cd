// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/ofi_discovery.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/ranges.h>

namespace shunt::fabric::ofi {
namespace {

/// In the order in which they are demanded when the question is which one fails.
enum class Need : int {
  kProvider,
  kDatagrams,
  kWrites,
  kImmediate,
  kRegistration,
  kThreading,
  kDeviceMemory,
  kDomain,
  kAddress,
};
/// Every bit but the two old modes, which exclude all others.
constexpr int kAnyRegistration = ~(FI_MR_BASIC | FI_MR_SCALABLE);
constexpr int kNeeds = static_cast<int>(Need::kAddress) + 1;

std::string describe(Need need, const LibfabricOptions& options) {
  switch (need) {
    case Need::kProvider:
      return "it is not there";
    case Need::kDatagrams:
      return "it has no reliable datagram endpoints (FI_EP_RDM)";
    case Need::kWrites:
      return "it has no RMA writes beside messages (FI_RMA, FI_MSG)";
    case Need::kImmediate:
      return "its writes carry no 32-bit completion data (FI_REMOTE_CQ_DATA)";
    case Need::kRegistration:
      return "it asks for a way of registering memory that is not supported here (all but "
             "FI_MR_RAW, FI_MR_MMU_NOTIFY, FI_MR_RMA_EVENT, FI_MR_HMEM, FI_MR_COLLECTIVE are), or "
             "for a mode other than FI_CONTEXT, FI_CONTEXT2, FI_RX_CQ_DATA";
    case Need::kThreading:
      return "it does not serve one thread a domain (FI_THREAD_DOMAIN)";
    case Need::kDeviceMemory:
      return "it has no FI_HMEM: it reaches no memory of devices";
    case Need::kDomain:
      return fmt::format("it has no device '{}'", options.domain);
    case Need::kAddress:
      return fmt::format(
          "no interface of it has the address {} (see `ip addr`, option "
          "bind_address)",
          options.bind_address);
  }
  return "unknown";
}

bool named_by_ip(std::string_view provider) {
  return provider.substr(0, 3) == "tcp" || provider.substr(0, 3) == "net" ||
         provider.substr(0, 3) == "udp" || provider == "sockets";
}

UniqueInfo hints_for(const char* provider, const LibfabricOptions& options, Need last) {
  UniqueInfo hints(fi_allocinfo());
  if (hints == nullptr) return hints;
  const auto demands = [last](Need need) { return need <= last; };
  hints->mode = ~std::uint64_t{0};
  hints->domain_attr->mr_mode = kAnyRegistration;
  if (provider != nullptr) hints->fabric_attr->prov_name = ::strdup(provider);
  if (demands(Need::kDatagrams)) hints->ep_attr->type = FI_EP_RDM;
  if (demands(Need::kWrites)) hints->caps = FI_MSG | FI_RMA;
  if (demands(Need::kImmediate)) hints->domain_attr->cq_data_size = sizeof(std::uint32_t);
  if (demands(Need::kRegistration)) {
    hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  }
  if (demands(Need::kThreading)) {
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    // The progress thread polls anyway; automatic progress would cost a second thread.
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  }
  if (demands(Need::kDeviceMemory) && options.device_memory) {
    hints->caps |= FI_HMEM;
    hints->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  if (demands(Need::kDomain) && !options.domain.empty()) {
    hints->domain_attr->name = ::strdup(options.domain.c_str());
  }
  return hints;
}

UniqueInfo query(const char* provider, const LibfabricOptions& options, Need last) {
  const UniqueInfo hints = hints_for(provider, options, last);
  if (hints == nullptr) return nullptr;
  const bool address = last >= Need::kAddress && !options.bind_address.empty();
  fi_info* found = nullptr;
  const int rc = fi_getinfo(kApi,
                            address ? options.bind_address.c_str() : nullptr,
                            nullptr,
                            address ? FI_SOURCE : 0,
                            hints.get(),
                            &found);
  return UniqueInfo(rc == 0 ? found : nullptr);
}

/// A name that stands for layered providers as well ("tcp" finds "tcp;ofi_rxm") is not enough.
UniqueInfo query_exactly(const std::string& provider, const LibfabricOptions& options, Need last) {
  const UniqueInfo found = query(provider.c_str(), options, last);
  for (const fi_info* info = found.get(); info != nullptr; info = info->next) {
    if (provider != info->fabric_attr->prov_name) continue;
    // Some providers ignore the device that is asked for.
    if (last >= Need::kDomain && !options.domain.empty() &&
        options.domain != info->domain_attr->name) {
      continue;
    }
    return UniqueInfo(fi_dupinfo(info));
  }
  return nullptr;
}

Error explain(const std::vector<std::string>& names, const LibfabricOptions& options) {
  std::string reasons;
  for (const std::string& name : names) {
    int need = 0;
    while (need < kNeeds && query_exactly(name, options, static_cast<Need>(need)) != nullptr) {
      ++need;
    }
    // A second name that is not there either adds nothing.
    if (need == 0 && !reasons.empty()) continue;
    reasons += fmt::format("{}{}: {}",
                           reasons.empty() ? "" : "; ",
                           name,
                           need == kNeeds ? "it is there after all: try again"
                                          : describe(static_cast<Need>(need), options));
  }
  const std::vector<std::string> usable = usable_providers();
  const char* filter = std::getenv("FI_PROVIDER");
  return Error{
      ErrorCode::kUnsupported,
      ErrorScope::kUsage,
      fmt::format("no provider of {} can be used as asked ({}). Providers here that can "
                  "carry puts: {}{}",
                  library_name(),
                  reasons,
                  usable.empty() ? "none" : fmt::format("{}", fmt::join(usable, ", ")),
                  filter == nullptr
                      ? std::string()
                      : fmt::format(" (FI_PROVIDER is set to '{}' and hides others)", filter)),
      0};
}

}  // namespace

std::vector<std::string> candidates(std::string_view name) {
  if (name.empty() || name == "tcp") return {"tcp", "net"};
  if (name == "net") return {"net", "tcp"};
  const std::string given(name);
  if (name.find(';') != std::string_view::npos) return {given};
  return {given, given + ";ofi_rxm"};
}

std::vector<std::string> usable_providers() {
  std::vector<std::string> names;
  const UniqueInfo found = query(nullptr, LibfabricOptions{}, Need::kThreading);
  for (const fi_info* info = found.get(); info != nullptr; info = info->next) {
    names.emplace_back(info->fabric_attr->prov_name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

UniqueInfo discover_below(const fi_info& layered) {
  const std::string name = layered.fabric_attr->prov_name;
  const std::string core = name.substr(0, name.find(';'));
  const UniqueInfo hints(fi_allocinfo());
  if (hints == nullptr) return nullptr;
  hints->mode = ~std::uint64_t{0};
  hints->caps = FI_MSG | FI_RMA | FI_HMEM;
  hints->ep_attr->type = FI_EP_MSG;
  hints->domain_attr->mr_mode = kAnyRegistration;
  hints->domain_attr->name = ::strdup(layered.domain_attr->name);
  hints->fabric_attr->prov_name = ::strdup(core.c_str());
  fi_info* found = nullptr;
  const int rc = fi_getinfo(kApi, nullptr, nullptr, 0, hints.get(), &found);
  return UniqueInfo(rc == 0 ? found : nullptr);
}

LibfabricOptions on_nic(const std::string& nic, LibfabricOptions options) {
  in6_addr room{};
  const bool address = ::inet_pton(AF_INET, nic.c_str(), &room) == 1 ||
                       ::inet_pton(AF_INET6, nic.c_str(), &room) == 1;
  options.domain = address ? "" : nic;
  options.bind_address = address ? nic : "";
  return options;
}

Result<UniqueInfo> discover(const LibfabricOptions& options) {
  const std::vector<std::string> names = candidates(options.provider);
  LibfabricOptions chosen = options;
  if (chosen.bind_address.empty() && chosen.domain.empty() && named_by_ip(names.front())) {
    chosen.bind_address = "127.0.0.1";
  }
  for (const std::string& name : names) {
    UniqueInfo info = query_exactly(name, chosen, Need::kAddress);
    if (info == nullptr) continue;
    if (info->domain_attr->mr_key_size > sizeof(std::uint64_t)) {
      return fail(ErrorCode::kUnsupported,
                  ErrorScope::kUsage,
                  "provider {}: its memory keys have {} bytes; 8 are supported",
                  name,
                  info->domain_attr->mr_key_size);
    }
    return info;
  }
  return Unexpected(explain(names, chosen));
}

}  // namespace shunt::fabric::ofi
