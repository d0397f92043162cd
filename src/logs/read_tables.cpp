// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Tables that people paste: markdown pipes (outer ones or not), boxed tables, spreadsheet columns.
// A cell's meaning comes from its own words, its column's head, its row's label and the title
// above.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

struct Cells {
  std::size_t line = 0;
  std::vector<std::string> cells;
};

bool is_rule(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c == '-' || c == '+' || c == '|' || c == ':' || c == '=' || is_space(c);
  });
}

/// Cells between runs of two or more spaces; at least one must be a number or name a column.
std::vector<std::string> spaced_cells(std::string_view text) {
  std::vector<std::string> cells;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find("  ", begin);
    if (end == kNone) end = text.size();
    const std::string_view cell = trim(text.substr(begin, end - begin));
    if (!cell.empty()) cells.emplace_back(cell);
    begin = end;
    while (begin < text.size() && text[begin] == ' ') ++begin;
  }
  if (cells.size() < 2) cells.clear();
  return cells;
}

/// Cells of a row; a tab separates as a pipe does. Fewer than two: not a table.
std::vector<std::string> cells_of(std::string_view text) {
  text = trim(text);
  const char separator = text.find('|') != kNone ? '|' : '\t';
  if (text.find(separator) == kNone) return spaced_cells(text);
  if (separator == '|') {
    if (!text.empty() && text.front() == '|') text.remove_prefix(1);
    if (!text.empty() && text.back() == '|') text.remove_suffix(1);
  }
  std::vector<std::string> cells;
  for (const std::string_view cell : split(text, separator)) cells.emplace_back(cell);
  return cells.size() >= 2 ? cells : std::vector<std::string>{};
}

Operation operation_in(std::string_view text) {
  const bool dispatch = contains_ci(text, "dispatch");
  const bool combine = contains_ci(text, "combine");
  if (dispatch && combine) return Operation::kPair;
  if (dispatch) return Operation::kDispatch;
  return combine ? Operation::kCombine : Operation::kUnknown;
}

Path path_in(std::string_view text) {
  for (const std::string_view word :
       {"(RDMA)", "RDMA", "IB", "(SO)", "internode", "inter-node", "scale-out", "wire"}) {
    if (find_word_ci(text, word) != kNone) return Path::kRdma;
  }
  for (const std::string_view word :
       {"(NVL)", "NVL", "NVLink", "XGMI", "(SU)", "intranode", "intra-node", "scale-up"}) {
    if (find_word_ci(text, word) != kNone) return Path::kNvl;
  }
  if (find_word_ci(text, "LL") != kNone || contains_ci(text, "low-latency") ||
      contains_ci(text, "low latency")) {
    return Path::kSelection;
  }
  return Path::kUnknown;
}

std::string dtype_in(std::string_view text) {
  for (const std::string_view name : {"nvfp4", "mxfp8", "fp8", "bf16", "fp4", "fp16"}) {
    if (contains_ci(text, name)) return std::string(name);
  }
  return {};
}

enum class Meaning { kOther, kRate, kTime, kSize, kRanks };

struct Column {
  Meaning meaning = Meaning::kOther;
  double factor = 1;
};

std::optional<double> unit_in(std::string_view text, Meaning& meaning) {
  if (contains_ci(text, "GB/s") || contains_ci(text, "GBps") || contains_ci(text, "GB/sec")) {
    // GB and Gb differ by eight: the b's case decides.
    const bool bits = text.find("Gb/s") != kNone || text.find("Gbps") != kNone;
    meaning = Meaning::kRate;
    return bits ? 1.0 / 8 : 1.0;
  }
  if (contains_ci(text, "Gbps") || contains_ci(text, "Gbit/s")) {
    meaning = Meaning::kRate;
    return 1.0 / 8;
  }
  if (contains_ci(text, "MB/s")) {  // Also MB/sec.
    meaning = Meaning::kRate;
    return 1e-3;
  }
  for (const std::string_view unit : {"us", "\xC2\xB5s", "\xCE\xBCs", "ms"}) {
    const bool word = find_word_ci(text, unit) != kNone ||
                      (static_cast<unsigned char>(unit[0]) > 127 && text.find(unit) != kNone);
    if (word) {
      meaning = Meaning::kTime;
      return *time_unit_us(unit);
    }
  }
  return std::nullopt;
}

Column column_of(std::string_view head, std::string_view title) {
  Column column;
  if (contains_ci(head, "#EP") && !contains_ci(head, "bandwidth")) {
    column.meaning = Meaning::kRanks;
    return column;
  }
  if (contains_ci(head, "size") || contains_ci(head, "#bytes") || equals_ci(trim(head), "bytes")) {
    column.meaning = Meaning::kSize;
    column.factor = 1;
    for (const std::string_view unit : {"KiB", "KB", "MiB", "MB", "GiB", "GB"}) {
      if (find_word_ci(head, unit) != kNone)
        column.factor = parse_binary_size(fmt::format("1{}", unit)).value_or(1);
    }
    return column;
  }
  if (const auto factor = unit_in(head, column.meaning)) {
    column.factor = *factor;
  } else if (const auto inherited = unit_in(title, column.meaning)) {
    column.factor = *inherited;
  }
  return column;
}

class Table {
 public:
  Table(const Document& document, Sink& sink, std::vector<Cells> rows, std::string title)
      : sink_(sink), rows_(std::move(rows)), title_(std::move(title)) {
    const std::size_t first = rows_.front().line;
    for (std::size_t i = first > 8 ? first - 8 : 0; i < first; ++i) {
      low_latency_ = low_latency_ || contains_ci(document.lines[i].text, "low-latency") ||
                     contains_ci(document.lines[i].text, "low latency");
    }
  }

  void read() {
    head_ = rows_.front().cells;
    columns_.clear();
    for (const std::string& head : head_) columns_.push_back(column_of(head, title_));
    const bool sized =
        std::ranges::any_of(columns_, [](const Column& c) { return c.meaning == Meaning::kSize; });
    const bool used = sized ? read_sweep() : read_samples();
    if (!used) return;
    for (const Cells& row : rows_) sink_.claim(row.line);
    sink_.recognised("table");
  }

 private:
  /// One sweep for each rate column, with the time column of the same name.
  bool read_sweep() {
    bool any = false;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].meaning != Meaning::kRate || contains_ci(head_[c], "busbw")) continue;
      Sweep sweep;
      sweep.format = "table";
      sweep.title = title_.empty() ? head_[c] : fmt::format("{}: {}", title_, head_[c]);
      sweep.group = title_;
      const bool link = contains_ci(title_, "put_bw") || contains_ci(title_, "get_bw") ||
                        contains_ci(title_, "p_bw") || contains_ci(title_, "g_bw") ||
                        contains_ci(title_, "write_bw") || columns_[c].factor < 0.2;
      sweep.path = link ? Path::kWire : Path::kAlgorithm;
      sweep.operation = collective_in(fmt::format("{} {}", title_, head_[c]));
      sweep.source = sink_.source(rows_.front().line);
      sweep.settings["column"] = head_[c];
      const std::size_t time = time_column_for(c);
      for (std::size_t r = 1; r < rows_.size(); ++r) add_row(r, c, time, sweep);
      any = any || !sweep.rows.empty();
      sink_.add(std::move(sweep));
    }
    return any;
  }

  void add_row(std::size_t r, std::size_t c, std::size_t time, Sweep& sweep) {
    const auto& cells = rows_[r].cells;
    const auto size_column = std::ranges::find(columns_, Meaning::kSize, &Column::meaning);
    const auto s = static_cast<std::size_t>(size_column - columns_.begin());
    if (s >= cells.size()) return;
    auto size = whole_number(cells[s]);
    std::optional<double> bytes;
    if (size) {
      bytes = size->value * columns_[s].factor;
    } else {
      bytes = parse_binary_size(cells[s]);
    }
    const auto rate = c < cells.size() ? number_at(cells[c], 0) : std::nullopt;
    if (!bytes || !rate) {
      if (c >= cells.size()) sink_.truncated(rows_[r].line, "table row");
      return;
    }
    SweepRow row;
    row.size_bytes = *bytes;
    row.rate_gbs = rate->value * columns_[c].factor;
    if (time < columns_.size() && time < cells.size()) {
      if (const auto t = number_at(cells[time], 0)) row.time_us = t->value * columns_[time].factor;
    }
    row.source = sink_.source(rows_[r].line);
    sweep.rows.push_back(std::move(row));
  }

  /// The time column that shares the first word of the rate column's head.
  [[nodiscard]] std::size_t time_column_for(std::size_t rate) const {
    const auto words = split_space(head_[rate]);
    std::size_t only = columns_.size();
    int times = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].meaning != Meaning::kTime) continue;
      ++times;
      only = c;
      if (!words.empty() && starts_with_ci(head_[c], words.front())) return c;
    }
    return times == 1 ? only : columns_.size();
  }

  static Operation collective_in(std::string_view text) {
    if (contains_ci(text, "all-to-all") || contains_ci(text, "alltoall")) {
      return Operation::kAllToAll;
    }
    if (contains_ci(text, "all-gather") || contains_ci(text, "allgather")) {
      return Operation::kAllGather;
    }
    if (contains_ci(text, "all-reduce") || contains_ci(text, "allreduce")) {
      return Operation::kAllReduce;
    }
    return operation_in(text);
  }

  /// Cells with a rate or a time of dispatch or combine.
  bool read_samples() {
    bool any = false;
    for (std::size_t r = first_data_row(); r < rows_.size(); ++r) any = read_row(r) || any;
    return any;
  }

  /// Without a head (the first row already holds values) all rows are data.
  [[nodiscard]] std::size_t first_data_row() const {
    for (const std::string& cell : rows_.front().cells) {
      Meaning meaning = Meaning::kOther;
      if (unit_in(cell, meaning) && number_at(cell, 0)) return 0;
    }
    return 1;
  }

  bool read_row(std::size_t r) {
    const auto& cells = rows_[r].cells;
    std::vector<Sample> found;
    std::optional<double> ranks;
    std::string nearest_head;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string head = c < head_.size() && first_data_row() == 1 ? head_[c] : "";
      if (operation_in(head) != Operation::kUnknown) nearest_head = head;
      const Column column = c < columns_.size() && !head.empty() ? columns_[c] : Column{};
      if (column.meaning == Meaning::kRanks) {
        if (const auto number = whole_number(cells[c])) ranks = number->value;
        continue;
      }
      read_cell(cells,
                c,
                column,
                head.empty() ? nearest_head : fmt::format("{} {}", nearest_head, head),
                ranks,
                found);
    }
    const bool any = !found.empty();
    for (Sample& sample : found) sink_.add(rows_[r].line, std::move(sample));
    return any;
  }

  /// A cell may hold several values: "41.59 GB/s (RDMA), 1451 us".
  void read_cell(const std::vector<std::string>& cells,
                 std::size_t c,
                 const Column& column,
                 const std::string& head,
                 std::optional<double> ranks,
                 std::vector<Sample>& found) {
    const std::string& label = cells.front();
    const std::string& cell = cells[c];
    if (c == 0 && first_data_row() == 1) return;
    const std::string context = first_naming({cell, head, label, title_});
    const Operation operation = operation_in(context);
    if (operation == Operation::kUnknown || !number_at(cell, 0)) return;
    std::optional<double> rate;
    std::optional<double> time;
    double error = 0.005;
    read_values(cell, column, rate, time, error);
    if (!rate && !time) return;
    Sample sample;
    sample.format = "table";
    sample.operation = operation;
    sample.variant = variant_of(label);
    sample.span = contains_ci(label + head, "kernel") ? Span::kKernel : Span::kApi;
    sample.path = first_path({cell, head, label, title_});
    // Tables of low-latency kernels call every selection "RDMA".
    if (sample.path == Path::kRdma && low_latency_) sample.path = Path::kSelection;
    for (const std::string_view word : {"worst", "average", "avg", "best"}) {
      if (!contains_ci(head, word)) continue;
      sample.variant = fmt::format("{}{}{}",
                                   word == "avg" ? "average" : word,
                                   sample.variant.empty() ? "" : " ",
                                   sample.variant);
      break;
    }
    sample.dtype = dtype_in(head);
    if (sample.dtype.empty()) sample.dtype = dtype_in(fmt::format("{} {}", label, title_));
    sample.group = title_;
    sample.rate_gbs = rate;
    sample.rate_error = error;
    sample.time_us = time;
    if (ranks) sample.settings["ranks"] = *ranks;
    // A time in its own column belongs to the rate cells of the same operation left of it.
    if (!rate) {
      for (Sample& other : found) {
        if (other.operation == operation && !other.time_us) other.time_us = time;
      }
      const bool attached = std::ranges::any_of(
          found, [&](const Sample& s) { return s.operation == operation && s.time_us == time; });
      if (attached) return;
    }
    found.push_back(std::move(sample));
  }

  static void read_values(const std::string& cell,
                          const Column& column,
                          std::optional<double>& rate,
                          std::optional<double>& time,
                          double& error) {
    Meaning meaning = Meaning::kOther;
    if (!unit_in(cell, meaning)) {
      const auto number = number_at(cell, 0);
      if (!number || cell.find('%') != kNone) return;
      if (column.meaning == Meaning::kRate) rate = number->value * column.factor;
      if (column.meaning == Meaning::kTime) time = number->value * column.factor;
      error = number->half_ulp() * column.factor;
      return;
    }
    for (const std::string_view piece : split(cell, ',')) {
      const auto number = number_at(piece, 0);
      const auto factor = unit_in(piece, meaning);
      if (!number || !factor) continue;
      if (meaning == Meaning::kRate && !rate) {
        rate = number->value * *factor;
        error = number->half_ulp() * *factor;
      }
      if (meaning == Meaning::kTime && !time) time = number->value * *factor;
    }
  }

  static std::string first_naming(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      if (operation_in(text) != Operation::kUnknown) return text;
    }
    return {};
  }

  static Path first_path(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      if (const Path path = path_in(text); path != Path::kUnknown) return path;
    }
    return Path::kUnknown;
  }

  /// The row's label without the operation: "Best", "Dispatch (torch API)" → "torch API".
  static std::string variant_of(const std::string& label) {
    const std::size_t open = label.find('(');
    const std::size_t close = label.find(')');
    if (operation_in(label) == Operation::kUnknown) return label;
    if (contains_ci(label, "permute")) return label;
    if (open != kNone && close != kNone && close > open) {
      return label.substr(open + 1, close - open - 1);
    }
    return {};
  }

  Sink& sink_;
  bool low_latency_ = false;
  std::vector<Cells> rows_;
  std::string title_;
  std::vector<std::string> head_;
  std::vector<Column> columns_;
};

/// The line above the table that names it, if it is near and unread.
std::string title_above(const Document& document, std::size_t first, std::size_t& at) {
  for (std::size_t i = first; i-- > 0 && first - i <= 4;) {
    const Line& line = document.lines[i];
    if (line.text.empty() || line.fence || is_rule(line.text)) continue;
    std::string title(trim(line.text));
    while (!title.empty() && (title.front() == '*' || title.front() == '#' ||
                              title.front() == ' ' || title.front() == '+')) {
      title.erase(title.begin());
    }
    // A boxed table's title is a one-cell row.
    title.erase(std::remove(title.begin(), title.end(), '|'), title.end());
    title = std::string(trim(title));
    while (!title.empty() && title.back() == ':') title.pop_back();
    at = i;
    return title;
  }
  return {};
}

}  // namespace

void read_tables(const Document& document, Sink& sink) {
  std::vector<Cells> rows;
  const auto flush = [&] {
    if (!rows.empty()) {
      std::size_t title_line = rows.front().line;
      std::string title = title_above(document, rows.front().line, title_line);
      Table(document, sink, rows, std::move(title)).read();
      if (sink.claimed(rows.front().line)) sink.claim_title(title_line);
    }
    rows.clear();
  };
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    if (sink.claimed(i)) {
      flush();
      continue;
    }
    if (!line.text.empty() && is_rule(line.text)) {
      if (line.text.find('|') != kNone) sink.claim(i);
      continue;
    }
    // A cell's leading tab matters: use the body where the text has no pipe.
    auto cells = cells_of(line.text.find('|') != kNone ? line.text : line.body);
    if (cells.empty()) {
      flush();
    } else {
      rows.push_back({i, std::move(cells)});
    }
  }
  flush();
}

}  // namespace shunt::logs
