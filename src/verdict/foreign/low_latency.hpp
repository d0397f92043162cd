// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A low-latency log as its rules see it: one file's pairs, phases and halves by rank.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

struct LowLatency {
  int file = 0;
  std::map<int, const logs::Sample*> pair;
  std::map<int, const logs::Sample*> dispatch;
  std::map<int, const logs::Sample*> combine;
  std::map<int, const logs::Sample*> dispatch_halves;
  std::map<int, const logs::Sample*> combine_halves;
  double pair_us = 0;  ///< Mean of the pair's times, 0 if none.
  double pair_bytes = 0;
  double dispatch_us = 0;
  double dispatch_bytes = 0;
  double combine_us = 0;
  double combine_bytes = 0;
  double hidden = 7168;
  double selections = 0;        ///< Per rank, from bytes; 0 if the bytes fit no known row.
  std::optional<double> nodes;  ///< Stated, or from rank numbers beyond one node.
  double per_node = 8;
  int highest_rank = -1;

  [[nodiscard]] double phase_sum() const { return dispatch_us + combine_us; }
  [[nodiscard]] bool has_phases() const { return dispatch_us > 0 && combine_us > 0; }
};

/// nullopt if the file holds no low-latency lines.
[[nodiscard]] std::optional<LowLatency> low_latency_of(const Situation& situation, int file);

/// Times, bytes and workload of `ll` as evidence of `finding`.
void add_low_latency_bytes(const Situation& s, const LowLatency& ll, Finding& finding);

/// One rank that is slower than the others, and iterations that stopped.
void judge_low_latency_ranks(const Situation& s,
                             const LowLatency& ll,
                             std::vector<Finding>& findings);

/// What the wire may carry; only where several nodes are certain. `explained`: another rule has
/// already said why the times are long.
void judge_low_latency_wire(const Situation& s,
                            const LowLatency& ll,
                            bool explained,
                            std::vector<Finding>& findings);

}  // namespace shunt::verdict::foreign
