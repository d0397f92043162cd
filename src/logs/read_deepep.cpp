// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// DeepEP V1 tuning lines, internode and intranode, every generation, and the forks that kept them.
// The three internode generations differ in where they put the times:
//   "…: 39.1 GB/s (RDMA), 127.8 GB/s (NVL)"
//   "…, transmit: 2988.00 us, notify: 88.41 us, BW: 39.1 GB/s (RDMA), 127.8 GB/s (NVL)"
//   "…: 88 + 2988 us, 39.1 GB/s (RDMA), 127.8 GB/s (NVL)"      (notify + transmit)
#include <utility>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

void read_times(std::string_view text, Sample& sample) {
  if (const auto transmit = number_after(text, "transmit:", "us")) {
    sample.time_us = transmit->value;
    if (const auto notify = number_after(text, "notify:", "us")) sample.notify_us = notify->value;
    return;
  }
  // "A + B us" anywhere: notify + transmit.
  for (std::size_t plus = text.find('+'); plus != kNone; plus = text.find('+', plus + 1)) {
    const auto second = number_after(text.substr(plus), "+", "us");
    const auto first = number_before(text.substr(0, plus + 1), "+");
    if (first && second) {
      sample.notify_us = first->value;
      sample.time_us = second->value;
      return;
    }
  }
  for (const std::string_view key : {"avg_t:", " t:", "GB/s (NVL),"}) {
    if (const auto time = number_after(text, key, "us")) {
      sample.time_us = time->value;
      return;
    }
  }
}

void read_settings(std::string_view text, Sample& sample) {
  if (const auto sms = number_after(text, "SMs ")) sample.settings["sms"] = sms->value;
  if (const auto nvl = number_after(text, "NVL chunk ")) sample.settings["nvl_chunk"] = nvl->value;
  if (const auto rdma = number_after(text, "RDMA chunk ")) {
    sample.settings["rdma_chunk"] = rdma->value;
  }
}

/// "Best dispatch (FP8):", "Best combine:".
void read_best(std::string_view text, Sample& sample) {
  const std::size_t best = find_ci(text, "best ");
  if (best == kNone) return;
  const std::string_view rest = text.substr(best + 5);
  sample.best = true;
  if (starts_with_ci(rest, "dispatch")) sample.operation = Operation::kDispatch;
  if (starts_with_ci(rest, "combine")) sample.operation = Operation::kCombine;
  const std::size_t open = rest.find('(');
  const std::size_t colon = rest.find(':');
  if (open != kNone && colon != kNone && open < colon) {
    const std::size_t close = rest.find(')', open);
    if (close != kNone && close < colon + 1) {
      sample.dtype = lowered(trim(rest.substr(open + 1, close - open - 1)));
    }
  }
  if (sample.operation == Operation::kCombine && sample.dtype.empty()) sample.dtype = "bf16";
}

/// A row of the sweep says its operation only through the "Best" line that closes the sweep.
struct PendingRows {
  std::vector<std::size_t> samples;

  /// The sink refuses absurd figures: only what it kept has an index.
  void add(const std::vector<Sample>& all, std::size_t line, Sample sample, Sink& sink) {
    const bool best = sample.best;
    const std::size_t index = all.size();
    sink.add(line, std::move(sample));
    if (!best && all.size() > index) samples.push_back(index);
  }

  void close(std::vector<Sample>& all, const Sample& best) {
    for (const std::size_t index : samples) {
      all[index].operation = best.operation;
      all[index].dtype = best.dtype;
    }
    samples.clear();
  }
};

bool is_housekeeping(std::string_view text) {
  return text.find("[testing]") != kNone || text.find("[layout]") != kNone;
}

}  // namespace

void read_deepep(const Document& document, Sink& sink) {
  PendingRows pending;
  std::vector<Sample>& all = sink.evidence().samples;
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const std::string_view text = document.lines[i].text;
    if (sink.claimed(i)) continue;
    const bool tuning = text.find("[tuning]") != kNone ||
                        (contains_ci(text, "SMs ") && contains_ci(text, "NVL chunk"));
    if (!tuning) {
      if (is_housekeeping(text)) sink.claim(i);
      continue;
    }
    Sample sample;
    const auto rdma = number_before(text, "GB/s (RDMA)");
    const auto nvl = number_before(text, "GB/s (NVL)");
    const bool internode = contains_ci(text, "RDMA");
    if (!nvl || (internode && !rdma)) {
      sink.truncated(i, internode ? "DeepEP internode" : "DeepEP tuning");
      continue;
    }
    sample.format = internode ? "deepep-internode" : "deepep-intranode";
    sink.recognised(internode ? "DeepEP V1 internode" : "DeepEP V1 intranode");
    sample.span = Span::kKernel;
    sample.group = heading_of(document, i);
    read_times(text, sample);
    read_settings(text, sample);
    read_best(text, sample);
    if (sample.best) pending.close(all, sample);
    if (rdma) {
      Sample wire = sample;
      wire.path = Path::kRdma;
      wire.rate_gbs = rdma->value;
      wire.rate_error = rdma->half_ulp();
      pending.add(all, i, std::move(wire), sink);
    }
    sample.path = Path::kNvl;
    sample.rate_gbs = nvl->value;
    sample.rate_error = nvl->half_ulp();
    pending.add(all, i, std::move(sample), sink);
  }
}

}  // namespace shunt::logs
