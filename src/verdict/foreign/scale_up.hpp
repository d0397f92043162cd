// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The scale-up side (NVLink, xGMI) of a run: what it can carry and what was printed.
#pragma once

#include <string>
#include <vector>

#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

struct NvlLimit {
  double usable = 0;
  double rating = 0;
  std::string name;
  bool known = false;
};

/// What the scale-up link carries: from a named GPU, else from the matrix, else unknown.
[[nodiscard]] NvlLimit nvl_limit(const Situation& s, int file);

/// The highest printed scale-up rate; 0 if none.
[[nodiscard]] double largest_nvl(const std::vector<const Op*>& ops);

}  // namespace shunt::verdict::foreign
