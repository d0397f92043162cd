// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/low_latency.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Sample;

void means(const std::map<int, const Sample*>& samples, double& time, double& bytes) {
  if (samples.empty()) return;
  for (const auto& [rank, sample] : samples) {
    time += *sample->time_us;
    if (sample->rate_gbs) bytes += *sample->rate_gbs * *sample->time_us * 1e3;
  }
  time /= static_cast<double>(samples.size());
  bytes /= static_cast<double>(samples.size());
}

}  // namespace

std::optional<LowLatency> low_latency_of(const Situation& situation, int file) {
  LowLatency out;
  out.file = file;
  int unnumbered = 0;
  for (const Sample& sample : situation.evidence.samples) {
    if (sample.source.file != file || sample.format != "deepep-low-latency" || !sample.time_us) {
      continue;
    }
    const bool halves = sample.variant == "send/recv";
    // Without rank prefixes each line of one kind is a rank of its own.
    const int rank = sample.rank ? *sample.rank : 100000 + unnumbered++;
    if (sample.rank) out.highest_rank = std::max(out.highest_rank, rank);
    if (sample.operation == Operation::kPair) out.pair[rank] = &sample;
    if (sample.operation == Operation::kDispatch) {
      (halves ? out.dispatch_halves : out.dispatch)[rank] = &sample;
    }
    if (sample.operation == Operation::kCombine) {
      (halves ? out.combine_halves : out.combine)[rank] = &sample;
    }
  }
  if (out.pair.empty() && out.dispatch.empty() && out.combine.empty() &&
      out.dispatch_halves.empty()) {
    return std::nullopt;
  }
  // The pair of the ranks whose phases are shown, where there are such ranks.
  std::map<int, const Sample*> same;
  for (const auto& [rank, sample] : out.pair) {
    if (out.dispatch.count(rank) != 0) same[rank] = sample;
  }
  means(same.empty() ? out.pair : same, out.pair_us, out.pair_bytes);
  means(out.dispatch, out.dispatch_us, out.dispatch_bytes);
  means(out.combine, out.combine_us, out.combine_bytes);
  const Shape& shape = situation.shapes[static_cast<std::size_t>(file)];
  if (shape.hidden) out.hidden = shape.hidden->value;
  if (shape.ranks_per_node) out.per_node = shape.ranks_per_node->value;
  if (out.combine_bytes > 0) {
    out.selections = out.combine_bytes / logs::bf16_row(out.hidden);
  } else if (out.pair_bytes > 0) {
    out.selections =
        out.pair_bytes / (logs::low_latency_message(out.hidden) + logs::bf16_row(out.hidden));
  } else if (out.dispatch_bytes > 0) {
    out.selections = out.dispatch_bytes / logs::low_latency_message(out.hidden);
  }
  if (shape.nodes) {
    out.nodes = shape.nodes->value;
  } else if (out.highest_rank >= out.per_node) {
    out.nodes = std::floor(out.highest_rank / out.per_node) + 1;
  }
  return out;
}

namespace {

std::string workload(const LowLatency& ll) {
  if (ll.selections <= 0) return {};
  const double tokens = std::ceil(ll.selections / 8 / 8 - 0.01) * 8;
  const double masked = tokens * 8 - ll.selections;
  std::string out = fmt::format("{:.0f} selections a rank", ll.selections);
  if (masked / (tokens * 8) < 0.03) {
    out += masked < 1.5
               ? fmt::format(" = {:.0f} tokens × top-8", tokens)
               : fmt::format(" = {:.0f} tokens × top-8 less {:.0f} masked", tokens, masked);
  }
  return out + fmt::format(" (hidden {:g}: {:.0f} B dispatched, {:.0f} B combined each)",
                           ll.hidden,
                           logs::low_latency_message(ll.hidden),
                           logs::bf16_row(ll.hidden));
}

}  // namespace

void add_low_latency_bytes(const Situation& s, const LowLatency& ll, Finding& finding) {
  const auto add =
      [&](const char* name, double us, double bytes, const std::map<int, const Sample*>& ranks) {
        if (us <= 0 || bytes <= 0) return;
        finding.evidence.push_back({name,
                                    fmt::format("{:.2f} MB in {:.1f} µs (mean of {} ranks) = {}",
                                                bytes / 1e6,
                                                us,
                                                ranks.size(),
                                                gbs(bytes / us / 1e3)),
                                    place(s, ranks.begin()->second->source)});
      };
  add("pair", ll.pair_us, ll.pair_bytes, ll.pair);
  add("dispatch", ll.dispatch_us, ll.dispatch_bytes, ll.dispatch);
  add("combine", ll.combine_us, ll.combine_bytes, ll.combine);
  if (const auto text = workload(ll); !text.empty()) {
    finding.evidence.push_back({"workload", text, "bytes"});
  }
}

}  // namespace shunt::verdict::foreign
