// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The verdict on anybody's logs. in: logs::Evidence → out: findings, worst first. Called from: cli.
// Each rule is a function over a Situation (the evidence and what follows from it arithmetically);
// foreign/registry.cpp lists them. A rule never states more than the evidence gives.
#pragma once

#include <vector>

#include "logs/evidence.hpp"
#include "verdict/finding.hpp"

namespace shunt::verdict {

[[nodiscard]] std::vector<Finding> judge_foreign(const logs::Evidence& evidence);

}  // namespace shunt::verdict
