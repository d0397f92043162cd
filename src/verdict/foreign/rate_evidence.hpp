// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The figures behind a verdict on printed rates. Used by rules_rate.cpp only.
#pragma once

#include <vector>

#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

/// What more blocks or half the bytes changed, the bytes behind each rate, how the nodes are known,
/// and published figures of the same paste.
void add_rate_evidence(const Situation& s,
                       int file,
                       const std::vector<const Op*>& ops,
                       Finding& finding);

}  // namespace shunt::verdict::foreign
