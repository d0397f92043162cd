// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which CPUs a thread may run on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shunt/result.hpp"

namespace shunt {

/// Numbers of CPUs, ascending, each once.
using Cpus = std::vector<int>;

/// The kernel's list form: "0-3,8,10-11"; "" is none.
[[nodiscard]] Result<Cpus> parse_cpus(std::string_view text);
[[nodiscard]] std::string format_cpus(const Cpus& cpus);

/// Those of the calling thread, which the threads that it starts inherit.
[[nodiscard]] Result<Cpus> allowed_cpus();
/// Keeps the calling thread on `cpus`. REQUIRES: not empty.
[[nodiscard]] Status bind_this_thread(const Cpus& cpus);

}  // namespace shunt
