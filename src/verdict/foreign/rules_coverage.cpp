// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the paste lacks, and what therefore cannot be said.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/low_latency.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

std::string ranges(const std::set<int>& values) {
  std::string out;
  for (auto it = values.begin(); it != values.end();) {
    const int first = *it;
    int last = first;
    for (++it; it != values.end() && *it == last + 1; ++it) last = *it;
    out +=
        fmt::format("{}{}",
                    out.empty() ? "" : ", ",
                    first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return out;
}

void missing_ranks(const Situation& s, int file, Findings& findings) {
  const auto ll = low_latency_of(s, file);
  if (!ll || ll->highest_rank < 0) return;
  std::set<int> shown;
  for (const auto* ranks : {&ll->pair, &ll->dispatch}) {
    for (const auto& [rank, sample] : *ranks) shown.insert(rank);
  }
  int world = ll->highest_rank + 1;
  if (ll->nodes) world = std::max(world, saturating_cast<int>(*ll->nodes * ll->per_node));
  if (world > 4096) return;
  std::set<int> missing;
  for (int rank = 0; rank < world; ++rank) {
    if (shown.count(rank) == 0) missing.insert(rank);
  }
  if (missing.empty()) return;
  std::string nodes;
  for (int node = 0; node * ll->per_node < world; ++node) {
    bool all = true;
    for (int i = 0; i < ll->per_node; ++i) {
      all = all && missing.count(saturating_cast<int>(node * ll->per_node) + i) != 0;
    }
    if (all) nodes += fmt::format("{}{}", nodes.empty() ? "" : ", ", node);
  }
  findings.push_back(
      Build("ranks-missing", Severity::kInfo, Confidence::kHigh, "paste")
          .say(fmt::format("Of {} ranks, {} have no complete line{}.",
                           world,
                           ranges(missing),
                           nodes.empty() ? ""
                                         : fmt::format("; node {} is not shown at all, so skew "
                                                       "between nodes cannot be computed",
                                                       nodes))));
}

void missing_operations(const Situation& s, int file, Findings& findings) {
  bool fp8 = false;
  bool bf16 = false;
  bool combine = false;
  bool any = false;
  for (const Op* op : s.ops_of(file)) {
    if (op->format != "deepep-internode" || op->operation == logs::Operation::kUnknown) continue;
    any = true;
    combine = combine || op->operation == logs::Operation::kCombine;
    if (op->operation == logs::Operation::kDispatch) {
      fp8 = fp8 || op->dtype == "fp8";
      bf16 = bf16 || op->dtype == "bf16";
    }
  }
  if (!any || (fp8 && bf16 && combine)) return;
  std::string lacks;
  const auto add = [&](bool have, const char* name) {
    if (!have) lacks += fmt::format("{}{}", lacks.empty() ? "" : ", ", name);
  };
  add(fp8, "FP8 dispatch");
  add(bf16, "BF16 dispatch");
  add(combine, "combine");
  findings.push_back(
      Build("ranks-missing", Severity::kInfo, Confidence::kHigh, "paste")
          .say(fmt::format("No best line for {}: nothing is said about it.", lacks)));
}

void truncated(const Situation& s, Findings& findings) {
  if (s.evidence.truncated.empty()) return;
  const auto& first = s.evidence.truncated.front();
  findings.push_back(Build("ranks-missing", Severity::kInfo, Confidence::kHigh, "cut lines")
                         .say(fmt::format("{} line{} cut or damaged and not used.",
                                          s.evidence.truncated.size(),
                                          s.evidence.truncated.size() == 1 ? " is" : "s are"))
                         .fact("first", first.source.text, place(s, first.source)));
}

/// Files that measure the same thing: what changed.
void compare_files(const Situation& s, Findings& findings) {
  std::map<int, LowLatency> logs;
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    if (auto ll = low_latency_of(s, file)) logs.emplace(file, std::move(*ll));
  }
  if (logs.size() != 2) return;
  const LowLatency& a = logs.begin()->second;
  const LowLatency& b = std::next(logs.begin())->second;
  if (!a.has_phases() || !b.has_phases()) return;
  findings.push_back(
      Build("runs-differ", Severity::kInfo, Confidence::kHigh, "two files")
          .say(fmt::format(
              "{} → {}: pair {:.1f} → {:.1f} µs, dispatch {:.1f} → {:.1f}, combine {:.1f} → "
              "{:.1f}, sum of phases {:.0f} → {:.0f} µs.",
              s.evidence.files[static_cast<std::size_t>(a.file)].name,
              s.evidence.files[static_cast<std::size_t>(b.file)].name,
              a.pair_us,
              b.pair_us,
              a.dispatch_us,
              b.dispatch_us,
              a.combine_us,
              b.combine_us,
              a.phase_sum(),
              b.phase_sum())));
}

}  // namespace

void judge_coverage(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    missing_ranks(s, file, findings);
    missing_operations(s, file, findings);
  }
  truncated(s, findings);
  compare_files(s, findings);
}

}  // namespace shunt::verdict::foreign
