// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The rules on foreign evidence, one function a family; registry.cpp fixes their order, which is
// the order of findings of equal severity.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "verdict/finding.hpp"
#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

using Findings = std::vector<Finding>;

struct Rule {
  std::string_view name;
  void (*judge)(const Situation& situation, Findings& findings);
};

[[nodiscard]] std::span<const Rule> rules();

}  // namespace shunt::verdict::foreign
