// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Entry skew between ranks: collectives end together, so who starts last made the others wait.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "logs/read_trace.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/trace_words.hpp"

namespace shunt::verdict::foreign {
namespace {

using trace::ForeignTrace;
using trace::KernelSpan;

/// One kernel of each rank that ended together: the same collective.
struct Match {
  const KernelSpan* a = nullptr;
  const KernelSpan* b = nullptr;

  /// Positive: b came later.
  [[nodiscard]] std::int64_t skew() const { return b->begin_ns - a->begin_ns; }
  [[nodiscard]] std::int64_t end_gap() const { return std::abs(a->end_ns - b->end_ns); }
};

constexpr std::int64_t kEndTogether = 500000;  // ns: a collective lets its ranks go together

std::vector<Match> match_ends(const ForeignTrace& a, const ForeignTrace& b) {
  const std::int64_t offset = b.summary.header.base_ns - a.summary.header.base_ns;
  if (offset != 0) return {};
  std::vector<Match> matches;
  std::set<const KernelSpan*> taken;
  for (const KernelSpan& one : a.kernels) {
    auto at = std::lower_bound(
        b.kernels.begin(),
        b.kernels.end(),
        one.end_ns - kEndTogether,
        [](const KernelSpan& span, std::int64_t end) { return span.end_ns < end; });
    const KernelSpan* best = nullptr;
    for (; at != b.kernels.end() && at->end_ns <= one.end_ns + kEndTogether; ++at) {
      if (at->phase != one.phase || taken.count(&*at) != 0) continue;
      if (best == nullptr ||
          std::abs(at->end_ns - one.end_ns) < std::abs(best->end_ns - one.end_ns)) {
        best = &*at;
      }
    }
    if (best == nullptr) continue;
    taken.insert(best);
    matches.push_back({&one, best});
  }
  return matches;
}

/// Bounds on the rate of the first matched kernel after a call with bytes: transfer cannot start
/// before the later of the two ranks.
void add_rates(const Situation& s,
               const logs::TraceFact& fact,
               const std::vector<Match>& matches,
               bool first,
               Finding& finding) {
  for (const trace::CollectiveCall& call : fact.trace.calls) {
    const auto kernel = std::find_if(
        fact.trace.kernels.begin(), fact.trace.kernels.end(), [&call](const KernelSpan& span) {
          return span.phase == "all_to_all" && span.begin_ns >= call.begin_ns;
        });
    if (kernel == fact.trace.kernels.end()) continue;
    const auto match = std::find_if(matches.begin(), matches.end(), [&](const Match& m) {
      return (first ? m.a : m.b) == &*kernel;
    });
    if (match == matches.end()) continue;
    const std::int64_t start = std::max(match->a->begin_ns, match->b->begin_ns);
    const std::int64_t end = std::max(match->a->end_ns, match->b->end_ns);
    const auto span = static_cast<double>(end - start);
    const auto own = static_cast<double>(kernel->end_ns - kernel->begin_ns);
    if (span <= 0 || own <= 0) continue;
    const auto sent = static_cast<double>(call.sent_bytes);
    const auto received = static_cast<double>(call.received_bytes);
    finding.evidence.push_back(
        {rank_name(s, fact) + " all-to-all",
         fmt::format(
             "sends {} B, receives {} B: at least {:.2f} GB/s out and {:.2f} in over the {:.0f} "
             "µs from the later start; {:.2f} over its own span",
             call.sent_bytes,
             call.received_bytes,
             sent / span,
             received / span,
             span / 1000,
             sent / own),
         file_name(s, fact)});
    return;
  }
}

}  // namespace

void judge_trace_skew(const Situation& s,
                      const logs::TraceFact& one,
                      const logs::TraceFact& two,
                      Findings& findings) {
  const std::vector<Match> matches = match_ends(one.trace, two.trace);
  const std::size_t least = std::min(one.trace.kernels.size(), two.trace.kernels.size());
  if (matches.empty() || matches.size() * 4 < least) return;
  std::size_t b_later = 0;
  const Match* worst = &matches.front();
  double worst_share = 0;
  for (const Match& match : matches) {
    b_later += match.skew() > 0 ? 1 : 0;
    const KernelSpan* waiting = match.skew() > 0 ? match.a : match.b;
    const double share =
        us(std::abs(match.skew())) / std::max(1e-9, us(waiting->end_ns - waiting->begin_ns));
    if (std::abs(match.skew()) > std::abs(worst->skew())) worst = &match;
    worst_share = std::max(worst_share, share);
  }
  const bool b_mostly = b_later * 2 >= matches.size();
  const logs::TraceFact& late = b_mostly ? two : one;
  const std::size_t times = b_mostly ? b_later : matches.size() - b_later;
  const bool small = us(std::abs(worst->skew())) < 50 && worst_share < 0.1;
  Finding finding = Build("skew",
                          small ? Severity::kInfo : Severity::kWarning,
                          Confidence::kHigh,
                          rank_name(s, one) + ", " + rank_name(s, two));
  finding.sentence = fmt::format(
      "A kernel's duration is not transfer time: of {} collectives that end together on both "
      "ranks, {} "
      "enters later in {}, by up to {:.0f} µs; waiting for it takes up to {} of the other's span.",
      matches.size(),
      rank_name(s, late),
      times == matches.size() ? "all" : fmt::format("{}", times),
      us(std::abs(worst->skew())),
      percent(worst_share));
  if (matches.size() < std::max(one.trace.kernels.size(), two.trace.kernels.size())) {
    finding.sentence +=
        fmt::format(" {} of {} and {} of {} kernels have no partner and are left out.",
                    one.trace.kernels.size() - matches.size(),
                    one.trace.kernels.size(),
                    two.trace.kernels.size() - matches.size(),
                    two.trace.kernels.size());
  }
  const auto world = one.trace.summary.header.world;
  const auto shown = static_cast<int>(std::count_if(
      s.evidence.traces.begin(), s.evidence.traces.end(), [&s](const logs::TraceFact& fact) {
        return !logs::is_cut_copy(s.evidence, fact);
      }));
  if (world && *world > shown) {
    finding.sentence += fmt::format(
        " The other {} ranks are unknown: the real last arrival may be later still, so these are "
        "bounds.",
        *world - shown);
  }
  std::size_t listed = 0;
  for (const Match& match : matches) {
    if (++listed > 12) break;
    finding.evidence.push_back(
        {fmt::format("{} {}", match.a->phase, listed),
         fmt::format("{:.0f} and {:.0f} µs long, ends {:.0f} µs apart, {} enters {:.0f} µs later",
                     us(match.a->end_ns - match.a->begin_ns),
                     us(match.b->end_ns - match.b->begin_ns),
                     us(match.end_gap()),
                     rank_name(s, match.skew() > 0 ? two : one),
                     us(std::abs(match.skew()))),
         "both traces"});
  }
  add_rates(s, one, matches, true, finding);
  add_rates(s, two, matches, false, finding);
  finding.derivation =
      "kernels are paired by end times less than 0.5 ms apart; skew = difference of starts";
  finding.action = fmt::format(
      "Look at what {} does before the collective; no link is to blame for "
      "this part of the time.",
      rank_name(s, late));
  finding.confirm = "the compute kernels before the collective on both ranks; traces of all ranks";
  findings.push_back(std::move(finding));
}

}  // namespace shunt::verdict::foreign
