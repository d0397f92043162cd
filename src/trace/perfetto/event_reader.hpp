// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Perfetto traces of any producer: track events and GPU render stages as Chrome's events, so that
// one collector serves both formats. in: bytes → out: one call a finished span, in file order, in
// bounded memory. shunt's own exports say more: perfetto_reader.hpp.
#pragma once

#include <string_view>

#include "shunt/result.hpp"
#include "trace/chrome/chrome_reader.hpp"

namespace shunt::trace {

/// `head` (4 KiB are enough) begins with packets of a Perfetto trace.
[[nodiscard]] bool looks_like_perfetto(std::string_view head);

/// Spans come as 'X' once both ends are read; a begin without end as 'B', an end without begin as
/// 'E'. Fails only if no event could be read; what was complete before damage counts.
[[nodiscard]] Result<ChromeSummary> read_perfetto(ByteSource& source, ChromeVisitor& visitor);

}  // namespace shunt::trace
