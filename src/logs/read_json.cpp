// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole files of JSON: nccl-tests' and perftest's results. Keys are matched without case and
// punctuation, because they changed between versions. Other JSON is left to other readers.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "logs/nccl.hpp"
#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

using nlohmann::json;
constexpr std::size_t kLargest = std::size_t{16} << 20;

std::string plain(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (is_alpha(c) || is_digit(c)) out.push_back(to_lower(c));
  }
  return out;
}

const json* member(const json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (plain(it.key()) == name) return &it.value();
  }
  return nullptr;
}

std::optional<double> number(const json& object, std::string_view name) {
  const json* value = member(object, name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto figure = value->get<double>();
    return is_figure(figure) ? std::optional(figure) : std::nullopt;
  }
  if (value->is_string()) {
    const auto parsed = whole_number(value->get_ref<const std::string&>());
    if (parsed) return parsed->value;
  }
  return std::nullopt;
}

std::string word(const json& object, std::string_view name) {
  const json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

void read_nccl_row(const json& entry, const Source& source, Sweep& sweep) {
  const auto size = number(entry, "size");
  const json* out = member(entry, "outofplace");
  if (!size || out == nullptr) return;
  SweepRow row;
  row.size_bytes = *size;
  row.count = number(entry, "count");
  row.time_us = number(*out, "time");
  row.rate_gbs = number(*out, "algbw");
  row.bus_gbs = number(*out, "busbw");
  row.wrong = number(*out, "nwrong");
  if (!row.wrong) row.wrong = number(*out, "wrong");
  if (const json* in = member(entry, "inplace")) {
    row.in_place_time_us = number(*in, "time");
    row.in_place_rate_gbs = number(*in, "algbw");
    row.in_place_bus_gbs = number(*in, "busbw");
    const auto wrong = number(*in, "nwrong");
    if (wrong && row.wrong) row.wrong = *row.wrong + *wrong;
  }
  row.source = source;
  if (!row.rate_gbs) return;
  if (sweep.rows.empty()) {
    sweep.settings["type"] = word(entry, "type");
    if (const std::string op = word(entry, "redop"); !op.empty()) sweep.settings["redop"] = op;
  }
  sweep.rows.push_back(std::move(row));
}

/// The unit of perftest's JSON depends on a flag: size · message rate decides.
void read_perftest_row(const json& entry, const Source& source, Sweep& sweep) {
  const auto size = number(entry, "msgsize");
  const auto average = number(entry, "bwaverage");
  if (!size || !average) return;
  SweepRow row;
  row.size_bytes = *size;
  row.iterations = number(entry, "niterations");
  double unit = 1.0 / 8;
  if (const auto rate = number(entry, "msgrate"); rate && *rate > 0) {
    row.message_rate = *rate * 1e6;
    const double bytes = *row.message_rate * *size;
    const double as_mib = *average * 1048576.0;
    if (std::fabs(as_mib / bytes - 1) < std::fabs(*average * 1e9 / 8 / bytes - 1)) {
      unit = 1048576.0 / 1e9;
    }
  }
  row.rate_gbs = *average * unit;
  if (const auto peak = number(entry, "bwpeak")) row.peak_gbs = *peak * unit;
  row.source = source;
  sweep.rows.push_back(std::move(row));
}

}  // namespace

void read_result_json(const Document& document, Sink& sink) {
  std::size_t first = 0;
  while (first < document.lines.size() && document.lines[first].text.empty()) ++first;
  if (first == document.lines.size()) return;
  const char start = document.lines[first].text[0];
  if (start != '{' && start != '[') return;
  std::string text;
  for (const Line& line : document.lines) {
    text += line.body;
    text += '\n';
    if (text.size() > kLargest) return;
  }
  const json value = json::parse(text, nullptr, false, true);
  if (value.is_discarded()) return;
  const json* results = member(value, "results");
  if (results == nullptr) return;
  Sweep nccl;
  Sweep perftest;
  const Source source = sink.source(first);
  const json list = results->is_array() ? *results : json::array({*results});
  for (const json& entry : list) {
    read_nccl_row(entry, source, nccl);
    read_perftest_row(entry, source, perftest);
  }
  if (nccl.rows.empty() && perftest.rows.empty()) return;
  for (std::size_t i = first; i < document.lines.size(); ++i) sink.claim(i);
  if (!nccl.rows.empty()) {
    nccl.format = "nccl-tests";
    nccl.path = Path::kAlgorithm;
    nccl.source = source;
    if (const json* bounds = member(value, "outofbounds")) {
      const json* okay = member(*bounds, "okay");
      nccl.out_of_bounds_failed = okay != nullptr && okay->is_boolean() && !okay->get<bool>();
    }
    nccl.operation = infer_collective(nccl, operation_of_program(text));
    sink.recognised("nccl-tests JSON");
    sink.add(std::move(nccl));
  }
  if (!perftest.rows.empty()) {
    perftest.format = "perftest";
    perftest.path = Path::kWire;
    perftest.source = source;
    perftest.operation = contains_ci(text, "write")  ? Operation::kWrite
                         : contains_ci(text, "read") ? Operation::kRead
                                                     : Operation::kSend;
    sink.recognised("perftest JSON");
    sink.add(std::move(perftest));
  }
}

}  // namespace shunt::logs
