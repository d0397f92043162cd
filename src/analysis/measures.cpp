// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/measures.hpp"

#include <algorithm>

namespace shunt::analysis {

const PhaseMeasure* OperationMeasure::find(record::Phase phase) const {
  const auto it = std::ranges::find(phases, phase, &PhaseMeasure::phase);
  return it == phases.end() ? nullptr : &*it;
}

const OperationMeasure* Measures::find(record::Phase kind) const {
  const auto it = std::ranges::find(operations, kind, &OperationMeasure::kind);
  return it == operations.end() ? nullptr : &*it;
}

const std::vector<record::Phase>& phases_of(record::Phase operation) {
  using record::Phase;
  static const std::vector<Phase> kDispatchPhases{Phase::kCountExchange,
                                                  Phase::kCopyToStaging,
                                                  Phase::kDispatchInterNodeSend,
                                                  Phase::kDispatchInterNodeRecv,
                                                  Phase::kDispatchIntra,
                                                  Phase::kDispatchSync,
                                                  Phase::kDispatchOutputCopy};
  static const std::vector<Phase> kCombinePhases{Phase::kCombineSync,
                                                 Phase::kCombineSyncBarrier,
                                                 Phase::kCombineInterNode,
                                                 Phase::kCombineIntraNode,
                                                 Phase::kCombineAll,
                                                 Phase::kCombineRelease};
  return operation == Phase::kCombine ? kCombinePhases : kDispatchPhases;
}

record::Phase operation_of(record::Phase phase) {
  using record::Phase;
  if (phase == Phase::kDispatch || phase == Phase::kCombine) return phase;
  if (std::ranges::count(phases_of(Phase::kDispatch), phase) != 0) return Phase::kDispatch;
  if (std::ranges::count(phases_of(Phase::kCombine), phase) != 0) return Phase::kCombine;
  return Phase::kNone;
}

}  // namespace shunt::analysis
