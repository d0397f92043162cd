// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One time a rank, without bytes: whether a rank stands out.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Sample;

/// A rank's mean where it has several lines, and its slowest one.
struct Times {
  double sum = 0;
  int lines = 0;
  const Sample* slowest = nullptr;

  [[nodiscard]] double mean() const { return sum / lines; }
};

using Ranks = std::map<int, Times>;
/// File, heading, words of the line.
using Key = std::tuple<int, std::string, std::string>;

std::map<Key, Ranks> groups_of(const logs::Evidence& evidence) {
  std::map<Key, Ranks> groups;
  for (const Sample& sample : evidence.samples) {
    if (sample.format != "rank-times" || !sample.rank || !sample.time_us) continue;
    Times& times = groups[{sample.source.file, sample.group, sample.variant}][*sample.rank];
    times.sum += *sample.time_us;
    ++times.lines;
    if (times.slowest == nullptr || *sample.time_us > *times.slowest->time_us) {
      times.slowest = &sample;
    }
  }
  return groups;
}

std::string what(const Sample& sample) {
  const char* operation = logs::to_string(sample.operation);
  return sample.operation == logs::Operation::kUnknown ? std::string("the operation") : operation;
}

void judge(const Situation& s, const Ranks& ranks, Findings& findings) {
  if (ranks.size() < 3) return;
  const auto by_mean = [](const auto& a, const auto& b) {
    return a.second.mean() < b.second.mean();
  };
  const auto slow = std::ranges::max_element(ranks, by_mean);
  const auto fast = std::ranges::min_element(ranks, by_mean);
  std::vector<double> others;
  for (const auto& [rank, times] : ranks) {
    if (rank != slow->first) others.push_back(times.mean());
  }
  std::ranges::sort(others);
  const double median = others[others.size() / 2];
  const double most = slow->second.mean();
  const Sample& line = *slow->second.slowest;
  if (most < 1.12 * median) {
    findings.push_back(
        Build("unrated", Severity::kInfo, Confidence::kMedium, "times by rank")
            .say(fmt::format("{} ranks take {:.1f} to {:.1f} µs for {}: none stands out. Without "
                             "bytes no rate follows.",
                             ranks.size(),
                             fast->second.mean(),
                             most,
                             what(line)))
            .fact("slowest", line.source.text, place(s, line.source))
            .act("Paste the lines with rates, or the tokens, hidden size and top-k."));
    return;
  }
  findings.push_back(
      Build("slow-rank",
            Severity::kWarning,
            ranks.size() < 4 ? Confidence::kMedium : Confidence::kHigh,
            fmt::format("rank {}", slow->first))
          .say(fmt::format("Rank {} takes {:.1f} µs for {}, {:.2f} × the median {:.1f} µs of the "
                           "other {} ranks ({:.1f} to {:.1f}). Times alone do not tell whether it "
                           "has more to move or waits for a late peer.",
                           slow->first,
                           most,
                           what(line),
                           most / median,
                           median,
                           others.size(),
                           others.front(),
                           others.back()))
          .fact("line", line.source.text, place(s, line.source))
          .because(fmt::format("{:.1f} / {:.1f} = {:.2f}", most, median, most / median))
          .act("Compare the tokens each rank sends and receives; then its clocks, NIC and CPU "
               "binding with its neighbours'.")
          .confirm("bytes or rows by rank of the same rounds"));
}

}  // namespace

void judge_rank_times(const Situation& s, Findings& findings) {
  for (const auto& [key, ranks] : groups_of(s.evidence)) judge(s, ranks, findings);
}

}  // namespace shunt::verdict::foreign
