// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Foreign traces as a picture: where they have rounds the typical one, else a stretch of
// communication kernels; ranks whose clocks agree under each other.
#pragma once

#include <string>

#include "logs/evidence.hpp"

namespace shunt::report {

struct TraceTimeline {
  std::string markup;  ///< An SVG element for a page, as inline_timeline(); empty: nothing to draw.
  std::string title;
};

[[nodiscard]] TraceTimeline draw_traces(const logs::Evidence& evidence);

}  // namespace shunt::report
