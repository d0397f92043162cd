// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Making memory known to a provider. in: region → out: registration. Memory of the host by its
// address; memory of a device by a dmabuf where there is one and the library takes it, else by its
// address and the device's number.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "fabric/fabric.hpp"
#include "fabric/ofi.hpp"

namespace shunt::fabric::ofi {

/// How a provider came to know memory.
enum class Way : std::uint8_t { kHostAddress, kDeviceAddress, kDmabuf };

struct Registration {
  Unique<fid_mr> handle;
  Way way = Way::kHostAddress;
};

/// struct fi_mr_dmabuf of libfabric 1.20 and later, for builds against older headers.
struct DmabufRange {
  int fd = -1;
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
  void* base = nullptr;
};

/// What fi_mr_regattr() is asked for. Points into itself: stays where it is.
struct MrRequest {
  MrRequest(const Region& region, Way way, std::uint64_t key);
  MrRequest(const MrRequest&) = delete;
  MrRequest& operator=(const MrRequest&) = delete;

  iovec memory{};
  DmabufRange dmabuf;
  fi_mr_attr attributes{};
  /// fi_mr_attr has grown since 1.17; libraries that know more fields find zeros.
  std::array<std::uint64_t, 16> later_fields{};
  std::uint64_t flags = 0;
};

/// fi_mr_regattr(), replaced in tests.
using RegisterCall =
    std::function<int(fid_domain*, const fi_mr_attr*, std::uint64_t flags, fid_mr**)>;
[[nodiscard]] RegisterCall library_call();

/// True where the library that runs takes dmabufs (1.20 and later).
[[nodiscard]] bool takes_dmabuf();

/// Puts may read the region and peers may write into it. `key` is ignored where the provider
/// chooses its keys. The error says what each way that was tried has come to.
[[nodiscard]] Result<Registration> register_region(fid_domain* domain,
                                                   const Region& region,
                                                   std::uint64_t key,
                                                   const char* provider,
                                                   bool dmabuf_allowed,
                                                   const RegisterCall& call);

}  // namespace shunt::fabric::ofi
