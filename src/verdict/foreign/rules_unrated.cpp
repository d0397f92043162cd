// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rates or latencies that nothing in the input rates: they are said as they are, with what would
// rate them. Runs last and only where no other rule had a word on the measurements.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Path;
using logs::Sweep;
using logs::SweepRow;

/// More than this and the sentence helps nobody.
constexpr std::size_t kMost = 4;

std::string latency(double us) {
  return us < 1 ? fmt::format("{:.0f} ns", us * 1e3) : fmt::format("{:.2f} µs", us);
}

/// The last row still gains: the sweep ended before its plateau.
bool rising(const Sweep& sweep) {
  const std::size_t n = sweep.rows.size();
  if (n < 2) return false;
  const SweepRow& last = sweep.rows[n - 1];
  const SweepRow& before = sweep.rows[n - 2];
  return last.rate_gbs && before.rate_gbs && *before.rate_gbs > 0 &&
         last.size_bytes > before.size_bytes && *last.rate_gbs > 1.15 * *before.rate_gbs;
}

std::string said(const Situation& s, const Sweep& sweep) {
  const SweepRow* best = best_row(sweep);
  if (best != nullptr && *best->rate_gbs > 0.05) {
    std::string text =
        fmt::format("{} {} at {}", title(s, sweep), gbs(fine_rate(*best)), size(best->size_bytes));
    if (best->bus_gbs && *best->bus_gbs > 0) {
      text += fmt::format(" (bus bandwidth {})", gbs(*best->bus_gbs));
    }
    if (rising(sweep)) text += ", still rising";
    return text;
  }
  const SweepRow* quickest = nullptr;
  double least = 0;
  for (const SweepRow& row : sweep.rows) {
    const auto time = row.latency_us ? row.latency_us : row.time_us;
    if (!time || *time <= 0 || row.size_bytes <= 0 || (quickest != nullptr && *time >= least))
      continue;
    quickest = &row;
    least = *time;
  }
  if (quickest == nullptr) return {};
  return fmt::format("{} {} at {}", title(s, sweep), latency(least), size(quickest->size_bytes));
}

std::string said(const Op& op) {
  const Figure* figure = op.nvl ? &*op.nvl : op.rdma ? &*op.rdma : nullptr;
  if (figure == nullptr || figure->rate <= 0) return {};
  return fmt::format("{} {} {}",
                     op.name(),
                     gbs(figure->rate),
                     op.nvl ? "inside the scale-up domain" : "by the benchmark's own count");
}

}  // namespace

void judge_unrated(const Situation& s, Findings& findings) {
  const bool taken = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.id != "ranks-missing"; });
  if (taken) return;
  std::vector<std::string> parts;
  const logs::Source* source = nullptr;
  for (const Sweep& sweep : s.evidence.sweeps) {
    if (sweep.rows.empty()) continue;
    std::string text = said(s, sweep);
    if (text.empty()) continue;
    if (source == nullptr) source = &sweep.rows.front().source;
    parts.push_back(std::move(text));
  }
  for (const Op& op : s.ops) {
    std::string text = said(op);
    if (text.empty()) continue;
    const Figure& figure = op.nvl ? *op.nvl : *op.rdma;
    if (source == nullptr && figure.sample != nullptr) source = &figure.sample->source;
    parts.push_back(std::move(text));
  }
  if (parts.empty() || source == nullptr) return;
  const std::size_t more = parts.size() > kMost ? parts.size() - kMost : 0;
  parts.resize(std::min(parts.size(), kMost));
  findings.push_back(
      Build("unrated", Severity::kInfo, Confidence::kHigh, "measurements")
          .say(fmt::format("Measured: {}{}. Nothing in the input rates the link, so this is no "
                           "utilisation.",
                           fmt::join(parts, "; "),
                           more > 0 ? fmt::format("; and {} more", more) : ""))
          .fact("first line", source->text, place(s, *source))
          .act("Say what the link is: --set rate=400G (NIC) or --set gpu=H100 (NVLink).")
          .confirm("the NIC's or GPU's model, or a bare-link test on the same path"));
}

}  // namespace shunt::verdict::foreign
