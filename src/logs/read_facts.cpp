// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bare facts in sentences: "combine 110 GB/s at EP16", "dispatch: 43 GB/s (RDMA), 1.2 ms", and the
// spans that a bandwidth guide divides by: "send 120 µs". Reads only lines that no format claimed.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "logs/facts.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kLongestLine = 2048;

/// The word of `words` that stands nearest before `at`; its index, or words.size().
template <std::size_t N>
std::size_t nearest_before(std::string_view text,
                           std::size_t at,
                           const std::array<std::string_view, N>& words) {
  std::size_t best = N;
  std::size_t where = 0;
  for (std::size_t w = 0; w < N; ++w) {
    for (std::size_t hit = find_ci(text, words[w]); hit != kNone && hit < at;
         hit = find_ci(text, words[w], hit + 1)) {
      if (best == N || hit >= where) {
        best = w;
        where = hit;
      }
    }
  }
  return best;
}

/// The unit right behind a number, up to the next space or punctuation.
std::string_view unit_behind(std::string_view text, const Number& number) {
  std::size_t begin = number.end;
  while (begin < text.size() && is_space(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !is_space(text[end]) && text[end] != ',' && text[end] != ';' &&
         text[end] != ')' && text[end] != '(') {
    ++end;
  }
  return text.substr(begin, end - begin);
}

/// "43 GB/s (RDMA)", "43 GB/s RDMA", else the path named before the number in its clause: "RDMA
/// best 39 GB/s".
Path path_of(std::string_view text, const Number& number) {
  std::string_view rest = text.substr(number.end);
  if (const std::size_t unit = rest.find("/s"); unit != kNone && unit < 8)
    rest.remove_prefix(unit + 2);
  while (!rest.empty() && (is_space(rest[0]) || rest[0] == '(')) rest.remove_prefix(1);
  static constexpr std::array<std::string_view, 3> kOut{"RDMA", "IB", "wire"};
  static constexpr std::array<std::string_view, 4> kUp{"NVL", "NVLink", "XGMI", "xGMI"};
  for (const std::string_view word : kOut) {
    if (starts_with_ci(rest, word)) return Path::kRdma;
  }
  for (const std::string_view word : kUp) {
    if (starts_with_ci(rest, word)) return Path::kNvl;
  }
  const std::size_t clause = text.substr(0, number.begin).find_last_of(";|");
  const std::string_view before =
      text.substr(clause == kNone ? 0 : clause, number.begin - (clause == kNone ? 0 : clause));
  static constexpr std::array<std::string_view, 4> kBefore{"RDMA ", "IB ", "XGMI ", "NVLink "};
  const std::size_t which = nearest_before(before, before.size(), kBefore);
  if (which < 2) return Path::kRdma;
  return which < 4 ? Path::kNvl : Path::kUnknown;
}

/// "beyond the hardware bandwidth (200 GB/s)", "the theoretical 50 GB/s": what a link is rated at.
bool is_rating(std::string_view text, const Number& number) {
  const std::string_view all = text.substr(0, number.begin);
  const std::string_view before = all.size() > 36 ? all.substr(all.size() - 36) : all;
  static constexpr std::array<std::string_view, 9> kWords{"hardware bandwidth",
                                                          "hardware limit",
                                                          "theoretical",
                                                          "line rate",
                                                          "line-rate",
                                                          "rated",
                                                          "peak bandwidth of",
                                                          "upper limit",
                                                          "maximum bandwidth of"};
  return std::ranges::any_of(kWords, [&](std::string_view w) { return contains_ci(before, w); });
}

/// "EP16: 287 us, 25.6 GB/s" → 16: a row of a list over world sizes.
std::optional<int> ep_row(std::string_view text) {
  while (!text.empty() && (text[0] == '-' || text[0] == '*' || is_space(text[0]))) {
    text.remove_prefix(1);
  }
  if (!starts_with_ci(text, "EP")) return std::nullopt;
  const auto number = number_at(text, 2);
  if (!number || number->begin > 3 || number->decimals > 0 || number->value < 2 ||
      number->value > 4096) {
    return std::nullopt;
  }
  return index_of(*number);
}

/// The operation that a line just above such a list names, for all its rows.
Operation operation_above(const Document& document, std::size_t i) {
  constexpr std::size_t kReach = 8;
  for (std::size_t back = 1; back <= kReach && back <= i; ++back) {
    const std::string_view text = document.lines[i - back].text;
    if (text.empty() || ep_row(text)) continue;
    const bool dispatch = contains_ci(text, "dispatch");
    const bool combine = contains_ci(text, "combine");
    if (text.size() > 80 || dispatch == combine) return Operation::kUnknown;
    return dispatch ? Operation::kDispatch : Operation::kCombine;
  }
  return Operation::kUnknown;
}

/// The first time of the line, in µs.
std::optional<double> time_in(std::string_view text) {
  for (const Number& number : all_numbers(text)) {
    if (const auto factor = time_unit_us(unit_behind(text, number))) return number.value * *factor;
  }
  return std::nullopt;
}

void read_ep_row(const Document& document, std::size_t i, int ranks, Sink& sink) {
  const std::string_view text = document.lines[i].text;
  std::optional<Number> rate;
  for (const Number& number : all_numbers(text)) {
    const std::string_view unit = unit_behind(text, number);
    const bool bytes = unit.substr(0, 4) == "GB/s" || unit.substr(0, 4) == "GBps";
    if (!bytes || number.value <= 0) continue;
    if (rate) return;  // Two rates in a row without names: which is which, cannot be told.
    rate = number;
  }
  if (!rate) return;
  Sample sample;
  sample.format = "fact";
  sample.operation = operation_above(document, i);
  sample.path = path_of(text, *rate);
  sample.rate_gbs = rate->value;
  sample.rate_error = rate->half_ulp();
  sample.time_us = time_in(text);
  sample.settings["ranks"] = ranks;
  sample.group = heading_of(document, i);
  sink.recognised("figures in prose");
  sink.add(i, std::move(sample));
}

void read_rates(const Document& document, std::size_t i, Sink& sink) {
  const std::string_view text = document.lines[i].text;
  static constexpr std::array<std::string_view, 2> kWords{"dispatch", "combine"};
  for (const Number& number : all_numbers(text)) {
    const std::string_view unit = unit_behind(text, number);
    const bool bytes = unit.substr(0, 4) == "GB/s" || unit.substr(0, 4) == "GBps";
    if (!bytes || number.value <= 0 || is_rating(text, number)) continue;
    const std::size_t which = nearest_before(text, number.begin, kWords);
    if (which == kWords.size()) continue;
    Sample sample;
    sample.format = "fact";
    sample.operation = which == 0 ? Operation::kDispatch : Operation::kCombine;
    sample.path = path_of(text, number);
    for (const std::string_view dtype : {"fp8", "bf16"}) {
      if (contains_ci(text, dtype)) sample.dtype = std::string(dtype);
    }
    static constexpr std::array<std::string_view, 3> kKinds{"best", "avg", "average"};
    const std::size_t kind = nearest_before(text, number.begin, kKinds);
    if (kind < kKinds.size()) sample.variant = kind == 0 ? "best" : "average";
    sample.rate_gbs = number.value;
    sample.rate_error = number.half_ulp();
    sample.group = heading_of(document, i);
    sink.recognised("figures in prose");
    sink.add(i, std::move(sample));
  }
}

/// "send 120 µs", "dispatch_inter_node_send   12.5  132.5  120.0" (start end dur).
void read_spans(std::string_view text, std::size_t i, Sink& sink) {
  static constexpr std::array<std::string_view, 5> kWords{
      "send", "combine", "recv", "sync", "intra"};
  for (const std::string_view name : {"dispatch_inter_node_send",
                                      "dispatch_inter_node_ll_send",
                                      "combine_inter_node",
                                      "combine_inter_node_ll"}) {
    const auto words = split_space(text);
    if (words.empty() || !equals_ci(words.front(), name)) continue;
    const auto numbers = all_numbers(text.substr(name.size()));
    if (numbers.size() < 3) continue;
    sink.config(i,
                name[0] == 'd' ? "send_span_us" : "combine_span_us",
                fmt::format("{:g}", numbers[2].value),
                Origin::kLog);
    sink.claim(i);
    return;
  }
  for (const Number& number : all_numbers(text)) {
    const auto factor = time_unit_us(unit_behind(text, number));
    if (!factor) continue;
    const std::size_t which = nearest_before(text, number.begin, kWords);
    if (which > 1) continue;
    sink.config(i,
                which == 0 ? "send_span_us" : "combine_span_us",
                fmt::format("{:g}", number.value * *factor),
                Origin::kProse);
    sink.claim(i);
  }
}

/// "2048 tokens", "hidden 7168", "top-8", "xferBytes = 14372".
void read_workload(std::string_view text, std::size_t i, Sink& sink) {
  const auto keep =
      [&](std::string_view key, const std::optional<Number>& number, double low, double high) {
        if (!number || number->value < low || number->value > high || number->decimals > 0) return;
        sink.config(i, key, fmt::format("{:.0f}", number->value), Origin::kProse);
        sink.claim(i);
      };
  keep("tokens", number_before(text, "tokens"), 1, 1e7);
  if (const auto k = number_before(text, "K tokens"); k && k->decimals == 0) {
    sink.config(i, "tokens", fmt::format("{:.0f}", k->value * 1024), Origin::kProse);
  }
  for (const std::string_view key : {"hidden=", "hidden ", "hidden size ", "hidden_dim=", "H="}) {
    if (const auto number = number_after(text, key)) {
      keep("hidden", number, 256, 65536);
      break;
    }
  }
  for (const std::string_view key : {"top-", "topk=", "topk ", "top_k=", "top-k ", "top-k="}) {
    if (const auto number = number_after(text, key)) {
      keep("topk", number, 1, 128);
      break;
    }
  }
  for (const std::string_view key : {"xferBytes", "record size", "bytes per token", "record"}) {
    const std::size_t at = find_ci(text, key);
    if (at == kNone) continue;
    for (const Number& number : all_numbers(text.substr(at))) {
      if (number.value >= 256 && number.value < 1e6 && number.decimals == 0) {
        sink.config(i, "record_bytes", fmt::format("{:.0f}", number.value), Origin::kProse);
        break;
      }
    }
    break;
  }
}

/// "| ib_write_bw (raw) | 64 KB | 327 Gb/s |": what a tool measured on the bare link.
void read_link_rate(std::string_view text, std::size_t i, Sink& sink) {
  static constexpr std::array<std::string_view, 8> kTools{"ib_write_bw",
                                                          "ib_read_bw",
                                                          "ib_send_bw",
                                                          "ucx_perftest",
                                                          "nixlbench",
                                                          "fi_rma_bw",
                                                          "shmem_put_bw",
                                                          "perftest"};
  std::size_t at = kNone;
  std::string_view tool;
  for (const std::string_view name : kTools) {
    const std::size_t hit = find_ci(text, name);
    if (hit == kNone || (at != kNone && hit >= at)) continue;
    at = hit;
    tool = name;
  }
  if (at == kNone || text.find(" -d ") != kNone || text.find(" --") != kNone) return;
  SweepRow row;
  const bool mebibytes = contains_ci(text, "MB/sec") || contains_ci(text, "MiB/sec");
  for (const Number& number : all_numbers(text.substr(at))) {
    const std::string_view unit = unit_behind(text.substr(at), number);
    if (unit.substr(0, 4) == "Gb/s" || unit.substr(0, 4) == "Gbps") {
      row.rate_gbs = number.value / 8;
    } else if (unit.substr(0, 4) == "GB/s" || unit.substr(0, 4) == "GBps") {
      row.rate_gbs = number.value;
    } else if (mebibytes && number.decimals == 2 && number.value > 100) {
      row.rate_gbs = number.value * 1048576.0 / 1e9;
    } else if (const auto bytes = size_unit(unit); bytes && *bytes > 1 && row.size_bytes == 0) {
      row.size_bytes = number.value * *bytes;
    }
    if (row.rate_gbs) break;
  }
  if (!row.rate_gbs || *row.rate_gbs <= 0) return;
  row.source = sink.source(i);
  Sweep sweep;
  sweep.format = "fact";
  sweep.path = Path::kWire;
  sweep.operation = contains_ci(tool, "read") ? Operation::kRead : Operation::kWrite;
  sweep.title = std::string(tool);
  sweep.source = row.source;
  sweep.rows.push_back(std::move(row));
  sink.recognised("figures in prose");
  sink.claim(i);
  sink.add(std::move(sweep));
}

}  // namespace

void read_fact_line(const Document& document, std::size_t i, Sink& sink) {
  const std::string_view text = document.lines[i].text;
  if (text.size() > kLongestLine) return;
  const bool operation = contains_ci(text, "dispatch") || contains_ci(text, "combine");
  const auto ranks = ep_row(text);
  if (operation) {
    read_rates(document, i, sink);
  } else if (ranks) {
    read_ep_row(document, i, *ranks, sink);
  }
  if (operation || contains_ci(text, "send")) read_spans(text, i, sink);
  read_workload(text, i, sink);
  read_link_rate(text, i, sink);
}

}  // namespace shunt::logs
