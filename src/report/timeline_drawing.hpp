// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: the one drawing of a timeline, whatever it is drawn on.
#pragma once

#include "analysis/timeline.hpp"
#include "report/canvas.hpp"
#include "report/picture.hpp"

namespace shunt::report {

inline constexpr double kTimelineWidth = 1200;

[[nodiscard]] double timeline_height(const analysis::Timeline& timeline, const PictureText& text);

/// REQUIRES: a canvas of kTimelineWidth by timeline_height().
void draw_timeline_on(Canvas& canvas, const analysis::Timeline& timeline, const PictureText& text);

}  // namespace shunt::report
