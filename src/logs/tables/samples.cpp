// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "logs/tables/table.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

class Samples {
 public:
  Samples(const Table& table, Sink& sink) : table_(table), sink_(sink) {}

  bool read() {
    bool any = false;
    for (std::size_t r = first_data_row(); r < table_.rows.size(); ++r) any = read_row(r) || any;
    return any;
  }

 private:
  /// Without a head (the first row already holds values) all rows are data.
  [[nodiscard]] std::size_t first_data_row() const {
    for (const std::string& cell : table_.rows.front().cells) {
      Meaning meaning = Meaning::kOther;
      if (unit_in(cell, meaning) && number_at(cell, 0)) return 0;
    }
    return 1;
  }

  bool read_row(std::size_t r) {
    const auto& cells = table_.rows[r].cells;
    std::vector<Sample> found;
    std::optional<double> ranks;
    std::optional<double> sms;
    std::string nearest_head;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string head =
          c < table_.head().size() && first_data_row() == 1 ? table_.head()[c] : "";
      if (operation_in(head) != Operation::kUnknown) nearest_head = head;
      const Column column =
          c < table_.columns.size() && !head.empty() ? table_.columns[c] : Column{};
      if (column.meaning == Meaning::kRanks) {
        if (const auto number = whole_number(cells[c])) ranks = number->value;
        continue;
      }
      if (column.meaning == Meaning::kSms) {
        if (const auto number = whole_number(cells[c])) sms = number->value;
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
    for (Sample& sample : found) {
      if (sms) sample.settings["sms"] = *sms;
    }
    for (Sample& sample : found) sink_.add(table_.rows[r].line, std::move(sample));
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
    const std::string context = first_naming({cell, head, label, table_.title});
    const Operation operation = operation_in(context);
    if (operation == Operation::kUnknown || !number_at(cell, 0)) return;
    std::optional<double> rate;
    std::optional<double> time;
    double error = 0.005;
    read_values(cell, column, rate, time, error);
    if (!rate && !time) return;
    Sample sample;
    sample.format = table_.published ? "published" : "table";
    sample.operation = operation;
    // A number of ranks is no variant: it has its own place.
    const bool ranked = !table_.columns.empty() && table_.columns[0].meaning == Meaning::kRanks;
    sample.variant = ranked ? std::string() : variant_of(label);
    sample.span = contains_ci(label + head, "kernel") ? Span::kKernel : Span::kApi;
    sample.path = first_path({cell, head, label, table_.title});
    // Tables of low-latency kernels call every selection "RDMA".
    if (sample.path == Path::kRdma && table_.low_latency) sample.path = Path::kSelection;
    for (const std::string_view word : {"worst", "average", "avg", "best"}) {
      if (!contains_ci(head, word)) continue;
      sample.variant = fmt::format("{}{}{}",
                                   word == "avg" ? "average" : word,
                                   sample.variant.empty() ? "" : " ",
                                   sample.variant);
      break;
    }
    sample.dtype = dtype_in(head);
    if (sample.dtype.empty()) sample.dtype = dtype_in(fmt::format("{} {}", label, table_.title));
    sample.group = table_.title;
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
    // Or to the rate right of it.
    const auto timed = std::ranges::find_if(found, [&](const Sample& s) {
      return s.operation == operation && !s.rate_gbs && s.time_us;
    });
    if (rate && !sample.time_us && timed != found.end()) {
      sample.time_us = timed->time_us;
      found.erase(timed);
    }
    found.push_back(std::move(sample));
  }

  /// Values set apart by commas; "1,353 us" is one.
  static std::vector<std::string_view> values_of(std::string_view cell) {
    std::vector<std::string_view> values;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= cell.size(); ++at) {
      if (at < cell.size() && cell[at] != ',') continue;
      const auto digit = [cell](std::size_t i) { return i < cell.size() && is_digit(cell[i]); };
      const bool thousands = at > begin && digit(at - 1) && digit(at + 1) && digit(at + 2) &&
                             digit(at + 3) && !digit(at + 4);
      if (at < cell.size() && thousands) continue;
      values.push_back(trim(cell.substr(begin, at - begin)));
      begin = at + 1;
    }
    return values;
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
    for (const std::string_view piece : values_of(cell)) {
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

  const Table& table_;
  Sink& sink_;
};

}  // namespace

namespace {

/// Copies a node are more with more nodes; rates × times that stay the same from 8 ranks to 32
/// count every selection, as tables of low-latency kernels do under the head "RDMA".
void recount(std::vector<Sample>& samples, std::size_t first) {
  for (const Operation operation : {Operation::kDispatch, Operation::kCombine}) {
    double least = 0;
    double most = 0;
    double few = 0;
    double many = 0;
    std::vector<Sample*> rows;
    for (std::size_t i = first; i < samples.size(); ++i) {
      Sample& sample = samples[i];
      const auto ranks = sample.settings.find("ranks");
      if (sample.operation != operation || sample.path != Path::kRdma || !sample.rate_gbs ||
          !sample.time_us || ranks == sample.settings.end()) {
        continue;
      }
      const double bytes = *sample.rate_gbs * *sample.time_us;
      least = rows.empty() ? bytes : std::min(least, bytes);
      most = std::max(most, bytes);
      few = rows.empty() ? ranks->second : std::min(few, ranks->second);
      many = std::max(many, ranks->second);
      rows.push_back(&sample);
    }
    if (rows.size() < 3 || many < 4 * few || most > 1.12 * least) continue;
    for (Sample* sample : rows) sample->path = Path::kSelection;
  }
}

}  // namespace

bool read_table_samples(const Table& table, Sink& sink) {
  const std::size_t first = sink.evidence().samples.size();
  const bool any = Samples(table, sink).read();
  recount(sink.evidence().samples, first);
  return any;
}

}  // namespace shunt::logs
