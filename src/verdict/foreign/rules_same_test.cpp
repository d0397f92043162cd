// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One test of a link run twice: two ports, two kinds of memory, or two ways of running it.
#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Sweep;
using logs::SweepRow;

bool same_test(const Sweep& a, const Sweep& b) {
  const bool buffers = a.settings.count("buffers") != 0 && b.settings.count("buffers") != 0;
  return a.format == b.format && a.operation == b.operation &&
         (buffers || a.rows.size() == b.rows.size()) &&
         a.rows.back().size_bytes == b.rows.back().size_bytes;
}

}  // namespace

/// One test run twice at one size: on two ports one may be slow, on the same port something
/// changed.
void judge_same_test(const Situation& s, Findings& findings) {
  const Sweep* fast = nullptr;
  const Sweep* slow = nullptr;
  for (const Sweep& sweep : s.evidence.sweeps) {
    if ((sweep.format != "perftest" && sweep.settings.count("buffers") == 0) ||
        best_row(sweep) == nullptr) {
      continue;
    }
    if (fast != nullptr && !same_test(sweep, *fast)) continue;
    if (fast == nullptr || *best_row(sweep)->rate_gbs > *best_row(*fast)->rate_gbs) fast = &sweep;
    if (slow == nullptr || *best_row(sweep)->rate_gbs < *best_row(*slow)->rate_gbs) slow = &sweep;
  }
  if (fast == nullptr || fast == slow) return;
  const SweepRow& top = *best_row(*fast);
  const SweepRow& low = *best_row(*slow);
  const double share = *low.rate_gbs / *top.rate_gbs;
  if (share > (fast->format == "osu" ? 0.5 : 0.65) || *top.rate_gbs < 1) return;
  const bool ports = device_of(*fast) != device_of(*slow);
  const bool memory = fast->settings.count("memory") != slow->settings.count("memory");
  Finding finding = Build(ports ? "link-downgraded" : "runs-differ",
                          Severity::kWarning,
                          Confidence::kMedium,
                          title(s, *slow));
  const bool buffers = fast->settings.count("buffers") != 0 &&
                       fast->settings.at("buffers") != slow->settings.at("buffers");
  const char* why =
      buffers   ? "the buffers lie elsewhere, the link is the same: the path between GPU and NIC "
                  "is the limit in that direction"
      : ports   ? "one port runs below its partner"
      : !memory ? "the same device and size, so the way the test was run differs, not the link"
      : slow->settings.count("memory") != 0
          ? "the slow run moves GPU memory, the fast one host memory: the path between "
            "GPU and NIC is the limit, not the port"
          : "the slow run moves host memory, the fast one GPU memory: the host's memory "
            "or NUMA path is the limit, not the port";
  finding.sentence = fmt::format(
      "{} reaches {:.4g} Gb/s where {} reaches {:.4g} in the same test "
      "({}): {}.",
      ports || buffers ? title(s, *slow) : fmt::format("Line {}", low.source.line),
      *low.rate_gbs * 8,
      ports || buffers ? title(s, *fast) : fmt::format("line {}", top.source.line),
      *top.rate_gbs * 8,
      percent(share),
      why);
  finding.evidence.push_back(
      {ports ? "slow port" : "slow run", low.source.text, place(s, low.source)});
  finding.evidence.push_back(
      {ports ? "fast port" : "fast run", top.source.text, place(s, top.source)});
  finding.action =
      ports ? "Compare rate and width of both ports (ibstat), their PCIe links (lspci -vv LnkSta) "
              "and which GPU or NUMA node each is near to."
      : memory || buffers
          ? "nvidia-smi topo -m: the pair should be PIX or PXB; ACS off on the switches between, "
            "relaxed ordering on."
          : "Run both for 10 s (-D 10) with the same QPs and queue depth; a sweep (-a) warms up "
            "with smaller sizes, a single size does not.";
  findings.push_back(std::move(finding));
}

}  // namespace shunt::verdict::foreign
