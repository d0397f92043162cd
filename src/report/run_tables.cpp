// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "report/cell.hpp"
#include "report/run_parts.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::report {

using analysis::LinkMeasure;
using analysis::Measures;
using analysis::OperationMeasure;
using analysis::PhaseMeasure;
using analysis::Stats;

namespace {

Value whole(double value) {
  return saturating_round<std::int64_t>(value);
}
Value count(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}
Value whole_or_none(const Stats& stats, double Stats::*member) {
  return stats.empty() ? Value{} : whole(stats.*member);
}
Value real_or_none(const Stats& stats, double Stats::*member) {
  return stats.empty() ? Value{} : Value{stats.*member};
}
Value maybe(const std::optional<double>& value) {
  return value ? Value{*value} : Value{};
}
Value optional_count(const std::optional<std::uint64_t>& value) {
  return value ? count(*value) : Value{};
}

}  // namespace

OperationTime operation_time(const OperationMeasure& operation) {
  OperationTime time{.operation = record::to_string(operation.kind)};
  for (const double ns : operation.duration_by_op_ns) time.samples_ns.push_back(std::llround(ns));
  time.min_ns = std::llround(operation.duration_ns.min);
  time.p50_ns = std::llround(operation.duration_ns.p50);
  time.max_ns = std::llround(operation.duration_ns.max);
  return time;
}

Table phase_table(const OperationMeasure& operation) {
  Table table;
  const std::string name = record::to_string(operation.kind);
  table.id = name + "_phases";
  table.title = fmt::format("{}: {} p50, {} max over {} iteration{}",
                            name,
                            fact_text(operation.duration_ns.p50, Unit::kNs),
                            fact_text(operation.duration_ns.max, Unit::kNs),
                            operation.duration_ns.count,
                            operation.duration_ns.count == 1 ? "" : "s");
  table.columns = {{"phase", "phase", Unit::kText},
                   {"start_p50_ns", "start", Unit::kNs},
                   {"end_p50_ns", "end", Unit::kNs},
                   {"dur_p50_ns", "dur", Unit::kNs},
                   {"dur_max_ns", "max", Unit::kNs},
                   {"wait_p50_ns", "wait", Unit::kNs},
                   {"copy_p50_ns", "copy", Unit::kNs},
                   {"reduce_p50_ns", "reduce", Unit::kNs},
                   {"post_p50_ns", "post", Unit::kNs},
                   {"bytes_p50_bytes", "bytes", Unit::kBytes},
                   {"rate_p50_gb_per_s", "rate", Unit::kGbPerS},
                   {"slow_rank", "slow", Unit::kText},
                   {"slowest_rank", "", Unit::kCount},
                   {"blocks_p50", "", Unit::kCount},
                   {"barrier_p50_ns", "", Unit::kNs},
                   {"start_max_ns", "", Unit::kNs},
                   {"end_max_ns", "", Unit::kNs},
                   {"wait_max_ns", "", Unit::kNs},
                   {"samples", "", Unit::kCount}};
  for (const PhaseMeasure& phase : operation.phases) {
    const bool moves = phase.bytes.max > 0;
    // A rank is named only where it stands out: its median a tenth above the phase's.
    std::string slow;
    for (const analysis::RankPhase& rank : phase.by_rank) {
      if (rank.rank == phase.slowest_rank && phase.by_rank.size() > 2 &&
          rank.dur_ns > 1.25 * phase.dur_ns.p50 &&
          rank.dur_ns > verdict::kMaterial * operation.duration_ns.p50) {
        slow = fmt::format("rank {}", rank.rank);
      }
    }
    table.rows.push_back({std::string(record::to_string(phase.phase)),
                          whole(phase.start_ns.p50),
                          whole(phase.end_ns.p50),
                          whole(phase.dur_ns.p50),
                          whole(phase.dur_ns.max),
                          whole(phase.wait_ns.p50),
                          whole(phase.copy_ns.p50),
                          whole(phase.reduce_ns.p50),
                          whole(phase.post_ns.p50),
                          moves ? whole(phase.bytes.p50) : Value{},
                          moves ? real_or_none(phase.bytes_per_ns, &Stats::p50) : Value{},
                          slow.empty() ? Value{std::string()} : Value{slow},
                          static_cast<std::int64_t>(phase.slowest_rank),
                          whole(phase.blocks.p50),
                          whole(phase.barrier_ns.p50),
                          whole(phase.start_ns.max),
                          whole(phase.end_ns.max),
                          whole(phase.wait_ns.max),
                          count(phase.dur_ns.count)});
  }
  return table;
}

Table link_table(const Measures& measures) {
  Table table{.id = "links", .title = "wire windows: first put posted to last arrival, p50"};
  table.columns = {{"operation", "operation", Unit::kText},
                   {"link", "link", Unit::kText},
                   {"bytes_p50_bytes", "bytes", Unit::kBytes},
                   {"window_p50_ns", "window", Unit::kNs},
                   {"rate_p50_gb_per_s", "rate", Unit::kGbPerS},
                   {"utilisation_share", "", Unit::kShare},
                   {"frame_utilisation_share", "frames", Unit::kShare},
                   {"duty_share", "duty", Unit::kShare},
                   {"puts_p50", "puts", Unit::kCount},
                   {"put_mean_bytes", "a put", Unit::kBytes},
                   {"in_flight_mean", "in flight", Unit::kNumber},
                   {"in_flight_max", "", Unit::kCount},
                   {"latency_p50_ns", "latency", Unit::kNs},
                   {"latency_max_ns", "", Unit::kNs},
                   {"window_max_ns", "", Unit::kNs},
                   {"frame_bytes_p50_bytes", "", Unit::kBytes},
                   {"control_bytes", "", Unit::kBytes},
                   {"posting_p50_ns", "", Unit::kNs},
                   {"qps_used", "", Unit::kCount},
                   {"iterations", "", Unit::kCount},
                   {"incomplete_iterations", "", Unit::kCount}};
  for (const OperationMeasure& operation : measures.operations) {
    for (const LinkMeasure& link : operation.links) {
      const bool paired = !link.latency_ns.empty();
      table.rows.push_back({std::string(record::to_string(operation.kind)),
                            link.name,
                            whole_or_none(link.bytes, &Stats::p50),
                            whole_or_none(link.window_ns, &Stats::p50),
                            real_or_none(link.rate, &Stats::p50),
                            maybe(link.utilisation),
                            maybe(link.frame_utilisation),
                            real_or_none(link.duty, &Stats::p50),
                            whole_or_none(link.puts, &Stats::p50),
                            link.puts.empty() ? Value{} : whole(link.put_bytes_mean),
                            paired ? Value{link.in_flight_mean} : Value{},
                            paired ? Value{std::int64_t{link.in_flight_max}} : Value{},
                            whole_or_none(link.latency_ns, &Stats::p50),
                            whole_or_none(link.latency_ns, &Stats::max),
                            whole_or_none(link.window_ns, &Stats::max),
                            whole_or_none(link.frame_bytes, &Stats::p50),
                            count(link.control_bytes),
                            whole_or_none(link.posting_ns, &Stats::p50),
                            static_cast<std::int64_t>(link.qps_used),
                            count(link.window_ns.count),
                            count(link.incomplete_iterations)});
    }
  }
  return table;
}

Table nic_table(const Measures& measures) {
  Table table{.id = "nics", .title = "the NICs of each node, p50"};
  table.columns = {{"operation", "operation", Unit::kText},
                   {"link", "link", Unit::kText},
                   {"nic", "NIC", Unit::kText},
                   {"bytes_p50_bytes", "bytes", Unit::kBytes},
                   {"puts_p50", "puts", Unit::kCount},
                   {"window_p50_ns", "window", Unit::kNs},
                   {"rate_p50_gb_per_s", "rate", Unit::kGbPerS},
                   {"utilisation_share", "utilisation", Unit::kShare}};
  for (const OperationMeasure& operation : measures.operations) {
    for (const LinkMeasure& link : operation.links) {
      for (const analysis::NicMeasure& nic : link.nics) {
        table.rows.push_back({std::string(record::to_string(operation.kind)),
                              link.name,
                              fmt::format("nic{}", nic.nic),
                              whole_or_none(nic.bytes, &Stats::p50),
                              whole_or_none(nic.puts, &Stats::p50),
                              whole_or_none(nic.window_ns, &Stats::p50),
                              real_or_none(nic.rate, &Stats::p50),
                              maybe(nic.utilisation)});
      }
    }
  }
  return table;
}

Table counter_table(const Measures& measures) {
  Table table{.id = "counters", .title = "counters beside the records, all measured iterations"};
  table.columns = {{"link", "link", Unit::kText},
                   {"source", "counter", Unit::kText},
                   {"counter_bytes", "counter", Unit::kBytes},
                   {"record_bytes", "records", Unit::kBytes},
                   {"frame_bytes", "as frames", Unit::kBytes},
                   {"resent_segments", "sent again", Unit::kCount},
                   {"messages", "", Unit::kCount},
                   {"packets", "", Unit::kCount},
                   {"difference_share", "difference", Unit::kShare}};
  for (const analysis::CounterCheck& check : measures.counters) {
    const std::string target =
        check.counter.to_node < 0 ? "others" : fmt::format("node {}", check.counter.to_node);
    table.rows.push_back({fmt::format("node {} → {}", check.counter.from_node, target),
                          check.counter.source,
                          count(check.counter.bytes),
                          count(check.record_bytes),
                          check.frame_bytes ? count(*check.frame_bytes) : Value{},
                          optional_count(check.counter.resent_segments),
                          optional_count(check.counter.messages),
                          count(check.counter.packets),
                          check.ratio ? Value{*check.ratio - 1} : Value{}});
  }
  return table;
}

Table progress_table(const std::vector<profile::ProgressThread>& threads) {
  Table table{.id = "progress", .title = "progress threads"};
  table.columns = {{"rank", "rank", Unit::kCount},
                   {"thread", "thread", Unit::kCount},
                   {"cpu_share", "of a core", Unit::kShare},
                   {"descriptors", "descriptors", Unit::kCount},
                   {"largest_backlog", "most waiting", Unit::kCount},
                   {"mean_age_ns", "mean age", Unit::kNs},
                   {"largest_age_ns", "oldest", Unit::kNs},
                   {"largest_poll_gap_ns", "longest gap", Unit::kNs}};
  for (const profile::ProgressThread& thread : threads) {
    const auto ratio = [](std::uint64_t part, std::uint64_t whole) {
      return whole > 0 ? Value{static_cast<double>(part) / static_cast<double>(whole)} : Value{};
    };
    const bool aged = thread.aged > 0;
    table.rows.push_back({count(static_cast<std::uint64_t>(thread.rank)),
                          count(static_cast<std::uint64_t>(thread.thread.value_or(0))),
                          ratio(thread.cpu_ns, thread.elapsed_ns),
                          count(thread.descriptors),
                          count(thread.largest_backlog),
                          ratio(thread.total_age_ns, thread.aged),
                          aged ? Value{static_cast<double>(thread.largest_age_ns)} : Value{},
                          Value{static_cast<double>(thread.largest_poll_gap_ns)}});
  }
  table.notes.push_back(
      "age: of a put's descriptor when the thread took it; gap: between two looks at completions, "
      "while awake, whole run");
  return table;
}

Table correctness_table(const profile::Correctness& outcome) {
  Table table{.id = "correctness", .title = "correctness"};
  table.columns = {{"operation", "operation", Unit::kText},
                   {"outcome", "outcome", Unit::kText},
                   {"rows", "rows", Unit::kCount},
                   {"mismatches", "wrong", Unit::kCount},
                   {"max_error_of_bound", "largest error / bound", Unit::kNumber}};
  const auto word = [](bool good) { return std::string(good ? "ok" : "WRONG"); };
  table.rows.push_back({std::string("dispatch"),
                        word(outcome.dispatch_mismatches == 0),
                        count(outcome.dispatch_rows),
                        count(outcome.dispatch_mismatches),
                        Value{}});
  table.rows.push_back({std::string("combine"),
                        word(outcome.combine_mismatches == 0 && outcome.combine_max_error <= 1),
                        Value{},
                        count(outcome.combine_mismatches),
                        outcome.combine_max_error});
  return table;
}

}  // namespace shunt::report
