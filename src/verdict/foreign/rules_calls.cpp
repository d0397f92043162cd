// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Low-latency benchmarks that print both the call's time and its kernels'.
#include <algorithm>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Sample;

const Sample* kernel_of(const Situation& s, const Sample& call) {
  for (const Sample& other : s.evidence.samples) {
    if (other.source.file == call.source.file && other.run == call.run &&
        other.operation == call.operation && other.format == call.format &&
        other.span == logs::Span::kKernel && other.path == call.path && other.time_us) {
      return &other;
    }
  }
  return nullptr;
}

}  // namespace

void judge_calls(const Situation& s, Findings& findings) {
  Finding finding =
      Build("host-overhead", Severity::kInfo, Confidence::kHigh, "call against kernel");
  double worst = 0;
  for (const Sample& call : s.evidence.samples) {
    if (call.format != "ep-bench" || call.path != logs::Path::kSelection ||
        call.span != logs::Span::kApi || !call.time_us) {
      continue;
    }
    const Sample* kernel = kernel_of(s, call);
    if (kernel == nullptr || *call.time_us <= *kernel->time_us) continue;
    const double gap = *call.time_us - *kernel->time_us;
    worst = std::max(worst, gap / *kernel->time_us);
    finding.sentence += fmt::format("{}{} spends {:.1f} µs ({}) beyond its kernel",
                                    finding.sentence.empty() ? "" : ", ",
                                    logs::to_string(call.operation),
                                    gap,
                                    percent(gap / *kernel->time_us));
    finding.evidence.push_back(
        {logs::to_string(call.operation),
         fmt::format("call {:.2f} µs, kernel {:.2f} µs", *call.time_us, *kernel->time_us),
         place(s, call.source)});
  }
  if (worst < 0.05) return;
  if (worst >= 0.25) finding.severity = Severity::kWarning;
  finding.sentence = "Of the call's time, " + finding.sentence +
                     ": launch, copies and synchronisation, not the link.";
  finding.derivation = "host-observed time − kernel time, both averages over the ranks";
  finding.action = worst >= 0.25 ? "Capture the step in a CUDA graph and keep the handle." : "";
  findings.push_back(std::move(finding));
}

}  // namespace shunt::verdict::foreign
