// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign.hpp"
#include "verdict/foreign/rules.hpp"

namespace shunt::verdict {
namespace foreign {

std::span<const Rule> rules() {
  return {};
}

}  // namespace foreign

std::vector<Finding> judge_foreign(const logs::Evidence& evidence) {
  const foreign::Situation situation = foreign::make_situation(evidence);
  std::vector<Finding> findings;
  for (const foreign::Rule& rule : foreign::rules()) rule.judge(situation, findings);
  sort_findings(findings);
  return findings;
}

}  // namespace shunt::verdict
