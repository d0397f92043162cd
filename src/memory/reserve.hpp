// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shunt/result.hpp"

namespace shunt::memory {

/// What this process may still allocate before the kernel starts to kill, and what says so.
struct Available {
  std::uint64_t bytes = 0;
  std::string source;  ///< "MemAvailable of /proc/meminfo", "the memory limit of control group …"
};

/// The tightest of the machine's available memory and the limits of the control groups (version 2)
/// that hold this process. Nothing where neither can be read. `proc` and `cgroups` are the roots of
/// those file systems, replaced in tests.
[[nodiscard]] std::optional<Available> available_memory(
    const std::string& proc = "/proc", const std::string& cgroups = "/sys/fs/cgroup");

/// kOutOfMemory if `bytes` (the sum over `ranks` ranks of this machine) exceed what is available: a
/// limit of a control group is enforced by SIGKILL, not by an error from the allocation.
[[nodiscard]] Status check_available(std::uint64_t bytes_per_rank,
                                     int ranks,
                                     const std::optional<Available>& available);

}  // namespace shunt::memory
