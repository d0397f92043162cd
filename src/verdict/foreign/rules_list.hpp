// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Every rule function; registry.cpp fixes the order. Each adds findings or nothing.
#pragma once

#include "verdict/foreign/rules.hpp"

namespace shunt::verdict::foreign {

// rules_failure.cpp
void judge_failures(const Situation& situation, Findings& findings);
void judge_device_maps(const Situation& situation, Findings& findings);
// rules_nccl.cpp
void judge_nccl(const Situation& situation, Findings& findings);
// rules_rank_times.cpp
void judge_rank_times(const Situation& situation, Findings& findings);
// rules_claims.cpp
void judge_claims(const Situation& situation, Findings& findings);
// rules_rate.cpp
void judge_rates(const Situation& situation, Findings& findings);
// rules_scale_up.cpp
void judge_exceeds(const Situation& situation, Findings& findings);
void judge_nvlink(const Situation& situation, Findings& findings);
// rules_consistency.cpp
void judge_consistency(const Situation& situation, Findings& findings);
// rules_overhead.cpp
void judge_overhead(const Situation& situation, Findings& findings);
// rules_contrast.cpp
void judge_asymmetry(const Situation& situation, Findings& findings);
void judge_scaling(const Situation& situation, Findings& findings);
void judge_chunks(const Situation& situation, Findings& findings);
// rules_world_steps.cpp
void judge_world_steps(const Situation& situation, Findings& findings);
// rules_posting.cpp
void judge_posting(const Situation& situation, Findings& findings);
// rules_low_latency.cpp
void judge_low_latency(const Situation& situation, Findings& findings);
// rules_elastic.cpp
void judge_elastic(const Situation& situation, Findings& findings);
// rules_units.cpp
void judge_units(const Situation& situation, Findings& findings);
// rules_ledger.cpp
void judge_ledger(const Situation& situation, Findings& findings);
// rules_peers.cpp
void judge_peers(const Situation& situation, Findings& findings);
// rules_rate_matrix.cpp
void judge_rate_matrices(const Situation& situation, Findings& findings);
// rules_calls.cpp
void judge_calls(const Situation& situation, Findings& findings);
// rules_collective.cpp
void judge_collectives(const Situation& situation, Findings& findings);
// rules_same_test.cpp
void judge_same_test(const Situation& situation, Findings& findings);
// rules_wire.cpp
void judge_links(const Situation& situation, Findings& findings);
// rules_tables.cpp
void judge_tables(const Situation& situation, Findings& findings);
// rules_facts.cpp
void judge_facts(const Situation& situation, Findings& findings);
// rules_gpu_links.cpp
void judge_gpu_links(const Situation& situation, Findings& findings);
// rules_nics.cpp
void judge_nics(const Situation& situation, Findings& findings);
// rules_counters.cpp
void judge_counters(const Situation& situation, Findings& findings);
// rules_ports.cpp
void judge_ports(const Situation& situation, Findings& findings);
// rules_nic_lists.cpp
void judge_nic_lists(const Situation& situation, Findings& findings);
// rules_traces.cpp
void judge_traces(const Situation& situation, Findings& findings);
// rules_coverage.cpp
void judge_coverage(const Situation& situation, Findings& findings);
// rules_unrated.cpp
void judge_unrated(const Situation& situation, Findings& findings);

/// One-way NVLink of a GPU by the printed matrices, 0 if they do not say. rules_scale_up.cpp
[[nodiscard]] double nvlink_from_topology(const logs::Evidence& evidence);

}  // namespace shunt::verdict::foreign
