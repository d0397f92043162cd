// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/staging.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"

namespace shunt::engine {
namespace {

using Answer = fabric::DeviceMemoryAnswers::Answer;
using Ordering = memory::DeviceRdma::Ordering;

std::string name_of(const fabric::DeviceMemoryAnswers& fabric) {
  return fabric.nic.empty() ? fmt::format("provider {}", fabric.provider)
                            : fmt::format("provider {} on NIC {}", fabric.provider, fabric.nic);
}

/// Why the fabric cannot; empty: it can, perhaps by copies.
std::string fabric_obstacle(const fabric::DeviceMemoryAnswers& fabric) {
  const std::string who = name_of(fabric);
  if (!fabric.offered) return fmt::format("{} has no FI_HMEM for CUDA", who);
  if (fabric.without_cuda_calls == Answer::kNoCuda) {
    return fmt::format("{} was built without CUDA", fabric.build);
  }
  if (fabric.without_cuda_calls == Answer::kNo && fabric.peer_to_peer != Answer::kYes) {
    // Its copies would wait for the kernel that waits for them.
    return fmt::format("{} moves device memory by calls of CUDA", who);
  }
  if (fabric.peer_to_peer == Answer::kNo && fabric.without_cuda_calls != Answer::kYes) {
    return fmt::format("{} does not reach device memory from peer to peer", who);
  }
  return fabric.refusal;
}

/// Why it may be a mistake; empty: it is promised to work.
std::string doubt(const StagingFacts& facts) {
  if (facts.device.coherent_link) {
    return fmt::format(
        "device {} shares page tables with the host: nothing says that a NIC's data reach it "
        "before "
        "their notes reach the host",
        facts.device.device);
  }
  if (!fabric::carries_device_memory(*facts.fabric)) {
    return fmt::format("{} of {} does not say whether it copies device memory",
                       name_of(*facts.fabric),
                       facts.fabric->build);
  }
  return "";
}

std::string obstacle(const StagingFacts& facts) {
  std::string device = device_obstacle(facts.device);
  if (!device.empty()) return device;
  if (!facts.no_memory.empty()) return facts.no_memory;
  if (!facts.fabric) return "the fabric is not plain libfabric";
  return fabric_obstacle(*facts.fabric);
}

StagingChoice on_device(const StagingFacts& facts, const std::string& doubt) {
  StagingChoice choice;
  choice.device = true;
  choice.flush = facts.device.ordering == Ordering::kNobody;
  choice.reason =
      fmt::format("{} reaches it by {}{}; writes {}{}{}",
                  name_of(*facts.fabric),
                  facts.fabric->dmabuf ? "dmabuf" : "address",
                  doubt.empty() ? " without copies" : "",
                  choice.flush ? "are flushed by the host" : "are in order for the device",
                  doubt.empty() ? "" : "; as asked, although ",
                  doubt);
  return choice;
}

}  // namespace

std::string StagingChoice::text() const {
  return fmt::format("{} ({})", device ? "device memory" : "pinned host memory", reason);
}

std::string device_obstacle(const memory::DeviceRdma& device) {
  if (!device.peer_memory && !device.dmabuf) {
    return fmt::format("device {} has no GPUDirect RDMA", device.device);
  }
  if (device.ordering == Ordering::kNobody && !device.host_flush) {
    return fmt::format("writes of NICs into device {} are in no order and cannot be flushed",
                       device.device);
  }
  return "";
}

Result<StagingChoice> choose_staging(Staging wanted, const StagingFacts& facts) {
  if (wanted == Staging::kHost) return StagingChoice{false, false, "as asked"};
  std::string why = obstacle(facts);
  if (!why.empty() && wanted == Staging::kDevice) {
    return fail(ErrorCode::kUnsupported,
                ErrorScope::kUsage,
                "staging cannot lie in device memory: {}; use staging auto or host",
                why);
  }
  std::string unsure = why.empty() ? doubt(facts) : "";
  if (why.empty() && (unsure.empty() || wanted == Staging::kDevice)) {
    return on_device(facts, unsure);
  }
  return StagingChoice{false, false, why.empty() ? std::move(unsure) : std::move(why)};
}

}  // namespace shunt::engine
