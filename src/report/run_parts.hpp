// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: the parts of an own run's report. run_tables.cpp has the tables,
// run_facts.cpp the bars, the ledger and the configuration.
#pragma once

#include <vector>

#include "analysis/measures.hpp"
#include "profile/run.hpp"
#include "report/report.hpp"

namespace shunt::report {

[[nodiscard]] OperationTime operation_time(const analysis::OperationMeasure& operation);
[[nodiscard]] Table phase_table(const analysis::OperationMeasure& operation);
[[nodiscard]] Table link_table(const analysis::Measures& measures);
/// What each NIC of emulated nodes with several carried; no rows without.
[[nodiscard]] Table nic_table(const analysis::Measures& measures);
[[nodiscard]] Table counter_table(const analysis::Measures& measures);
/// Whether the threads that serve the fabric kept up.
[[nodiscard]] Table progress_table(const std::vector<profile::ProgressThread>& threads);
[[nodiscard]] Table correctness_table(const profile::Correctness& outcome);
[[nodiscard]] std::vector<Bar> bars_of(const profile::RunInfo& run,
                                       const analysis::Measures& measures);
[[nodiscard]] std::vector<Fact> ledger_of(const profile::RunInfo& run);
[[nodiscard]] std::vector<Fact> config_of(const profile::RunInfo& run);

}  // namespace shunt::report
