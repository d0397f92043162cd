// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What lies between a kernel and the call around it, in benchmarks that time both.
#include <algorithm>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

/// Benchmarks that time both the call and its kernels.
bool times_calls(const Op& op) {
  return op.format == "hybridep" || op.format == "ep-bench";
}

const Op* partner(const Situation& s, const Op& kernel) {
  for (const Op& op : s.ops) {
    if (op.file == kernel.file && op.run == kernel.run && op.operation == kernel.operation &&
        op.span == logs::Span::kApi && op.variant == kernel.variant && op.time_us &&
        op.format == kernel.format) {
      return &op;
    }
  }
  return nullptr;
}

}  // namespace

void judge_overhead(const Situation& s, Findings& findings) {
  Finding finding;
  double worst = 0;
  for (const Op& op : s.ops) {
    if (op.span != logs::Span::kKernel || !op.time_us || !times_calls(op)) continue;
    const Op* api = partner(s, op);
    if (api == nullptr || !(*api->time_us > *op.time_us)) continue;
    const double gap = *api->time_us - *op.time_us;
    const double share = gap / *op.time_us;
    const std::string text = fmt::format("{:.0f} µs ({}) beyond its kernel", gap, percent(share));
    finding.evidence.push_back(
        {logs::to_string(op.operation),
         fmt::format(
             "call {:.1f} µs − kernel {:.1f} µs = {:.0f} µs", *api->time_us, *op.time_us, gap),
         op.rdma ? place(s, op.rdma->sample->source) : place(s, op.nvl->sample->source)});
    finding.sentence += fmt::format("{}{} spends {}",
                                    finding.sentence.empty() ? "" : ", ",
                                    logs::to_string(op.operation),
                                    text);
    worst = std::max(worst, share);
  }
  if (worst <= 0) return;
  for (const Op& op : s.ops) {
    if (!times_calls(op) || op.span != logs::Span::kApi || op.variant.empty() || !op.time_us) {
      continue;
    }
    for (const Op& plain : s.ops) {
      if (plain.file == op.file && plain.run == op.run && plain.operation == op.operation &&
          plain.span == op.span && plain.variant.empty() && plain.time_us &&
          plain.format == op.format) {
        finding.evidence.push_back({op.variant,
                                    fmt::format("{:.1f} − {:.1f} µs: {:+.0f} µs",
                                                *op.time_us,
                                                *plain.time_us,
                                                *op.time_us - *plain.time_us),
                                    "call against call"});
        break;
      }
    }
  }
  const Finding shell = Build("host-overhead",
                              worst >= 0.25 ? Severity::kWarning : Severity::kInfo,
                              Confidence::kHigh,
                              "call against kernel");
  finding.id = shell.id;
  finding.severity = shell.severity;
  finding.confidence = shell.confidence;
  finding.where = shell.where;
  finding.sentence = "Of the call's time, " + finding.sentence +
                     ": copies, allocation, launch and synchronisation, not the link.";
  finding.derivation =
      "API lines time the whole call, kernel lines the device kernels without the "
      "synchronisation around them";
  finding.action = worst >= 0.25 ? "Cached handle, no host synchronisation per call, CUDA graphs, "
                                   "fused permute; warm up before measuring."
                                 : "";
  findings.push_back(std::move(finding));
}

}  // namespace shunt::verdict::foreign
