// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which span name means which phase: a table, extendable by a file. Pure but for load().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shunt/result.hpp"

namespace shunt::trace {

struct PhaseRule {
  std::string pattern;  ///< Part of a span's name; the whole name if it starts with '='.
  std::string phase;    ///< "dispatch_inter_node_recv", "all_to_all" …
};

class PhaseTable {
 public:
  /// MORI's kernel phases, DeepEP, HybridEP, MORI and NCCL kernels.
  PhaseTable();

  /// Puts the rules of a file before the built-in ones: lines "pattern -> phase", '#' comments.
  [[nodiscard]] Status load(const std::string& path);
  /// The same from text; `name` for messages.
  [[nodiscard]] Status add(const std::string& name, std::string_view text);

  /// Empty if no rule matches.
  [[nodiscard]] std::string_view phase_of(std::string_view span) const;

 private:
  std::vector<PhaseRule> rules_;
};

}  // namespace shunt::trace
