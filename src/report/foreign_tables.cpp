// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/foreign_tables.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "verdict/foreign/counter_change.hpp"

namespace shunt::report {

using logs::Evidence;

std::string where(const Evidence& evidence, const logs::Source& source) {
  if (source.file < 0) return "--set";
  if (evidence.files.size() < 2) return fmt::format("{}", source.line);
  const std::string& name = evidence.files[static_cast<std::size_t>(source.file)].name;
  const std::size_t slash = name.rfind('/');
  return fmt::format(
      "{}:{}", slash == std::string::npos ? name : name.substr(slash + 1), source.line);
}

namespace {

/// Rows of one table; a switch's list of links can have thousands.
constexpr std::size_t kMostRows = 100;

std::string file_name(const Evidence& evidence, int file) {
  const std::string& name = evidence.files[static_cast<std::size_t>(file)].name;
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

/// A 64-bit counter; beyond the range of signed ones as a plain number.
Value counter_value(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(INT64_MAX)) return static_cast<double>(value);
  return static_cast<std::int64_t>(value);
}
Value gigabits(const std::optional<double>& rate) {
  return rate ? Value{*rate / 8} : Value{};
}

/// False where the table is full; the note then says what is left out.
bool takes(Table& table, std::size_t all) {
  if (table.rows.size() < kMostRows) return true;
  if (table.notes.empty()) {
    table.notes.push_back(fmt::format("the first {} of {}", kMostRows, all));
  }
  return false;
}

Table failure_table(const Evidence& evidence) {
  Table table{.id = "failures", .title = "Known failure text"};
  table.columns = {{"kind", "kind", Unit::kText},
                   {"pattern", "text", Unit::kText},
                   {"rank", "rank", Unit::kCount},
                   {"fields", "it says", Unit::kText},
                   {"line", "line", Unit::kText}};
  for (const logs::Failure& failure : evidence.failures) {
    if (!takes(table, evidence.failures.size())) break;
    std::string fields;
    for (const auto& [name, value] : failure.fields) {
      fields += fmt::format("{}{} {}", fields.empty() ? "" : ", ", name, value);
    }
    table.rows.push_back({std::string(logs::to_string(failure.kind)),
                          failure.pattern,
                          failure.rank ? Value{std::int64_t{*failure.rank}} : Value{},
                          fields,
                          where(evidence, failure.source)});
  }
  return table;
}

Table port_table(const Evidence& evidence) {
  Table table{.id = "ports", .title = "Ports and links, as printed (one direction)"};
  table.columns = {{"owner", "device", Unit::kText},
                   {"number", "port", Unit::kCount},
                   {"model", "model", Unit::kText},
                   {"state", "state", Unit::kText},
                   {"fabric", "fabric", Unit::kText},
                   {"speed", "speed", Unit::kText},
                   {"rate_gb_per_s", "rate", Unit::kGbPerS},
                   {"possible_gb_per_s", "could run at", Unit::kGbPerS},
                   {"measured_gb_per_s", "printed", Unit::kGbPerS},
                   {"peer", "peer", Unit::kText},
                   {"netdev", "netdev", Unit::kText},
                   {"tool", "", Unit::kText},
                   {"line", "line", Unit::kText}};
  for (const logs::LinkFact& link : evidence.links) {
    if (!takes(table, evidence.links.size())) break;
    table.rows.push_back({link.owner,
                          std::int64_t{link.number},
                          link.model,
                          link.state,
                          link.fabric,
                          link.speed,
                          gigabits(link.gbit_per_s),
                          gigabits(link.possible_gbit_per_s),
                          link.gb_per_s ? Value{*link.gb_per_s} : Value{},
                          link.peer,
                          link.netdev,
                          link.tool,
                          where(evidence, link.source)});
  }
  return table;
}

/// Counters that moved between two snapshots, or are not zero in a single one.
Table counter_table(const Evidence& evidence) {
  Table table{.id = "counter_values", .title = "Counters that are not zero, as printed"};
  table.columns = {{"device", "device", Unit::kText},
                   {"counter", "counter", Unit::kText},
                   {"value", "last value", Unit::kCount},
                   {"grown", "grown by", Unit::kCount},
                   {"signal", "what it counts", Unit::kText},
                   {"line", "line", Unit::kText}};
  std::size_t silent = 0;
  std::size_t shown = 0;
  for (const auto& change : verdict::foreign::counter_changes(evidence)) {
    for (const auto& counter : change.counters) {
      if (counter.value == 0 || (change.paired() && counter.grown == 0U)) {
        ++silent;
        continue;
      }
      if (++shown > kMostRows) continue;
      const auto grown = change.paired() && counter.grown ? counter_value(*counter.grown) : Value{};
      table.rows.push_back({change.name(),
                            counter.name,
                            counter_value(counter.value),
                            grown,
                            std::string(logs::to_string(counter.signal())),
                            std::to_string(counter.line)});
    }
  }
  if (shown > kMostRows) {
    table.notes.push_back(fmt::format("the first {} of {}", kMostRows, shown));
  }
  if (silent > 0 && shown > 0) {
    table.notes.push_back(fmt::format("{} counters are zero or did not move", silent));
  }
  return table;
}

Table trace_table(const Evidence& evidence) {
  Table table{.id = "trace_phases", .title = "Spans of the traces; a span holds its waits"};
  table.columns = {{"trace", "trace", Unit::kText},
                   {"phase", "phase", Unit::kText},
                   {"spans", "spans", Unit::kCount},
                   {"mean_ns", "mean", Unit::kNs},
                   {"min_ns", "min", Unit::kNs},
                   {"max_ns", "max", Unit::kNs},
                   {"total_ns", "", Unit::kNs}};
  std::size_t all = 0;
  for (const logs::TraceFact& fact : evidence.traces) all += fact.trace.phases.size();
  for (const logs::TraceFact& fact : evidence.traces) {
    for (const trace::PhaseStats& phase : fact.trace.phases) {
      if (!takes(table, all)) break;
      table.rows.push_back({file_name(evidence, fact.source.file),
                            phase.phase,
                            static_cast<std::int64_t>(phase.spans),
                            phase.mean_ns(),
                            phase.min_ns,
                            phase.max_ns,
                            phase.total_ns});
    }
  }
  return table;
}

}  // namespace

std::vector<Table> foreign_tables(const Evidence& evidence) {
  return {failure_table(evidence),
          trace_table(evidence),
          port_table(evidence),
          counter_table(evidence)};
}

}  // namespace shunt::report
