// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Foreign traces from files of any size, in bounded memory. Called from: cli, before a file is
// loaded as text.
#pragma once

#include <string>

#include "logs/evidence.hpp"
#include "trace/chrome/phases.hpp"

namespace shunt::logs {

/// The file starts like a Chrome JSON trace, plain, gzip or zstd ("traceEvents", or an array of
/// events, within its first 64 KiB).
[[nodiscard]] bool looks_like_trace(const std::string& path);

/// Reads it as one and adds a TraceFact; fails if no event can be read.
[[nodiscard]] Status gather_trace(const std::string& path,
                                  const trace::PhaseTable& table,
                                  Evidence& evidence);

/// Another file holds more of the same rank: this one is its cut copy, no rank of its own.
[[nodiscard]] bool is_cut_copy(const Evidence& evidence, const TraceFact& fact);

}  // namespace shunt::logs
