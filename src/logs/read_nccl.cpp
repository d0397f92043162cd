// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// nccl-tests (and rccl-tests), every vintage of columns:
//   size count type [redop] [root] time algbw busbw [error|#wrong] time algbw busbw [error|#wrong]
// Columns are counted from the type, because redop and root may be absent or empty. Rows may have
// lost their start to a cut paste, and all lines may carry launcher tags.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "logs/nccl.hpp"
#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

struct TypeSize {
  std::string_view name;
  double bytes;
};
constexpr std::array<TypeSize, 17> kTypes{{{"float", 4},
                                           {"half", 2},
                                           {"bfloat16", 2},
                                           {"int8", 1},
                                           {"uint8", 1},
                                           {"int32", 4},
                                           {"uint32", 4},
                                           {"int64", 8},
                                           {"uint64", 8},
                                           {"double", 8},
                                           {"f8e4m3", 1},
                                           {"f8e5m2", 1},
                                           {"fp8_e4m3", 1},
                                           {"fp8_e5m2", 1},
                                           {"int", 4},
                                           {"char", 1},
                                           {"bf16", 2}}};

double type_bytes(std::string_view name) {
  for (const TypeSize& type : kTypes) {
    if (equals_ci(type.name, name)) return type.bytes;
  }
  return 0;
}

/// The values after the type: numbers, "N/A" as NaN; nullopt if another word is among them.
std::optional<std::vector<double>> values_of(const std::vector<std::string_view>& tokens,
                                             std::size_t from) {
  std::vector<double> values;
  for (std::size_t i = from; i < tokens.size(); ++i) {
    if (equals_ci(tokens[i], "N/A")) {
      values.push_back(std::nan(""));
      continue;
    }
    const auto number = whole_number(tokens[i]);
    if (!number) return std::nullopt;
    values.push_back(number->value);
  }
  return values;
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

/// Assigns the trailing columns. `root` columns and error columns are told apart by their number.
bool assign(const std::vector<double>& values, bool wrong_is_count, SweepRow& row) {
  std::size_t at = 0;
  std::size_t width = 0;
  switch (values.size()) {
    case 3:  // time algbw busbw
      width = 3;
      break;
    case 4:  // … error; or a cut row that still has its root, which no time is
      at = values[0] < 0 ? 1 : 0;
      width = values[0] < 0 ? 3 : 4;
      break;
    case 5:  // root, then out of place only
      at = 1;
      width = 4;
      break;
    case 6:
      width = 3;
      break;
    case 7:
      at = 1;
      width = 3;
      break;
    case 8:
      width = 4;
      break;
    case 9:
      at = 1;
      width = 4;
      break;
    default:
      return false;
  }
  row.time_us = finite(values[at]);
  row.rate_gbs = finite(values[at + 1]);
  row.bus_gbs = finite(values[at + 2]);
  double wrong = 0;
  bool has_wrong = false;
  if (width == 4 && wrong_is_count && std::isfinite(values[at + 3])) {
    wrong += values[at + 3];
    has_wrong = true;
  }
  const std::size_t second = at + width;
  if (second + width <= values.size()) {
    row.in_place_time_us = finite(values[second]);
    row.in_place_rate_gbs = finite(values[second + 1]);
    row.in_place_bus_gbs = finite(values[second + 2]);
    if (width == 4 && wrong_is_count && std::isfinite(values[second + 3])) {
      wrong += values[second + 3];
      has_wrong = true;
    }
  }
  if (has_wrong) row.wrong = wrong;
  return row.time_us.has_value() && row.rate_gbs.has_value();
}

class NcclReader {
 public:
  NcclReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      if (sink_.claimed(i) || document_.lines[i].text.empty()) continue;
      read_line(i, document_.lines[i].text);
    }
    close();
  }

 private:
  void read_line(std::size_t i, std::string_view text) {
    if (text.find("_perf") != kNone) {
      const Operation named = operation_of_program(text);
      if (named != Operation::kUnknown) program_ = named;
    }
    if (text[0] == '#') {
      read_comment(i, trim(text.substr(1)));
      return;
    }
    // Markdown eats the signs: the same lines without them.
    if (is_bare_comment(text)) {
      read_comment(i, text);
      return;
    }
    const auto tokens = split_space(text);
    if (tokens.size() >= 3 && read_row(i, tokens)) return;
    if (open_row_missing_size(i, tokens)) return;
    if (!sweep_.rows.empty() && tokens.size() >= 2 && whole_number(tokens[0]) &&
        whole_number(tokens[1]) && i > 0 && sink_.claimed(i - 1)) {
      sink_.truncated(i, "nccl-tests row");
    }
  }

  static bool is_bare_comment(std::string_view text) {
    static constexpr std::array<std::string_view, 7> kStarts{"nThread ",
                                                             "Using devices",
                                                             "out-of-place",
                                                             "Out of bounds values",
                                                             "Avg bus bandwidth",
                                                             "(B)",
                                                             "nccl-tests version"};
    if (std::ranges::any_of(kStarts, [&](auto start) { return starts_with_ci(text, start); })) {
      return true;
    }
    const bool columns = starts_with_ci(text, "size ") && contains_ci(text, "busbw");
    return columns || (starts_with_ci(text, "Rank ") && contains_ci(text, " Pid ") &&
                       contains_ci(text, " device "));
  }

  void read_comment(std::size_t i, std::string_view rest) {
    if (contains_ci(rest, "size") && contains_ci(rest, "count") && contains_ci(rest, "type")) {
      close();
      // Without any error column (very old or in-place only prints) nothing can be counted.
      wrong_is_count_ = contains_ci(rest, "#wrong") || !contains_ci(rest, "error");
      header_ = true;
      sink_.recognised("nccl-tests");
      sink_.claim(i);
      return;
    }
    if (contains_ci(rest, "Out of bounds values")) {
      sweep_.out_of_bounds_failed = contains_ci(rest, "FAILED");
      if (sweep_.rows.empty() && !sink_.evidence().sweeps.empty() && sweep_.out_of_bounds_failed) {
        sink_.evidence().sweeps.back().out_of_bounds_failed = true;
      }
      sink_.claim(i);
      return;
    }
    if (contains_ci(rest, "Avg bus bandwidth") || contains_ci(rest, "out-of-place") ||
        contains_ci(rest, "nThread ") || contains_ci(rest, "Using devices") ||
        contains_ci(rest, "(elements)") || contains_ci(rest, "nccl-tests version") ||
        contains_ci(rest, "Collective test starting") || rest.empty()) {
      sink_.claim(i);
      if (contains_ci(rest, "Avg bus bandwidth")) close();
      return;
    }
    if (starts_with_ci(rest, "Rank ")) read_rank(i, rest);
  }

  /// "#  Rank  3 Group 0 Pid 1234 on node-a device  3 [0x1b] NVIDIA H100 80GB HBM3"
  void read_rank(std::size_t i, std::string_view rest) {
    const auto rank = number_after(rest, "Rank ");
    const std::size_t on = rest.find(" on ");
    if (!rank || on == kNone) return;
    const std::string_view host = split_space(rest.substr(on + 4)).front();
    if (std::ranges::find(hosts_, host) == hosts_.end()) hosts_.emplace_back(host);
    ranks_ = std::max(ranks_, index_of(*rank).value_or(-1) + 1);
    sink_.claim(i);
    if (const std::size_t bracket = rest.find(']'); bracket != kNone) {
      sink_.config(i, "device_name", trim(rest.substr(bracket + 1)), Origin::kLog);
    }
    last_rank_line_ = i;
  }

  bool read_row(std::size_t i, const std::vector<std::string_view>& tokens) {
    const auto size = whole_number(tokens[0]);
    const auto count = whole_number(tokens[1]);
    const double element = type_bytes(tokens[2]);
    if (!size || !count || size->decimals > 0 || element == 0) return false;
    std::size_t from = 3;
    if (from < tokens.size() && is_alpha(tokens[from][0]) && !equals_ci(tokens[from], "N/A")) {
      ++from;
    }
    SweepRow row;
    row.size_bytes = size->value;
    row.count = count->value;
    const auto values = values_of(tokens, from);
    const bool counts = wrong_is_count_ && (header_ || !has_exponent(tokens));
    const bool read = values && assign(*values, counts, row);
    if (read) undo_share(row);
    if (!read || contradicts(row)) {
      sink_.truncated(i, "nccl-tests row");
      return true;
    }
    if (!sweep_.rows.empty() && row.size_bytes < sweep_.rows.back().size_bytes) close();
    row.source = sink_.source(i);
    if (sweep_.rows.empty()) begin(i, from > 3 ? tokens[3] : std::string_view{}, tokens[2]);
    sink_.recognised("nccl-tests");
    sink_.claim(i);
    // A row above it that lost its size: half of this one, if time and rate agree.
    if (orphan_ && sweep_.rows.empty()) adopt(row.size_bytes);
    sweep_.rows.push_back(std::move(row));
    return true;
  }

  /// Size, time and rate of a row are one measurement: columns that were shifted by a cut do not
  /// fit together.
  static bool contradicts(const SweepRow& row) {
    if (*row.rate_gbs < 1 || *row.time_us <= 0) return *row.time_us <= 0 && *row.rate_gbs > 0;
    const double again = row.size_bytes / *row.time_us / 1e3;
    return std::fabs(again / *row.rate_gbs - 1) > 0.25;
  }

  /// Older versions of all-gather and reduce-scatter printed algbw as busbw: size · (n − 1) / n
  /// over the time. Size over time puts it back to what the column means since.
  static void undo_share(SweepRow& row) {
    if (!row.bus_gbs || *row.bus_gbs != *row.rate_gbs || *row.rate_gbs < 0.5 || *row.time_us <= 0) {
      return;
    }
    const double again = row.size_bytes / *row.time_us / 1e3;
    // Two ranks halve it; from nine ranks on rounding hides it.
    if (again / *row.rate_gbs < 1.12 || again / *row.rate_gbs > 2.02) return;
    if (row.in_place_time_us && row.in_place_rate_gbs && *row.in_place_time_us > 0) {
      row.in_place_rate_gbs = row.size_bytes / *row.in_place_time_us / 1e3;
    }
    row.rate_gbs = again;
  }

  static bool has_exponent(const std::vector<std::string_view>& tokens) {
    return std::ranges::any_of(tokens, [](std::string_view token) {
      return token.size() > 3 && token.find('e') != kNone && is_digit(token[0]);
    });
  }

  /// A first row whose start was cut away: eight numbers, or six.
  bool open_row_missing_size(std::size_t i, const std::vector<std::string_view>& tokens) {
    if (!sweep_.rows.empty() || (tokens.size() != 8 && tokens.size() != 6)) return false;
    const auto values = values_of(tokens, 0);
    SweepRow row;
    if (!values || !assign(*values, true, row) || !row.bus_gbs) return false;
    row.size_bytes = *row.time_us * *row.rate_gbs * 1e3;
    row.size_inferred = true;
    row.source = sink_.source(i);
    orphan_ = row;
    orphan_line_ = i;
    return false;
  }

  void adopt(double next_size) {
    const double half = next_size / 2;
    if (std::fabs(orphan_->size_bytes / half - 1) < 0.02) {
      orphan_->size_bytes = half;
      sweep_.rows.push_back(*orphan_);
      sink_.claim(orphan_line_);
    }
    orphan_.reset();
  }

  void begin(std::size_t i, std::string_view redop, std::string_view type) {
    sweep_.format = "nccl-tests";
    sweep_.path = Path::kAlgorithm;
    sweep_.source = sink_.source(i);
    sweep_.group = heading_of(document_, i);
    sweep_.settings["type"] = std::string(type);
    if (!redop.empty()) sweep_.settings["redop"] = std::string(redop);
  }

  void close() {
    if (!sweep_.rows.empty()) {
      if (ranks_ > 0) {
        sink_.config(last_rank_line_, "world", fmt::format("{}", ranks_), Origin::kLog);
        sink_.config(last_rank_line_, "nodes", fmt::format("{}", hosts_.size()), Origin::kLog);
      }
      sweep_.operation = infer_collective(sweep_, program_);
      sink_.add(std::move(sweep_));
    }
    sweep_ = {};
  }

  const Document& document_;
  Sink& sink_;
  Sweep sweep_;
  Operation program_ = Operation::kUnknown;
  bool header_ = false;
  bool wrong_is_count_ = true;
  std::optional<SweepRow> orphan_;
  std::size_t orphan_line_ = 0;
  std::vector<std::string> hosts_;
  int ranks_ = 0;
  std::size_t last_rank_line_ = 0;
};

}  // namespace

double nccl_type_bytes(std::string_view name) {
  return type_bytes(name);
}

Operation operation_of_program(std::string_view text) {
  struct Program {
    std::string_view name;
    Operation operation;
  };
  static constexpr std::array<Program, 9> kPrograms{{
      {"alltoall_perf", Operation::kAllToAll},
      {"all_reduce_perf", Operation::kAllReduce},
      {"all_gather_perf", Operation::kAllGather},
      {"reduce_scatter_perf", Operation::kReduceScatter},
      {"broadcast_perf", Operation::kBroadcast},
      {"sendrecv_perf", Operation::kSendRecv},
      {"reduce_perf", Operation::kReduce},
      {"gather_perf", Operation::kAllGather},
      {"scatter_perf", Operation::kReduceScatter},
  }};
  for (const Program& program : kPrograms) {
    if (contains_ci(text, program.name)) return program.operation;
  }
  return Operation::kUnknown;
}

Operation infer_collective(const Sweep& sweep, Operation named) {
  // The largest row has the least rounding in its bandwidths.
  const SweepRow& row = sweep.rows.back();
  if (!row.bus_gbs || !row.rate_gbs || *row.rate_gbs <= 0) return named;
  const double ratio = *row.bus_gbs / *row.rate_gbs;
  const auto type = sweep.settings.find("type");
  const double element = type == sweep.settings.end() ? 0 : type_bytes(type->second);
  const auto redop = sweep.settings.find("redop");
  const bool reduces = redop != sweep.settings.end() && !equals_ci(redop->second, "none");
  if (ratio > 1.02) return Operation::kAllReduce;
  if (named != Operation::kUnknown && named != Operation::kAllReduce) return named;
  if (ratio < 0.999 && element > 0 && row.count && *row.count > 0) {
    const double per_peer = row.size_bytes / (*row.count * element);
    // Of one rank (busbw 0) all-reduce looks like this too; only reduce-scatter counts a share.
    if (reduces) return per_peer > 1.5 ? Operation::kReduceScatter : Operation::kAllReduce;
    if (per_peer > 1.5) return Operation::kAllToAll;
    return Operation::kAllGather;
  }
  // n = 2: all-reduce's factor is 1 as well.
  if (reduces) return Operation::kAllReduce;
  return named;
}

void read_nccl(const Document& document, Sink& sink) {
  NcclReader(document, sink).read();
}

}  // namespace shunt::logs
