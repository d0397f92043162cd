// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the slots of chunks lie: device and fabric are asked, memory is taken, the choice is kept.
#include <utility>

#include "base/log.hpp"
#include "engine/cuda/buffer.hpp"
#include "engine/setup.hpp"
#include "memory/cuda/rdma.hpp"

namespace shunt::engine::cuda {

using memory::cuda::DeviceMemory;

namespace {

/// What NICs, descriptors and the device's page tables take whole.
constexpr std::size_t kLargePage = std::size_t{2} << 20;

}  // namespace

Status Buffer::place_slots() {
  if (context_.rank.peers() == 0) return {};
  auto facts = hooks_.staging == Staging::kHost ? StagingFacts{} : ask_about_staging();
  if (!facts) return Unexpected(std::move(facts).error());
  auto choice = choose_staging(hooks_.staging, *facts);
  if (!choice) return Unexpected(std::move(choice).error());
  choice_ = std::move(*choice);
  staging_ = choice_.text();
  if (choice_.device) return {};
  slots_dmabuf_ = {};
  slots_ = {};
  return {};
}

Result<StagingFacts> Buffer::ask_about_staging() {
  StagingFacts facts;
  auto rdma = memory::cuda::device_rdma();
  if (!rdma) return Unexpected(std::move(rdma).error());
  facts.device = *rdma;
  const bool asked = !hooks_.make_fabric || hooks_.answers;
  if (!device_obstacle(facts.device).empty() || !asked) return facts;
  const memory::Layout& layout = context_.rank.layout;
  auto slots =
      DeviceMemory::create(memory::align_up(layout.fabric_end - layout.slots_begin, kLargePage));
  if (!slots) {
    (void)cudaGetLastError();
    facts.no_memory = slots.error().message;
    return facts;
  }
  slots_ = std::move(*slots);
  if (facts.device.dmabuf) {
    auto descriptor = memory::cuda::export_dmabuf(slots_.data(), slots_.bytes());
    if (descriptor) {
      slots_dmabuf_ = std::move(*descriptor);
    } else {
      SHUNT_LOG_DEBUG("rank {} staging: {}", rank(), descriptor.error().to_string());
    }
  }
  if (hooks_.answers) {
    facts.fabric = hooks_.answers;
    return facts;
  }
  auto answers = fabric::ask_about_device_memory(options_.nics,
                                                 libfabric_options(options_, context_.rank.peers()),
                                                 slot_region(facts.device.device));
  if (!answers) return Unexpected(std::move(answers).error());
  facts.fabric = std::move(*answers);
  return facts;
}

fabric::Region Buffer::slot_region(int device) const {
  return {{slots_.data(), slots_.bytes()},
          fabric::Region::Kind::kCudaDevice,
          device,
          slots_dmabuf_.get()};
}

Result<std::vector<fabric::Region>> Buffer::regions() const {
  const memory::Layout& layout = host_view_.layout;
  std::byte* begin = host_view_.fabric + layout.fabric_begin;
  if (!choice_.device)
    return std::vector<fabric::Region>{{{begin, layout.fabric_end - layout.fabric_begin}}};
  int device = 0;
  SHUNT_TRY(memory::cuda::check(cudaGetDevice(&device), "asking for the current device"));
  return std::vector<fabric::Region>{{{begin, layout.slots_begin - layout.fabric_begin}},
                                     slot_region(device)};
}

}  // namespace shunt::engine::cuda
