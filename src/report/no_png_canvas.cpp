// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands for png_canvas.cpp in a build without cairo.
#include "report/canvas.hpp"

namespace shunt::report {

std::unique_ptr<PngCanvas> PngCanvas::create(double /*width*/, double /*height*/) {
  return nullptr;
}

}  // namespace shunt::report
