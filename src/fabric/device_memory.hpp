// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a fabric can read and write the memory of a CUDA device itself. in: options, memory →
// out: what the provider answered. Nothing is decided here (engine/staging.hpp does).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/libfabric_fabric.hpp"

namespace shunt::fabric {

/// What libfabric and a provider say of memory of CUDA devices. Plain values.
struct DeviceMemoryAnswers {
  enum class Answer : std::uint8_t {
    kUnknown,  ///< Not asked, or the provider does not know the question.
    kYes,
    kNo,
    kNoCuda,  ///< This build of libfabric has no CUDA, or found no device.
  };

  std::string provider;  ///< As Fabric::provider().
  std::string build;     ///< Of libfabric: "libfabric 1.17".
  std::string nic;       ///< Of several: the one that these answers are of.
  bool offered = false;  ///< The provider has FI_HMEM with all else that is needed. The rest is
                         ///< only asked if so.
  /// Transfers without copies can be demanded (FI_OPT_FI_HMEM_P2P: FI_HMEM_P2P_REQUIRED).
  Answer peer_to_peer = Answer::kUnknown;
  /// It can do without calls of CUDA (FI_OPT_CUDA_API_PERMITTED: false; libfabric 1.18 and later).
  /// A provider that copies through the host needs them.
  Answer without_cuda_calls = Answer::kUnknown;
  std::string refusal;  ///< Why the memory cannot be registered; empty: it can,
  bool dmabuf = false;  ///< by its dmabuf, rather than by its address.
};

/// True if puts from and to it are promised to be carried out by the NIC, without copies.
[[nodiscard]] bool carries_device_memory(const DeviceMemoryAnswers& answers);

/// Opens the provider as create_libfabric() would, asks, and closes it again. Of several NICs, the
/// first that does not carry device memory answers for all. An error only where there is no such
/// provider; its lack of FI_HMEM is an answer.
[[nodiscard]] Result<DeviceMemoryAnswers> ask_about_device_memory(
    const std::vector<std::string>& nics, const LibfabricOptions& options, const Region& memory);

}  // namespace shunt::fabric
