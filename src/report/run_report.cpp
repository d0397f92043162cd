// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/run_report.hpp"

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/run_parts.hpp"

namespace shunt::report {

using analysis::LinkMeasure;
using analysis::Measures;
using analysis::OperationMeasure;

namespace {

void add_notes(const profile::RecordingSummary& recording,
               const Measures& measures,
               Report& report) {
  const auto ranks = [](const std::vector<int>& list) {
    return fmt::format("rank{} {}", list.size() == 1 ? "" : "s", fmt::join(list, ", "));
  };
  if (!measures.missing_ranks.empty()) {
    report.notes.push_back(fmt::format(
        "{} left no records: their phases and what they received are not in the figures",
        ranks(measures.missing_ranks)));
  }
  if (!measures.incomplete_ranks.empty()) {
    report.notes.push_back(fmt::format("{} left a file without its end: killed or cut short",
                                       ranks(measures.incomplete_ranks)));
  }
  if (measures.dropped_records != 0) {
    report.notes.push_back(fmt::format(
        "{} of {} records were dropped because rings were full: phases may be too short, windows "
        "with a lost put or arrival are left out",
        measures.dropped_records,
        measures.records + measures.dropped_records));
  }
  for (const OperationMeasure& operation : measures.operations) {
    for (const LinkMeasure& link : operation.links) {
      if (link.incomplete_iterations == 0) continue;
      report.notes.push_back(
          fmt::format("{} of {}: {} iteration{} left out, for puts without arrival or the reverse",
                      link.name,
                      record::to_string(operation.kind),
                      link.incomplete_iterations,
                      link.incomplete_iterations == 1 ? "" : "s"));
    }
  }
  if (const auto every = recording.run.config.recorded_every) {
    report.notes.push_back(
        fmt::format("one in {} of the {} iterations left records: medians and maxima are of those; "
                    "counters saw all, and are held against the bytes of all",
                    *every,
                    recording.run.config.iters));
  }
  if (recording.run.shape.world > 1) {
    report.notes.push_back(
        measures.clock_residual_ns == 0
            ? std::string("all ranks read the clock of one host: nothing to align")
            : fmt::format("clocks of ranks are aligned to within {}",
                          fact_text(static_cast<double>(measures.clock_residual_ns), Unit::kNs)));
  }
  report.notes.insert(report.notes.end(), measures.notes.begin(), measures.notes.end());
  report.notes.insert(report.notes.end(), recording.notes.begin(), recording.notes.end());
}

std::string title_of(const profile::RunInfo& run) {
  std::string title = fmt::format("shunt{}{}: {} node{} × {} rank{}",
                                  run.tool_version.empty() ? "" : " ",
                                  run.tool_version,
                                  run.shape.nodes,
                                  run.shape.nodes == 1 ? "" : "s",
                                  run.shape.ranks_per_node,
                                  run.shape.ranks_per_node == 1 ? "" : "s");
  if (!run.started.empty()) title += ", run of " + run.started;
  return title;
}

}  // namespace

Report build_report(const profile::RecordingSummary& recording, const Measures& measures) {
  const profile::RunInfo& run = recording.run;
  Report report{.tool_version = run.tool_version, .kind = "run", .title = title_of(run)};
  report.config = config_of(run);
  for (const OperationMeasure& operation : measures.operations) {
    report.operations.push_back(operation_time(operation));
    report.tables.push_back(phase_table(operation));
  }
  if (!report.tables.empty()) {
    report.tables.back().notes.push_back(
        "p50 over ranks and iterations, each column by itself; max: the longest; wait … post: what "
        "a "
        "block did in the phase, which is less than dur where it did other phases between");
  }
  if (Table links = link_table(measures); !links.rows.empty()) {
    report.tables.push_back(std::move(links));
  }
  if (Table nics = nic_table(measures); !nics.rows.empty()) {
    report.tables.push_back(std::move(nics));
  }
  if (!measures.counters.empty()) report.tables.push_back(counter_table(measures));
  if (run.progress && !run.progress->empty())
    report.tables.push_back(progress_table(*run.progress));
  if (run.correctness.checked) report.tables.push_back(correctness_table(run.correctness));
  report.ledger = ledger_of(run);
  report.bars = bars_of(run, measures);
  report.dropped_records = measures.dropped_records;
  add_notes(recording, measures, report);
  verdict::Judgement judgement = verdict::judge(recording, measures);
  report.headline = std::move(judgement.headline);
  report.findings = std::move(judgement.findings);
  report.checked = std::move(judgement.checked);
  report.unchecked = std::move(judgement.unchecked);
  return report;
}

}  // namespace shunt::report
