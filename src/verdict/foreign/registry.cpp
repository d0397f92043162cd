// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "verdict/foreign.hpp"
#include "verdict/foreign/rules.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict {
namespace foreign {

std::span<const Rule> rules() {
  static constexpr std::array kRules{
      Rule{"failures", judge_failures},
      Rule{"exceeds-link", judge_exceeds},
      Rule{"posting-time", judge_posting},
      Rule{"device maps", judge_device_maps},
      Rule{"nccl transports", judge_nccl},
      Rule{"collectives", judge_collectives},
      Rule{"tables", judge_tables},
      Rule{"low latency", judge_low_latency},
      Rule{"times by rank", judge_rank_times},
      Rule{"scaling", judge_scaling},
      Rule{"rates", judge_rates},
      Rule{"bare facts", judge_facts},
      Rule{"consistency", judge_consistency},
      Rule{"scale-up", judge_nvlink},
      Rule{"asymmetry", judge_asymmetry},
      Rule{"more ranks", judge_world_steps},
      Rule{"overhead", judge_overhead},
      Rule{"calls", judge_calls},
      Rule{"elastic", judge_elastic},
      Rule{"chunks", judge_chunks},
      Rule{"other ways", judge_claims},
      Rule{"one test twice", judge_same_test},
      Rule{"links", judge_links},
      Rule{"gpu links", judge_gpu_links},
      Rule{"nics", judge_nics},
      Rule{"counters", judge_counters},
      Rule{"counters against bytes", judge_ledger},
      Rule{"units", judge_units},
      Rule{"peer access", judge_peers},
      Rule{"copy rates", judge_rate_matrices},
      Rule{"ports", judge_ports},
      Rule{"nic lists", judge_nic_lists},
      Rule{"traces", judge_traces},
      Rule{"coverage", judge_coverage},
      Rule{"unrated", judge_unrated},
  };
  return kRules;
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
