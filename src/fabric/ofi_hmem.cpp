// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "fabric/ofi_hmem.hpp"

#include <string>
#include <utility>

#include "fabric/ofi_discovery.hpp"
#include "fabric/ofi_registration.hpp"

namespace shunt::fabric {
namespace ofi {
namespace {

using Answer = DeviceMemoryAnswers::Answer;

// FI_OPT_CUDA_API_PERMITTED, since 1.18; 1.17's headers lack it. Numbers of options never change.
constexpr int kCudaApiPermitted = FI_OPT_XPU_TRIGGER + 1;
#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
static_assert(kCudaApiPermitted == FI_OPT_CUDA_API_PERMITTED);
#endif

bool knows_cuda_option() {
  return FI_VERSION_GE(fi_version(), FI_VERSION(1, 18));
}

int demand_peer_to_peer(fid_ep* endpoint) {
  int mode = FI_HMEM_P2P_REQUIRED;
  return fi_setopt(&endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &mode, sizeof(mode));
}

int forbid_cuda_calls(fid_ep* endpoint) {
  if (!knows_cuda_option()) return -FI_ENOPROTOOPT;
  bool permitted = false;
  return fi_setopt(
      &endpoint->fid, FI_OPT_ENDPOINT, kCudaApiPermitted, &permitted, sizeof(permitted));
}

/// A provider's objects up to an endpoint that is not enabled. Null where one could not be made.
struct Opened {
  Unique<fid_fabric> fabric;
  Unique<fid_domain> domain;
  Unique<fid_ep> endpoint;
};

Opened open(fi_info& info) {
  Opened opened;
  fid_fabric* fabric = nullptr;
  if (fi_fabric(info.fabric_attr, &fabric, nullptr) != 0) return opened;
  opened.fabric.reset(fabric);
  fid_domain* domain = nullptr;
  if (fi_domain(fabric, &info, &domain, nullptr) != 0) return opened;
  opened.domain.reset(domain);
  fid_ep* endpoint = nullptr;
  if (fi_endpoint(domain, &info, &endpoint, nullptr) == 0) opened.endpoint.reset(endpoint);
  return opened;
}

/// A layered provider answers for its messages, which it may copy; writes it hands on, with the
/// caller's memory, to the provider below. So that one is asked, on an endpoint for messages.
void ask_below(const fi_info& layered, DeviceMemoryAnswers* answers) {
  const UniqueInfo info = discover_below(layered);
  if (info == nullptr) return;
  const Opened opened = open(*info);
  if (opened.endpoint != nullptr) ask_endpoint(opened.endpoint.get(), answers);
}

Result<DeviceMemoryAnswers> ask(LibfabricOptions options, const Region& memory) {
  DeviceMemoryAnswers answers;
  answers.build = library_name();
  options.device_memory = true;
  const auto info = discover(options);
  if (!info) {
    // Nor without it? Then there is nothing to choose.
    options.device_memory = false;
    const auto plain = discover(options);
    if (!plain) return Unexpected(plain.error());
    answers.provider = (*plain)->fabric_attr->prov_name;
    return answers;
  }
  answers.provider = (*info)->fabric_attr->prov_name;
  answers.offered = true;
  const Opened opened = open(**info);
  if (opened.endpoint == nullptr) {
    answers.refusal = "it offers memory of devices, but makes no endpoint for it";
    return answers;
  }
  if (answers.provider.find(';') == std::string::npos) {
    ask_endpoint(opened.endpoint.get(), &answers);
  } else {
    ask_below(**info, &answers);
  }
  const auto made = register_region(
      opened.domain.get(), memory, 1, answers.provider.c_str(), takes_dmabuf(), library_call());
  if (made) {
    answers.dmabuf = made->way == Way::kDmabuf;
  } else {
    answers.refusal = made.error().message;
  }
  return answers;
}

}  // namespace

Answer answer_of(int rc) {
  switch (rc) {
    case 0:
      return Answer::kYes;
    case -FI_EOPNOTSUPP:
      return Answer::kNo;
    case -FI_EINVAL:
      return Answer::kNoCuda;
    default:
      // FI_ENOPROTOOPT and FI_ENOSYS: it does not know the option.
      return Answer::kUnknown;
  }
}

void forbid_copies(fid_ep* endpoint) {
  (void)demand_peer_to_peer(endpoint);
  (void)forbid_cuda_calls(endpoint);
}

void ask_endpoint(fid_ep* endpoint, DeviceMemoryAnswers* answers) {
  answers->peer_to_peer = answer_of(demand_peer_to_peer(endpoint));
  answers->without_cuda_calls = answer_of(forbid_cuda_calls(endpoint));
}

}  // namespace ofi

bool carries_device_memory(const DeviceMemoryAnswers& answers) {
  constexpr auto kYes = DeviceMemoryAnswers::Answer::kYes;
  return answers.offered && answers.refusal.empty() &&
         (answers.peer_to_peer == kYes || answers.without_cuda_calls == kYes);
}

Result<DeviceMemoryAnswers> ask_about_device_memory(const std::vector<std::string>& nics,
                                                    const LibfabricOptions& options,
                                                    const Region& memory) {
  if (nics.empty()) return ofi::ask(options, memory);
  DeviceMemoryAnswers answers;
  for (const std::string& nic : nics) {
    auto asked = ofi::ask(ofi::on_nic(nic, options), memory);
    if (!asked) return asked;
    answers = std::move(*asked);
    answers.nic = nic;
    if (!carries_device_memory(answers)) break;
  }
  return answers;
}

}  // namespace shunt::fabric
