// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/tables/words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

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

}  // namespace

bool is_rule(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c == '-' || c == '+' || c == '|' || c == ':' || c == '=' || is_space(c);
  });
}

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

Operation collective_in(std::string_view text) {
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

namespace {

/// Bandwidth in GB/s, times in µs: what EP and collective benchmarks print under such words.
void assume_unit(std::string_view head, Column& column) {
  for (const std::string_view word : {"algbw", "busbw", "bandwidth", "BW", "throughput"}) {
    if (find_word_ci(head, word) == kNone) continue;
    column.meaning = Meaning::kRate;
    column.assumed = true;
    return;
  }
  for (const std::string_view word : {"latency", "time"}) {
    if (find_word_ci(head, word) == kNone) continue;
    column.meaning = Meaning::kTime;
    column.assumed = true;
    return;
  }
}

/// A unit that the title gives its columns: "Bandwidth (GB/s)". In "400 Gb/s NICs" it is a
/// figure's.
std::optional<double> unit_of_title(std::string_view title, Meaning& meaning) {
  std::string words;
  bool after_number = false;
  for (const std::string_view word : split_space(title)) {
    const bool number = number_at(word, 0).has_value();
    if (!number && !after_number) {
      words += word;
      words += ' ';
    }
    after_number = number && whole_number(word).has_value();
  }
  return unit_in(words, meaning);
}

}  // namespace

std::vector<std::string> merged_head(const std::vector<std::string>& upper,
                                     const std::vector<std::string>& lower) {
  std::vector<std::string> spread;
  if (upper.size() == lower.size()) {
    for (const std::string& cell : upper) {
      spread.push_back(cell.empty() && !spread.empty() ? spread.back() : cell);
    }
  } else if (!upper.empty() && upper.size() < lower.size()) {
    // Cells set apart by spaces: the empty ones are gone. At most one column of labels stands free.
    const std::size_t width = lower.size() / upper.size();
    const std::size_t free = lower.size() - width * upper.size();
    if (free > 1 || width < 2) return {};
    spread.resize(free);
    for (const std::string& cell : upper) spread.insert(spread.end(), width, cell);
  } else {
    return {};
  }
  for (std::size_t i = 0; i < spread.size(); ++i) {
    if (spread[i] == lower[i]) continue;
    if (!spread[i].empty() && !lower[i].empty()) spread[i] += ' ';
    spread[i] += lower[i];
  }
  return spread;
}

Column column_of(std::string_view head, std::string_view title) {
  Column column;
  static constexpr std::array<std::string_view, 9> kRanks{"ranks",
                                                          "#ranks",
                                                          "num ranks",
                                                          "number of ranks",
                                                          "world size",
                                                          "EP",
                                                          "EP size",
                                                          "GPUs",
                                                          "#GPUs"};
  const auto is = [words = trim(head)](std::string_view word) { return equals_ci(words, word); };
  if ((contains_ci(head, "#EP") && !contains_ci(head, "bandwidth")) ||
      std::ranges::any_of(kRanks, is)) {
    column.meaning = Meaning::kRanks;
    return column;
  }
  static constexpr std::array<std::string_view, 6> kSms{
      "SM", "SMs", "#SMs", "SM count", "num SMs", "number of SMs"};
  if (std::ranges::any_of(kSms, is)) {
    column.meaning = Meaning::kSms;
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
    return column;
  }
  assume_unit(head, column);
  Column inherited;
  const auto factor = unit_of_title(title, inherited.meaning);
  // A title in GB/s says nothing of a column of latencies.
  if (factor && (!column.assumed || column.meaning == inherited.meaning)) {
    inherited.factor = *factor;
    return inherited;
  }
  return column;
}

}  // namespace shunt::logs
