// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// pplx-kernels' bench_all_to_all and what was derived from it. Every selection counts as a copy.
//   "EP=16 DP=16"
//   "E  E/tok  tok  dim  Dispatch_lat  Dispatch_bw  Dispatch_bytes  Combine_lat  …"   (tabs)
//   "256  8  128  7168  310.2μs ±  4.1μs  24.350GB/s  7553024  …"
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

enum class Field { kPlain, kTime, kRate, kBytes };

struct Column {
  std::string name;  ///< "Dispatch" of "Dispatch_lat"; "tok" of a plain one.
  Field field = Field::kPlain;
};

std::vector<Column> columns_of(std::string_view text) {
  std::vector<Column> columns;
  for (const std::string_view word : split_space(text)) {
    const std::size_t bar = word.rfind('_');
    const std::string_view tail = bar == kNone ? std::string_view{} : word.substr(bar + 1);
    Column column{std::string(word), Field::kPlain};
    if (equals_ci(tail, "lat")) column.field = Field::kTime;
    if (equals_ci(tail, "bw")) column.field = Field::kRate;
    if (equals_ci(tail, "bytes")) column.field = Field::kBytes;
    if (column.field != Field::kPlain) column.name = std::string(word.substr(0, bar));
    columns.push_back(std::move(column));
  }
  return columns;
}

/// The next figure at or after `at`, stepping over its unit and a "± deviation".
std::optional<Number> next_figure(std::string_view text, std::size_t& at) {
  const auto number = number_at(text, at);
  if (!number) return std::nullopt;
  at = number->end;
  const auto skip_unit = [&] {
    while (at < text.size() && !is_space(text[at])) ++at;
  };
  skip_unit();
  std::size_t ahead = at;
  while (ahead < text.size() && is_space(text[ahead])) ++ahead;
  if (text.substr(ahead, 2) == "\xC2\xB1") {  // ±
    if (const auto deviation = number_at(text, ahead + 2)) {
      at = deviation->end;
      skip_unit();
    }
  }
  return number;
}

Operation operation_named(std::string_view name) {
  if (contains_ci(name, "dispatch")) return Operation::kDispatch;
  return contains_ci(name, "combine") ? Operation::kCombine : Operation::kAllToAll;
}

class Table {
 public:
  Table(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      const std::string_view text = document_.lines[i].text;
      if (sink_.claimed(i) || text.empty()) continue;
      if (starts_with_ci(text, "EP=") && text.find("DP=") != kNone) {
        if (const auto ranks = number_after(text, "EP=")) {
          ranks_ = ranks->value;
          sink_.config(i, "world", fmt::format("{:.0f}", ranks->value), Origin::kLog);
          sink_.claim(i);
        }
        continue;
      }
      if (text.find("E/tok") != kNone && contains_ci(text, "_lat")) {
        columns_ = columns_of(text);
        sink_.recognised("pplx-kernels");
        sink_.claim(i);
        continue;
      }
      if (!columns_.empty() && is_digit(text[0])) read_row(i, text);
    }
  }

 private:
  void read_row(std::size_t i, std::string_view text) {
    std::vector<Sample> samples;
    Sample sample;
    std::size_t at = 0;
    for (const Column& column : columns_) {
      const auto figure = next_figure(text, at);
      if (!figure) {
        sink_.truncated(i, "pplx row");
        return;
      }
      if (column.field == Field::kPlain) {
        note(i, column.name, *figure);
        continue;
      }
      sample.operation = operation_named(column.name);
      if (sample.operation == Operation::kAllToAll) sample.variant = lowered(column.name);
      if (column.field == Field::kTime) sample.time_us = figure->value;
      if (column.field == Field::kRate) {
        sample.rate_gbs = figure->value;
        sample.rate_error = figure->half_ulp();
      }
      if (column.field == Field::kBytes) sample.bytes = figure->value;
      const bool last = &column == &columns_.back() || (&column + 1)->name != column.name;
      if (!last) continue;
      samples.push_back(sample);
      sample = {};
    }
    for (Sample& found : samples) {
      found.format = "pplx";
      found.path = Path::kSelection;
      found.span = Span::kApi;
      found.group = tokens_ > 0 ? fmt::format("{:g} tokens", tokens_) : "";
      if (ranks_ > 0) found.settings["ranks"] = ranks_;
      sink_.add(i, std::move(found));
    }
    sink_.claim(i);
  }

  void note(std::size_t i, std::string_view name, const Number& value) {
    const std::string text = fmt::format("{:.0f}", value.value);
    if (name == "E") sink_.config(i, "experts", text, Origin::kLog);
    if (name == "E/tok") sink_.config(i, "topk", text, Origin::kLog);
    if (name == "dim") sink_.config(i, "hidden", text, Origin::kLog);
    if (name == "tok") {
      tokens_ = value.value;
      sink_.config(i, "tokens", text, Origin::kLog);
    }
  }

  const Document& document_;
  Sink& sink_;
  std::vector<Column> columns_;
  double ranks_ = 0;
  double tokens_ = 0;
};

}  // namespace

void read_pplx(const Document& document, Sink& sink) {
  Table(document, sink).read();
}

}  // namespace shunt::logs
