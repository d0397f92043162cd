// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Owners for libfabric's objects, and its error numbers in words.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/error.hpp"

namespace shunt::fabric::ofi {

/// What this code is written for: 2.x serves it unchanged.
inline constexpr std::uint32_t kApi = FI_VERSION(1, 17);

struct CloseFid {
  template <typename T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <typename T>
using Unique = std::unique_ptr<T, CloseFid>;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using UniqueInfo = std::unique_ptr<fi_info, FreeInfo>;

/// `rc` is what libfabric returned (negative). Its text goes into the message: its numbers above
/// 255 are none of the system's.
template <typename... Args>
[[nodiscard]] Unexpected call_error(std::int64_t rc,
                                    fmt::format_string<Args...> text,
                                    Args&&... args) {
  return fail(ErrorCode::kSystem,
              ErrorScope::kDevice,
              "{}: {}",
              fmt::format(text, std::forward<Args>(args)...),
              fi_strerror(static_cast<int>(-rc)));
}

/// "libfabric 1.17": the one that runs.
[[nodiscard]] inline std::string library_name() {
  return fmt::format("libfabric {}.{}", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
}

}  // namespace shunt::fabric::ofi
