// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A run read back from the Perfetto trace that export_run() wrote of it. in: bytes, whole, cut or
// damaged → out: the run as the trace describes it, and its records on the reference clock. Memory
// is bounded by one packet and the number of rows.
#pragma once

#include <string>
#include <string_view>

#include "profile/recording.hpp"
#include "shunt/result.hpp"
#include "trace/chrome/byte_source.hpp"

namespace shunt::trace {

/// The bytes start like a trace that shunt exported. They stay to be read.
[[nodiscard]] bool is_exported_run(HeadSource& source);

/// Fails only if the trace does not begin with shunt's description of a run. Records after damage
/// are missing and said to be: the ranks they belonged to are not complete, and notes say how many.
/// What a trace does not hold stays at its default: NIC and queue pair of arrivals.
[[nodiscard]] Result<profile::RecordingSummary> read_exported_run(ByteSource& source,
                                                                  const std::string& name,
                                                                  profile::RecordVisitor& visitor);

}  // namespace shunt::trace
