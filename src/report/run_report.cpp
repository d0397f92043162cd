// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/run_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/framing.hpp"
#include "base/numeric.hpp"
#include "base/units.hpp"
#include "report/cell.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::report {
namespace {

using analysis::LinkMeasure;
using analysis::Measures;
using analysis::OperationMeasure;
using analysis::PhaseMeasure;
using analysis::Stats;

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

Value optional_count(const std::optional<std::uint64_t>& value) {
  return value ? count(*value) : Value{};
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

/// Whether the threads that serve the fabric kept up.
Table progress_table(const std::vector<profile::ProgressThread>& threads) {
  Table table{.id = "progress", .title = "progress threads"};
  table.columns = {{"rank", "rank", Unit::kCount},
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

std::string word_for(double utilisation) {
  if (utilisation >= verdict::kFull) return "full";
  if (utilisation >= verdict::kUnderused) return "close to full";
  return "not full";
}

std::vector<Bar> bars_of(const profile::RunInfo& run, const Measures& measures) {
  std::vector<Bar> bars;
  const std::optional<double> rating = run.config.node_rate_bytes_per_s();
  for (const OperationMeasure& operation : measures.operations) {
    for (const LinkMeasure& link : operation.links) {
      Bar bar{.label = fmt::format("{:<8}  {}", record::to_string(operation.kind), link.name)};
      if (link.window_ns.empty()) {
        bar.text = "- no iteration has all of its puts and arrivals";
      } else if (link.impossible_utilisation) {
        bar.text = fmt::format(
            "- {} in {} would be {:.0f} % of the rating: {}",
            fact_text(link.bytes.p50, Unit::kBytes),
            fact_text(link.window_ns.p50, Unit::kNs),
            *link.impossible_utilisation * 100,
            run.config.emulated_link
                ? "the emulated link lets a burst pass at once, so this says nothing about its rate"
                : "impossible for such a link; is the rating right, and one NIC a node?");
      } else if (!link.utilisation || !rating) {
        bar.text = fmt::format("- {} GB/s; no rating given, so no utilisation",
                               format_significant(link.rate.p50));
      } else {
        bar.share = link.utilisation;
        bar.rating = *rating / 1e9;
        bar.text = fmt::format(
            "{} of {} GB/s", format_significant(link.rate.p50), format_significant(*rating / 1e9));
        bar.word = word_for(*link.utilisation);
      }
      if (!link.window_ns.empty() && !link.impossible_utilisation) bar.rate = link.rate.p50;
      bars.push_back(std::move(bar));
    }
  }
  return bars;
}

std::vector<Fact> ledger_of(const profile::RunInfo& run) {
  if (run.ledgers.empty()) return {};
  traffic::Ledger sum;
  for (const traffic::Ledger& ledger : run.ledgers) {
    sum.tokens += ledger.tokens;
    sum.selections += ledger.selections;
    sum.rank_copies += ledger.rank_copies;
    sum.node_copies += ledger.node_copies;
    sum.remote_copies += ledger.remote_copies;
    sum.payload_bytes += ledger.payload_bytes;
    sum.record_bytes += ledger.record_bytes;
    sum.framing_bytes += ledger.framing_bytes;
    sum.all_to_all_nodes_bytes += ledger.all_to_all_nodes_bytes;
    sum.chunks += ledger.chunks;
    sum.count_bytes += ledger.count_bytes;
    sum.combine_payload_bytes += ledger.combine_payload_bytes;
  }
  const auto line =
      [](const char* key, const char* label, std::uint64_t value, Unit unit, const char* note) {
        return Fact{key, label, count(value), unit, note};
      };
  return {
      line("tokens", "tokens", sum.tokens, Unit::kCount, ""),
      line("selections", "selections", sum.selections, Unit::kCount, "valid (token, expert) pairs"),
      line("rank_copies", "rank copies", sum.rank_copies, Unit::kCount, "distinct (token, rank)"),
      line("node_copies",
           "node copies",
           sum.node_copies,
           Unit::kCount,
           "distinct (token, node), own node included: what others print as RDMA"),
      line("remote_copies",
           "remote copies",
           sum.remote_copies,
           Unit::kCount,
           "node copies to other nodes: the only ones on a link"),
      line("payload_bytes",
           "payload bytes",
           sum.payload_bytes,
           Unit::kBytes,
           "remote copies · hidden · size of the type"),
      line("record_bytes",
           "record bytes",
           sum.record_bytes,
           Unit::kBytes,
           "with ids, weights and source"),
      line("framing_bytes",
           "framing bytes",
           sum.framing_bytes,
           Unit::kBytes,
           "chunk headers and padding"),
      line("chunks", "chunks", sum.chunks, Unit::kCount, "puts that carry records"),
      line("count_bytes", "count bytes", sum.count_bytes, Unit::kBytes, "the count exchange"),
      line("combine_payload_bytes",
           "combine payload",
           sum.combine_payload_bytes,
           Unit::kBytes,
           "partial sums on their way back"),
      line("all_to_all_nodes_bytes",
           "all-to-all-nodes",
           sum.all_to_all_nodes_bytes,
           Unit::kBytes,
           "what a sender that does not filter would inject"),
  };
}

std::vector<Fact> config_of(const profile::RunInfo& run) {
  const profile::RunConfig& config = run.config;
  std::vector<Fact> facts;
  const auto number = [&](const char* key, const char* label, std::int64_t value) {
    facts.push_back({key, label, value, Unit::kNumber, ""});
  };
  const auto text = [&](const char* key, const char* label, const std::string& value) {
    if (!value.empty()) facts.push_back({key, label, value, Unit::kText, ""});
  };
  number("nodes", "nodes", run.shape.nodes);
  number("ranks", "ranks", run.shape.world);
  number("tokens", "tokens", config.tokens);
  number("hidden", "hidden", config.hidden);
  number("topk", "topk", config.topk);
  number("experts", "experts", config.experts);
  text("dtype", "dtype", to_string(config.dtype));
  text("wire_dtype", "wire dtype", to_string(config.wire_dtype));
  text("routing", "routing", config.routing);
  number("seed", "seed", static_cast<std::int64_t>(config.seed));
  number("chunk_tokens", "chunk", config.chunk_tokens);
  number("credits", "credits", config.credits);
  number("qps", "qps", config.qps);
  number("rdma_blocks", "rdma blocks", config.rdma_blocks);
  number("blocks", "blocks", config.blocks);
  number("iters", "iters", config.iters);
  if (config.recorded_every) number("recorded_every", "recorded one in", *config.recorded_every);
  number("warmup", "warmup", config.warmup);
  text("variant", "variant", config.variant);
  text("device", "device", config.device);
  text("launcher", "launcher", config.launcher);
  text("provider", "provider", config.provider);
  if (config.nics_per_node) number("nics_per_node", "NICs a node", *config.nics_per_node);
  if (config.link_rate_bytes_per_s) {
    facts.push_back(
        {"link_rate_gb_per_s",
         config.emulated_link ? "emulated link" : "link",
         *config.link_rate_bytes_per_s / 1e9,
         Unit::kGbPerS,
         fmt::format("{} Gb/s", format_significant(*config.link_rate_bytes_per_s * 8 / 1e9))});
  }
  return facts;
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
