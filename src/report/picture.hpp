// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A timeline as a picture: rows = rank × phase group, the links beneath. One drawing for SVG and
// PNG. Solid: blocks work; pale: they wait.
#pragma once

#include <string>

#include "analysis/timeline.hpp"
#include "shunt/result.hpp"

namespace shunt::report {

struct PictureText {
  std::string title;
  std::string headline;
};

/// Writes `path`, whose ending decides: .svg or .png. 1200 px wide; PNG at twice the resolution.
[[nodiscard]] Status draw_timeline(const analysis::Timeline& timeline,
                                   const PictureText& text,
                                   const std::string& path);

/// The drawing without its titles as an SVG element for a page: colours are the page's variables
/// (--ink, --muted, --blue …), so that they follow its light and dark side.
[[nodiscard]] Result<std::string> inline_timeline(const analysis::Timeline& timeline);

}  // namespace shunt::report
