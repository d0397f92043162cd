// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/sweeps.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "base/units.hpp"
#include "verdict/foreign/build.hpp"

namespace shunt::verdict::foreign {

using logs::Sweep;
using logs::SweepRow;

std::string size(double bytes) {
  return format_size(saturating_cast<std::uint64_t>(bytes));
}

/// bytes / time where both are printed: finer than the two printed decimals.
double fine_rate(const SweepRow& row) {
  if (row.time_us && *row.time_us > 0) return row.size_bytes / *row.time_us / 1e3;
  return row.rate_gbs.value_or(0);
}

const SweepRow* best_row(const Sweep& sweep) {
  const SweepRow* best = nullptr;
  for (const SweepRow& row : sweep.rows) {
    if (row.rate_gbs && (best == nullptr || *row.rate_gbs > *best->rate_gbs)) best = &row;
  }
  return best;
}

std::string device_of(const Sweep& sweep) {
  const auto device = sweep.settings.find("device");
  return device == sweep.settings.end() ? std::string() : device->second;
}

std::string title(const Situation& s, const Sweep& sweep) {
  std::string out = sweep.title.empty() ? logs::to_string(sweep.operation) : sweep.title;
  const auto device = sweep.settings.find("device");
  if (device != sweep.settings.end()) out += " " + device->second;
  if (s.evidence.files.size() > 1) {
    out += " (" + s.evidence.files[static_cast<std::size_t>(sweep.source.file)].name + ")";
  }
  return out;
}

void judge_cliff(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* before = nullptr;
  const SweepRow* after = nullptr;
  double worst = 2.0;
  for (std::size_t i = 1; i < sweep.rows.size(); ++i) {
    const SweepRow& a = sweep.rows[i - 1];
    const SweepRow& b = sweep.rows[i];
    if (!a.rate_gbs || !b.rate_gbs || b.size_bytes <= a.size_bytes || a.size_bytes < 65536)
      continue;
    if (*b.rate_gbs <= 0) continue;
    // A single odd row recovers; a cliff stays.
    double later = 0;
    for (std::size_t j = i + 1; j < sweep.rows.size(); ++j) {
      later = std::max(later, sweep.rows[j].rate_gbs.value_or(0));
    }
    const double drop = fine_rate(a) / fine_rate(b);
    if (drop > worst && later < 0.7 * *a.rate_gbs) {
      worst = drop;
      before = &a;
      after = &b;
    }
  }
  if (before == nullptr) return;
  Finding finding = Build("size-cliff",
                          Severity::kWarning,
                          Confidence::kHigh,
                          fmt::format("{}, above {}", title(s, sweep), size(before->size_bytes)));
  finding.sentence = fmt::format(
      "The rate falls from {} at {} to {} at {}, to 1/{:.1f}{}: another path or algorithm above "
      "that "
      "size, not a full link.",
      gbs(fine_rate(*before)),
      size(before->size_bytes),
      gbs(fine_rate(*after)),
      size(after->size_bytes),
      worst,
      before->time_us && after->time_us
          ? fmt::format(" ({:.2f} → {:.2f} ms, {:.1f} × the time for {:.0f} × the bytes)",
                        *before->time_us / 1e3,
                        *after->time_us / 1e3,
                        *after->time_us / *before->time_us,
                        after->size_bytes / before->size_bytes)
          : "");
  finding.evidence.push_back({"last fast row", before->source.text, place(s, before->source)});
  finding.evidence.push_back({"first slow row", after->source.text, place(s, after->source)});
  finding.action =
      "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=TUNING shows the switch of algorithm or "
      "protocol; compare with NCCL_ALGO and NCCL_PROTO fixed.";
  finding.confirm = "PFC and ECN counters during the large sizes";
  findings.push_back(std::move(finding));
}

void judge_inversion(const Situation& s, const Sweep& sweep, Findings& findings) {
  const SweepRow* slow = nullptr;
  const SweepRow* larger = nullptr;
  double worst = 2;
  for (std::size_t i = 1; i < sweep.rows.size(); ++i) {
    const SweepRow& a = sweep.rows[i - 1];
    const SweepRow& b = sweep.rows[i];
    const auto before = a.time_us ? a.time_us : a.latency_us;
    const auto after = b.time_us ? b.time_us : b.latency_us;
    // The first rows of a sweep warm up, and rows of a few bytes are noise.
    if (!before || !after || *after <= 0 || b.size_bytes <= a.size_bytes || i < 2 ||
        a.size_bytes < 1024) {
      continue;
    }
    if (*before / *after <= worst) continue;
    worst = *before / *after;
    slow = &a;
    larger = &b;
  }
  if (slow == nullptr) return;
  const double slow_us = slow->time_us ? *slow->time_us : *slow->latency_us;
  const double larger_us = larger->time_us ? *larger->time_us : *larger->latency_us;
  findings.push_back(
      Build("size-cliff",
            Severity::kWarning,
            Confidence::kMedium,
            fmt::format("{}, at {}", title(s, sweep), size(slow->size_bytes)))
          .say(fmt::format(
              "{} takes {:.1f} µs, {} only {:.1f} µs ({:.1f} × less for more bytes): at the "
              "smaller size another algorithm or path is taken, or an iteration stopped there.",
              size(slow->size_bytes),
              slow_us,
              size(larger->size_bytes),
              larger_us,
              worst))
          .because("more bytes over the same path cannot take less time")
          .fact("slow row", slow->source.text, place(s, slow->source))
          .fact("larger row", larger->source.text, place(s, larger->source))
          .act("Repeat the sweep; where it stays, fix the algorithm or its switching size.")
          .confirm("the minimum and maximum of the slow row's iterations"));
}

}  // namespace shunt::verdict::foreign
