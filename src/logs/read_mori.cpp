// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// MORI-EP's benchmark: receive counts, rounds, and the freeform summary of its reports. Its boxed
// tables are read by read_tables.
//   "rank 8 recv 26757 tokens 8166 rdma tokens"
//   "FP8 dispatch: best/avg RDMA bandwidth 60.00 / 55.18 XGMI bandwidth … GB/s | best/avg latency
//   …"
#include <utility>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool read_counts(std::string_view text, std::size_t i, Sink& sink) {
  const auto received = number_after(text, "recv ", "tokens");
  const auto rdma = number_before(text, "rdma tokens");
  const auto rank = number_after(text, "rank ");
  if (!received || !rdma || !rank) return false;
  TokenCount count;
  count.rank = index_of(*rank);
  count.received = received->value;
  count.node_copies = rdma->value;
  sink.recognised("MORI-EP");
  sink.add(i, std::move(count));
  return true;
}

/// "60.00 / 55.18" after `key`.
std::optional<std::pair<Number, Number>> pair_after(std::string_view text, std::string_view key) {
  const auto first = number_after(text, key);
  if (!first) return std::nullopt;
  std::size_t slash = first->end;
  while (slash < text.size() && is_space(text[slash])) ++slash;
  if (slash >= text.size() || text[slash] != '/') return std::nullopt;
  const auto second = number_at(text, slash + 1);
  if (!second) return std::nullopt;
  return std::pair{*first, *second};
}

bool read_summary(const Document& document, std::size_t i, Sink& sink) {
  const std::string_view text = document.lines[i].text;
  if (!contains_ci(text, "best/avg") || !contains_ci(text, "bandwidth")) return false;
  const auto latency = pair_after(text, "latency");
  Sample base;
  base.format = "mori";
  base.operation = contains_ci(text, "combine") ? Operation::kCombine : Operation::kDispatch;
  for (const std::string_view dtype : {"fp8", "bf16", "fp4"}) {
    if (contains_ci(text, dtype)) base.dtype = std::string(dtype);
  }
  base.span = Span::kApi;
  base.group = heading_of(document, i);
  if (const auto blocks = number_before(base.group, "blocks")) {
    base.settings["blocks"] = blocks->value;
  }
  bool any = false;
  for (const auto& [key, path] : {std::pair{"RDMA bandwidth", Path::kRdma},
                                  std::pair{"XGMI bandwidth", Path::kNvl},
                                  std::pair{"LL bandwidth", Path::kSelection}}) {
    const auto rates = pair_after(text, key);
    if (!rates) continue;
    for (const bool best : {true, false}) {
      Sample sample = base;
      const Number& rate = best ? rates->first : rates->second;
      sample.path = path;
      sample.best = best;
      sample.variant = best ? "best" : "average";
      sample.rate_gbs = rate.value;
      sample.rate_error = rate.half_ulp();
      if (latency) sample.time_us = best ? latency->first.value : latency->second.value;
      sink.add(i, std::move(sample));
      any = true;
    }
  }
  if (any) sink.recognised("MORI-EP");
  return any;
}

/// "Round i duration(us) […] bandwidth(GB/s) […] avg bytes(MB) x lat y bw z / z_ll"
bool read_round(const Document& document, std::size_t i, Sink& sink) {
  const std::string_view text = document.lines[i].text;
  if (!starts_with_ci(text, "Round ") || !contains_ci(text, "bytes(MB)")) return false;
  const auto bytes = number_after(text, "bytes(MB)");
  const auto latency = number_after(text, " lat ");
  const auto rate = number_after(text, " bw ");
  if (!bytes || !latency || !rate) {
    sink.truncated(i, "MORI round");
    return true;
  }
  Sample sample;
  sample.format = "mori";
  sample.operation =
      contains_ci(heading_of(document, i), "combine") ? Operation::kCombine : Operation::kDispatch;
  sample.path = Path::kNvl;
  sample.span = Span::kApi;
  if (const auto round = number_after(text, "Round ")) sample.run = index_of(*round).value_or(0);
  // Its "MB" is 2^20.
  sample.bytes = bytes->value * 1048576.0;
  sample.bytes_error = bytes->half_ulp() * 1048576.0 + 524288.0;
  sample.time_us = latency->value;
  sample.rate_gbs = rate->value;
  sample.rate_error = rate->half_ulp();
  sink.recognised("MORI-EP");
  sink.add(i, std::move(sample));
  return true;
}

}  // namespace

void read_mori(const Document& document, Sink& sink) {
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const std::string_view text = document.lines[i].text;
    if (sink.claimed(i) || text.empty()) continue;
    if (contains_ci(text, "rdma tokens") && read_counts(text, i, sink)) continue;
    if (text.find("best/avg") != kNone && read_summary(document, i, sink)) continue;
    read_round(document, i, sink);
  }
}

}  // namespace shunt::logs
