// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/low_latency.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace shunt::verdict::foreign
