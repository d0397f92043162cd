// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "base/fd.hpp"
#include "bootstrap/launch.hpp"

namespace shunt::bootstrap {

/// The life of a rank in its forked process, to be called there right after fork(). `hub` is the
/// socket to `parent`. Never returns.
[[noreturn]] void run_local_rank(int rank,
                                 pid_t parent,
                                 UniqueFd hub,
                                 const LaunchOptions& options,
                                 const ProcessFunction& rank_main);

}  // namespace shunt::bootstrap
