// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/json.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/numeric.hpp"

namespace shunt::report {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Value& value, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value); real != nullptr && std::isfinite(*real)) {
    // Beyond 2^63 there is no integer to round to.
    const bool integral = (unit == Unit::kNs || unit == Unit::kBytes || unit == Unit::kCount) &&
                          std::fabs(*real) < 9.2e18;
    return integral ? Json(saturating_round<std::int64_t>(*real)) : Json(*real);
  }
  return nullptr;
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json facts(const std::vector<Fact>& list) {
  Json object = Json::object();
  for (const Fact& fact : list) object[fact.key] = to_json(fact.value, fact.unit);
  return object;
}

Json operations(const Report& report) {
  Json list = Json::array();
  for (const OperationTime& one : report.operations) {
    list.push_back({{"operation", one.operation},
                    {"iterations", one.samples_ns.size()},
                    {"min_ns", one.min_ns},
                    {"p50_ns", one.p50_ns},
                    {"max_ns", one.max_ns},
                    {"samples_ns", one.samples_ns}});
  }
  return list;
}

Json tables(const Report& report) {
  Json list = Json::array();
  for (const Table& table : report.tables) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json object = Json::object();
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        object[table.columns[c].key] = to_json(row[c], table.columns[c].unit);
      }
      rows.push_back(std::move(object));
    }
    list.push_back({{"id", table.id}, {"title", table.title}, {"rows", std::move(rows)}});
  }
  return list;
}

Json cell_json(const MatrixCell& cell) {
  return {{"path", cell.text}, {"own", cell.own}, {"problem", cell.problem}, {"trap", cell.trap}};
}

Json topologies(const Report& report) {
  Json list = Json::array();
  for (const Matrix& matrix : report.matrices) {
    Json rows = Json::array();
    for (const MatrixRow& row : matrix.rows) {
      Json cells = Json::array();
      for (const MatrixCell& cell : row.cells) cells.push_back(cell_json(cell));
      rows.push_back({{"device", row.label},
                      {"cpus", row.cpus.empty() ? Json(nullptr) : Json(row.cpus)},
                      {"numa", row.numa.empty() ? Json(nullptr) : Json(row.numa)},
                      {"cells", std::move(cells)}});
    }
    list.push_back({{"id", matrix.id},
                    {"title", matrix.title},
                    {"columns", matrix.columns},
                    {"gpus", matrix.gpus},
                    {"rows", std::move(rows)},
                    {"problems", matrix.problems},
                    {"devices", matrix.devices},
                    {"gaps", matrix.gaps}});
  }
  return list;
}

Json rate_matrices(const Report& report) {
  Json list = Json::array();
  for (const Heat& heat : report.heats) {
    Json rows = Json::array();
    for (std::size_t r = 0; r < heat.rows.size(); ++r) {
      Json cells = Json::array();
      for (std::size_t c = 0; c < heat.columns.size(); ++c) {
        const HeatCell& cell = heat.at(r, c);
        cells.push_back({{"rate_gb_per_s", cell.gbs ? Json(*cell.gbs) : Json(nullptr)},
                         {"behind", cell.behind}});
      }
      rows.push_back({{"device", heat.rows[r]}, {"cells", std::move(cells)}});
    }
    list.push_back({{"id", heat.id},
                    {"title", heat.title},
                    {"columns", heat.columns},
                    {"rows", std::move(rows)},
                    {"note", heat.note.empty() ? Json(nullptr) : Json(heat.note)}});
  }
  return list;
}

Json findings(const Report& report) {
  Json list = Json::array();
  for (const verdict::Finding& finding : report.findings) {
    Json evidence = Json::array();
    for (const verdict::Evidence& one : finding.evidence) {
      evidence.push_back({{"name", one.name}, {"value", one.value}, {"source", one.source}});
    }
    list.push_back({{"id", finding.id},
                    {"severity", to_string(finding.severity)},
                    {"confidence", to_string(finding.confidence)},
                    {"where", finding.where},
                    {"sentence", finding.sentence},
                    {"evidence", std::move(evidence)},
                    {"derivation", finding.derivation},
                    {"action", finding.action},
                    {"confirm", finding.confirm}});
  }
  return list;
}

std::string csv_cell(const Value& value, Unit unit) {
  const Json json = to_json(value, unit);
  if (json.is_null()) return {};
  if (!json.is_string()) return json.dump();
  const auto& text = json.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string render_json(const Report& report) {
  Json bars = Json::array();
  for (const Bar& bar : report.bars) {
    bars.push_back({{"label", bar.label},
                    {"utilisation_share", or_null(bar.share)},
                    {"rate_gb_per_s", or_null(bar.rate)},
                    {"rating_gb_per_s", or_null(bar.rating)},
                    {"text", bar.text},
                    {"word", bar.word}});
  }
  Json unchecked = Json::array();
  for (const verdict::Unchecked& one : report.unchecked) {
    unchecked.push_back({{"id", one.id}, {"missing", one.missing}});
  }
  const Json document = {{"schema", "shunt.report/1"},
                         {"tool", {{"name", "shunt"}, {"version", report.tool_version}}},
                         {"kind", report.kind},
                         {"title", report.title},
                         {"headline", report.headline},
                         {"context", facts(report.config)},
                         {"operations", operations(report)},
                         {"tables", tables(report)},
                         {"topologies", topologies(report)},
                         {"rate_matrices", rate_matrices(report)},
                         {"ledger", facts(report.ledger)},
                         {"bars", std::move(bars)},
                         {"findings", findings(report)},
                         {"checked", report.checked},
                         {"unchecked", std::move(unchecked)},
                         {"notes", report.notes},
                         {"dropped_records", report.dropped_records}};
  // Foreign logs may quote bytes that are no UTF-8: replaced, never an exception.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> render_csv(const Report& report, const std::string& table) {
  const auto chosen =
      table.empty() ? report.tables.begin() : std::ranges::find(report.tables, table, &Table::id);
  if (chosen == report.tables.end()) {
    std::vector<std::string> ids;
    for (const Table& one : report.tables) ids.push_back(one.id);
    return usage_error("the report has no table '{}'; it has: {}",
                       table,
                       ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")));
  }
  std::string out;
  for (std::size_t c = 0; c < chosen->columns.size(); ++c) {
    out += (c == 0 ? "" : ",") + chosen->columns[c].key;
  }
  out += "\r\n";
  for (const auto& row : chosen->rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c != 0) out += ',';
      out += csv_cell(row[c], chosen->columns[c].unit);
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace shunt::report
