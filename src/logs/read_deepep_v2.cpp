// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// DeepEP V2 (tests/elastic/test_ep.py): SO is scale-out (RDMA), SU scale-up; bytes are SU's.
//   " > Ranks: 2 x 8          > Experts: 8/256          > #SM: 12, #QPs: 65/65"
//   "   * EP:   3/16 | dispatch: 91 GB/s (SO), 301 GB/s (SU), 1290.400 us, 388211200 bytes
//       | copy: 3685 GB/s, 210.700 us"
#include <array>
#include <utility>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// "> Ranks: 2 x 8", "> Experts: 8/256", "> Tokens: 4096", "> Hidden: 7168".
bool read_header(std::string_view text, std::size_t line, Sink& sink) {
  bool any = false;
  if (const auto nodes = number_after(text, "Ranks:")) {
    if (const auto per_node = number_after(text.substr(nodes->end), "x ")) {
      sink.config(line, "nodes", fmt::format("{:.0f}", nodes->value), Origin::kLog);
      sink.config(line, "ranks_per_node", fmt::format("{:.0f}", per_node->value), Origin::kLog);
      any = true;
    }
  }
  if (const auto topk = number_after(text, "Experts:")) {
    const std::size_t slash = topk->end;
    if (slash < text.size() && text[slash] == '/') {
      if (const auto experts = number_at(text, slash + 1)) {
        sink.config(line, "topk", fmt::format("{:.0f}", topk->value), Origin::kLog);
        sink.config(line, "experts", fmt::format("{:.0f}", experts->value), Origin::kLog);
        any = true;
      }
    }
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOther{
      {{"Tokens:", "tokens"}, {"Hidden:", "hidden"}, {"#SM:", "sms"}, {"#QPs:", "qps"}}};
  for (const auto& [word, key] : kOther) {
    if (const auto number = number_after(text, word)) {
      sink.config(line, key, fmt::format("{:.0f}", number->value), Origin::kLog);
      any = true;
    }
  }
  if (starts_with_ci(text, "Testing with ")) {
    if (const auto fp8 = number_after(text, "use_fp8_dispatch=")) {
      sink.config(line, "dtype", fp8->value > 0 ? "fp8" : "bf16", Origin::kLog);
    }
    any = true;
  }
  if (any) sink.claim(line);
  return any;
}

bool read_row(const Document& document, std::size_t i, Sink& sink) {
  const std::string_view text = document.lines[i].text;
  const std::size_t ep = text.find("EP:");
  if (ep == kNone) return false;
  const auto rank = number_after(text, "EP:");
  if (!rank || rank->end >= text.size() || text[rank->end] != '/') return false;
  const auto world = number_at(text, rank->end + 1);
  const auto so = number_before(text, "GB/s (SO)");
  const auto su = number_before(text, "GB/s (SU)");
  const auto bytes = number_before(text, "bytes");
  std::optional<Number> time;
  if (su) time = number_before(text, "us", su->end);
  if (!world || !so || !su || !time || !bytes) {
    sink.truncated(i, "DeepEP V2");
    return true;
  }
  Sample sample;
  sample.format = "deepep-v2";
  sample.rank = index_of(*rank);
  sample.operation = contains_ci(text, "dispatch") ? Operation::kDispatch : Operation::kCombine;
  for (const std::string_view word : {"expanded", "cached", "reduced"}) {
    if (contains_ci(text, word)) sample.variant = std::string(word);
  }
  sample.span = Span::kKernel;
  sample.time_us = time->value;
  sample.group = heading_of(document, i);
  sample.settings["ranks"] = world->value;
  sink.config(i, "world", fmt::format("{:.0f}", world->value), Origin::kLog);
  sink.recognised("DeepEP V2");
  Sample out = sample;
  out.path = Path::kRdma;
  out.rate_gbs = so->value;
  out.rate_error = so->half_ulp();
  sink.add(i, std::move(out));
  Sample up = sample;
  up.path = Path::kNvl;
  up.rate_gbs = su->value;
  up.rate_error = su->half_ulp();
  up.bytes = bytes->value;
  up.bytes_error = 0.5;
  sink.add(i, std::move(up));
  for (const std::string_view word : {"copy:", "reduce:"}) {
    const auto rate = number_after(text, word, "GB/s");
    if (!rate) continue;
    const auto copy_time = number_before(text, "us", rate->end);
    if (!copy_time) continue;
    Sample copy = sample;
    copy.path = Path::kMemory;
    copy.rate_gbs = rate->value;
    copy.rate_error = rate->half_ulp();
    copy.time_us = copy_time->value;
    sink.add(i, std::move(copy));
  }
  return true;
}

}  // namespace

void read_deepep_v2(const Document& document, Sink& sink) {
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const std::string_view text = document.lines[i].text;
    if (sink.claimed(i) || text.empty()) continue;
    const bool row =
        text.find("EP:") != kNone && (text.find("(SO)") != kNone || text.find("(SU)") != kNone);
    if (row && read_row(document, i, sink)) continue;
    const bool header = text.find("> Ranks:") != kNone || starts_with_ci(text, "Ranks:") ||
                        starts_with_ci(text, "Testing with do_handle_copy") ||
                        (text.find("#SM:") != kNone && text.find("#QPs:") != kNone) ||
                        starts_with_ci(text, "Experts:");
    if (header) read_header(text, i, sink);
  }
}

}  // namespace shunt::logs
