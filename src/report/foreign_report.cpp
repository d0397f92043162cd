// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/foreign_report.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "base/units.hpp"
#include "report/foreign_tables.hpp"
#include "report/heat.hpp"
#include "report/matrix.hpp"
#include "verdict/foreign.hpp"
#include "verdict/foreign/rules.hpp"
#include "verdict/foreign/situation.hpp"
#include "verdict/foreign/topology_words.hpp"

namespace shunt::report {
namespace {

using logs::Evidence;
using verdict::foreign::Figure;
using verdict::foreign::Op;
using verdict::foreign::Situation;

Value maybe(const std::optional<double>& value, double factor = 1) {
  return value ? Value{*value * factor} : Value{};
}

/// Printed rates of dispatch and combine, with what of them crosses the NIC.
Table operation_table(const Situation& s) {
  Table table;
  table.id = "operations";
  table.title = "What the logs print, and what of it crosses the NIC (per GPU, one direction)";
  table.columns = {{"operation", "operation", Unit::kText},
                   {"ranks", "ranks", Unit::kCount},
                   {"time_ns", "time", Unit::kNs},
                   {"rdma_gb_per_s", "printed RDMA", Unit::kGbPerS},
                   {"scale_up_gb_per_s", "printed NVL", Unit::kGbPerS},
                   {"nodes", "nodes", Unit::kCount},
                   {"wire_gb_per_s", "wire", Unit::kGbPerS},
                   {"rating_share", "of rating", Unit::kShare},
                   {"line", "line", Unit::kText}};
  for (const Op& op : s.ops) {
    const Figure* any = op.rdma ? &*op.rdma : op.nvl ? &*op.nvl : nullptr;
    if (any == nullptr) continue;
    const auto& rating = s.ratings[static_cast<std::size_t>(op.file)];
    const bool share = op.wire && rating.known();
    table.rows.push_back({op.name(),
                          static_cast<std::int64_t>(any->ranks),
                          maybe(op.time_us, 1e3),
                          op.rdma ? Value{op.rdma->rate} : Value{},
                          op.nvl ? Value{op.nvl->rate} : Value{},
                          op.nodes && op.nodes->value >= 1
                              ? Value{saturating_cast<std::int64_t>(op.nodes->value)}
                              : Value{},
                          maybe(op.wire),
                          share ? Value{*op.wire / rating.gbs} : Value{},
                          where(s.evidence, any->sample->source)});
  }
  const bool counts_own = std::ranges::any_of(
      s.ops, [](const auto& op) { return op.rdma.has_value() && !op.remote_only; });
  if (!table.rows.empty() && counts_own) {
    table.notes.emplace_back(
        "printed RDMA counts one copy per (token, node), the own node included; wire = printed × "
        "(N "
        "− 1) / N");
  }
  if (std::ranges::any_of(s.ops, &Op::fp8_bytes)) {
    table.notes.emplace_back(
        "combine's wire is of bf16 rows: the printed rate uses dispatch's FP8 bytes (× 1.94)");
  }
  return table;
}

Table low_latency_table(const Evidence& evidence) {
  Table table;
  table.id = "low_latency";
  table.title = "Low-latency lines, as printed (every selection counts, local ones included)";
  table.columns = {{"rank", "rank", Unit::kCount},
                   {"operation", "operation", Unit::kText},
                   {"time_ns", "time", Unit::kNs},
                   {"min_ns", "min", Unit::kNs},
                   {"max_ns", "max", Unit::kNs},
                   {"rate_gb_per_s", "printed", Unit::kGbPerS},
                   {"bytes", "rate × time", Unit::kBytes},
                   {"line", "line", Unit::kText}};
  for (const auto& sample : evidence.samples) {
    if (sample.format != "deepep-low-latency") continue;
    const bool bytes = sample.rate_gbs && sample.time_us;
    std::string name = logs::to_string(sample.operation);
    if (!sample.variant.empty()) name += " " + sample.variant;
    table.rows.push_back(
        {sample.rank ? Value{static_cast<std::int64_t>(*sample.rank)} : Value{},
         name,
         maybe(sample.time_us, 1e3),
         maybe(sample.min_us, 1e3),
         maybe(sample.max_us, 1e3),
         maybe(sample.rate_gbs),
         bytes ? Value{static_cast<std::int64_t>(*sample.rate_gbs * *sample.time_us * 1e3)}
               : Value{},
         where(evidence, sample.source)});
  }
  return table;
}

Table rank_times_table(const Evidence& evidence) {
  Table table;
  table.id = "rank_times";
  table.title = "Times by rank, as printed";
  table.columns = {{"rank", "rank", Unit::kCount},
                   {"operation", "operation", Unit::kText},
                   {"words", "words", Unit::kText},
                   {"time_ns", "time", Unit::kNs},
                   {"line", "line", Unit::kText}};
  for (const auto& sample : evidence.samples) {
    if (sample.format != "rank-times" || !sample.rank) continue;
    const bool known = sample.operation != logs::Operation::kUnknown;
    table.rows.push_back({static_cast<std::int64_t>(*sample.rank),
                          known ? Value{std::string(logs::to_string(sample.operation))} : Value{},
                          sample.variant.empty() ? Value{} : Value{sample.variant},
                          maybe(sample.time_us, 1e3),
                          where(evidence, sample.source)});
  }
  return table;
}

Table sweep_table(const Evidence& evidence, const logs::Sweep& sweep, std::size_t number) {
  Table table;
  table.id = fmt::format("sweep_{}", number);
  table.title = fmt::format(
      "{}: {}", sweep.format, sweep.title.empty() ? logs::to_string(sweep.operation) : sweep.title);
  table.columns = {{"size", "size", Unit::kText},
                   {"size_bytes", "", Unit::kCount},
                   {"time_ns", "time", Unit::kNs},
                   {"rate_gb_per_s", "rate", Unit::kGbPerS},
                   {"bus_gb_per_s", "busbw", Unit::kGbPerS},
                   {"latency_ns", "latency", Unit::kNs},
                   {"wrong", "wrong", Unit::kCount},
                   {"size_inferred", "", Unit::kText},
                   {"line", "line", Unit::kText}};
  for (const auto& row : sweep.rows) {
    table.rows.push_back({format_size(static_cast<std::uint64_t>(row.size_bytes)),
                          static_cast<std::int64_t>(row.size_bytes),
                          maybe(row.time_us, 1e3),
                          maybe(row.rate_gbs),
                          maybe(row.bus_gbs),
                          maybe(row.latency_us, 1e3),
                          row.wrong ? Value{static_cast<std::int64_t>(*row.wrong)} : Value{},
                          Value{row.size_inferred},
                          where(evidence, row.source)});
    if (row.size_inferred) {
      table.notes.push_back(
          fmt::format("the size in line {} is inferred: the paste lacks it", row.source.line));
    }
  }
  return table;
}

/// Printed rates of one operation at several numbers of ranks; empty where there are no two.
Table world_table(const Evidence& evidence) {
  Table table;
  table.id = "world_sizes";
  table.title = "Rates over the number of ranks, as printed";
  table.columns = {{"operation", "operation", Unit::kText},
                   {"ranks", "ranks", Unit::kCount},
                   {"time_ns", "time", Unit::kNs},
                   {"rate_gb_per_s", "printed", Unit::kGbPerS},
                   {"line", "line", Unit::kText}};
  std::set<double> worlds;
  for (const auto& sample : evidence.samples) {
    const auto ranks = sample.settings.find("ranks");
    if (ranks == sample.settings.end() || !sample.rate_gbs) continue;
    worlds.insert(ranks->second);
    std::string name = logs::to_string(sample.operation);
    for (const std::string* word : {&sample.dtype, &sample.variant}) {
      if (!word->empty()) name += " " + *word;
    }
    if (sample.path == logs::Path::kNvl) name += " NVLink";
    const auto sms = sample.settings.find("sms");
    if (sms != sample.settings.end()) name += fmt::format(", {:g} SMs", sms->second);
    if (evidence.files.size() > 1) {
      const std::string& file = evidence.files[static_cast<std::size_t>(sample.source.file)].name;
      name += fmt::format(" ({})", file.substr(file.find_last_of('/') + 1));
    }
    table.rows.push_back({name,
                          saturating_cast<std::int64_t>(ranks->second),
                          maybe(sample.time_us, 1e3),
                          maybe(sample.rate_gbs),
                          where(evidence, sample.source)});
  }
  if (worlds.size() < 2) table.rows.clear();
  return table;
}

/// Columns that no row fills say nothing.
void drop_empty_columns(Table& table) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const bool empty = std::ranges::all_of(table.rows, [&](const auto& row) {
      return std::holds_alternative<std::monostate>(row[c]);
    });
    if (empty) table.columns[c].title.clear();
  }
}

void add_table(Report& report, Table table) {
  if (table.rows.empty()) return;
  drop_empty_columns(table);
  report.tables.push_back(std::move(table));
}

void add_config(const Situation& s, Report& report) {
  static constexpr std::array kShown{"nodes",
                                     "ranks_per_node",
                                     "world",
                                     "nics_per_node",
                                     "experts",
                                     "local_experts",
                                     "topk",
                                     "tokens",
                                     "hidden",
                                     "dtype",
                                     "gpu",
                                     "nic",
                                     "pcie",
                                     "instance",
                                     "rate",
                                     "ceiling"};
  for (const char* key : kShown) {
    const auto* fact = s.evidence.find(key);
    if (fact == nullptr) continue;
    const bool gbs = std::string_view(key) == "rate" || std::string_view(key) == "ceiling";
    report.config.push_back({key,
                             key,
                             gbs ? fact->value + " GB/s" : fact->value,
                             Unit::kText,
                             fact->source.file < 0 ? std::string("--set")
                                                   : fmt::format("{}, line {}",
                                                                 logs::to_string(fact->origin),
                                                                 where(s.evidence, fact->source))});
  }
  std::set<std::string> told;
  for (const auto& shape : s.shapes) {
    if (!shape.nodes || !shape.nodes->inferred || s.evidence.find("nodes") != nullptr) continue;
    if (!told.insert(shape.nodes->from).second) continue;
    report.config.push_back({"nodes",
                             "nodes",
                             fmt::format("{:g}", shape.nodes->value),
                             Unit::kText,
                             "inferred: " + shape.nodes->from});
  }
}

void add_matrices(const Situation& s, Report& report) {
  for (const logs::TopologyFact* fact : verdict::foreign::distinct_topologies(s)) {
    Matrix matrix = make_matrix(fact->topology,
                                fmt::format("topology_{}", report.matrices.size()),
                                fmt::format("Topology: {}{}, {}",
                                            verdict::foreign::where_prefix(fact->topology),
                                            fact->tool,
                                            verdict::foreign::lines_of(s, *fact)));
    // A head above nothing says nothing; what is missing does.
    if (matrix.rows.empty()) {
      for (const std::string& gap : matrix.gaps) {
        report.notes.push_back(fmt::format("{}: {}", matrix.title, gap));
      }
      continue;
    }
    report.matrices.push_back(std::move(matrix));
  }
}

void add_heats(const Situation& s, Report& report) {
  for (const logs::RateMatrix& matrix : s.evidence.rate_matrices) {
    report.heats.push_back(
        make_heat(matrix,
                  fmt::format("rates_{}", report.heats.size()),
                  fmt::format("{}, {}", matrix.title, verdict::foreign::place(s, matrix.source))));
  }
}

/// A bar for each operation whose wire rate is known; without a rating it has no share.
void add_bars(const Situation& s, Report& report) {
  for (const Op& op : s.ops) {
    if (!op.wire) continue;
    const auto& rating = s.ratings[static_cast<std::size_t>(op.file)];
    Bar bar{.label = op.name(), .share = {}, .rate = op.wire, .rating = {}, .text = {}, .word = {}};
    if (!rating.known()) {
      bar.text = fmt::format("{:.2f} GB/s; no NIC rate is stated, so no utilisation", *op.wire);
      report.bars.push_back(std::move(bar));
      continue;
    }
    bar.rating = rating.gbs;
    const double share = *op.wire / rating.gbs;
    if (share > 1.03) {
      bar.rate.reset();
      bar.text = "more than the link carries: refused";
    } else {
      bar.share = std::min(share, 1.0);
      bar.text = fmt::format("{:.2f} of {:.2f} GB/s", *op.wire, rating.gbs);
    }
    bar.word = share > 1.03     ? ""
               : share >= 0.85  ? "full"
               : share >= 0.795 ? "close to full"
                                : "underused";
    report.bars.push_back(std::move(bar));
  }
}

void add_reading(const Evidence& evidence, Report& report) {
  for (const auto& file : evidence.files) {
    std::string kinds = fmt::format("{}", fmt::join(file.kinds, ", "));
    std::string note =
        fmt::format("{}: {}", file.name, kinds.empty() ? "nothing recognised" : kinds);
    // A trace has bytes, not lines.
    if (file.content_lines > 0) {
      note += fmt::format("; {} of {} lines understood", file.read_lines, file.content_lines);
    }
    report.notes.push_back(std::move(note));
    for (const std::string& remark : file.notes) {
      report.notes.push_back(fmt::format("{}: {}", file.name, remark));
    }
  }
  for (const auto& cut : evidence.truncated) {
    report.notes.push_back(fmt::format("line {} is cut ({}) and not used: {}",
                                       where(evidence, cut.source),
                                       cut.format,
                                       cut.source.text));
  }
  if (evidence.unread.empty()) return;
  constexpr std::size_t kListed = 5;
  report.notes.push_back(fmt::format(
      "{} lines were not understood{}",
      evidence.unread.size(),
      evidence.unread.size() > kListed ? fmt::format("; the first {}:", kListed) : ":"));
  for (std::size_t i = 0; i < std::min(kListed, evidence.unread.size()); ++i) {
    const auto& source = evidence.unread[i].source;
    report.notes.push_back(fmt::format("  line {}: {}", where(evidence, source), source.text));
  }
}

/// Up to the end of its first sentence.
std::string first_sentence(const std::string& text) {
  for (std::size_t at = text.find(". "); at != std::string::npos; at = text.find(". ", at + 1)) {
    if (at + 2 < text.size() && text[at + 2] >= 'A' && text[at + 2] <= 'Z') {
      return text.substr(0, at + 1);
    }
  }
  return text;
}

std::string headline_of(const Report& report, const Evidence& evidence) {
  for (const auto& finding : report.findings) {
    if (finding.severity != verdict::Severity::kInfo) return first_sentence(finding.sentence);
  }
  if (evidence.empty()) {
    return "Nothing in the input is a log, table, matrix or counter that this tool knows.";
  }
  if (!report.findings.empty()) {
    return "No fault found. " + first_sentence(report.findings.front().sentence);
  }
  return "No fault found: the figures agree with each other, and nothing in them says that a link "
         "is "
         "at its limit.";
}

}  // namespace

Report build_foreign_report(const Evidence& evidence) {
  Report report;
  report.kind = "log";
  const Situation situation = verdict::foreign::make_situation(evidence);
  std::set<std::string> kinds;
  for (const auto& file : evidence.files) kinds.insert(file.kinds.begin(), file.kinds.end());
  report.title = kinds.empty() ? "unrecognised input" : fmt::format("{}", fmt::join(kinds, ", "));
  report.findings = verdict::judge_foreign(evidence);
  add_config(situation, report);
  add_table(report, operation_table(situation));
  add_table(report, low_latency_table(evidence));
  add_table(report, rank_times_table(evidence));
  add_table(report, world_table(evidence));
  for (std::size_t i = 0; i < evidence.sweeps.size(); ++i) {
    add_table(report, sweep_table(evidence, evidence.sweeps[i], i));
  }
  for (Table& table : foreign_tables(evidence)) add_table(report, std::move(table));
  add_matrices(situation, report);
  add_heats(situation, report);
  add_bars(situation, report);
  for (const auto& rule : verdict::foreign::rules()) report.checked.emplace_back(rule.name);
  add_reading(evidence, report);
  report.headline = headline_of(report, evidence);
  return report;
}

}  // namespace shunt::report
