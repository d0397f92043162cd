// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Pasted tables of sizes and rates, compared with each other: rails, libraries.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Path;
using logs::Sweep;
using logs::SweepRow;

/// Sizes that both sweeps have, with the ratio a/b.
std::vector<std::pair<double, double>> ratios(const Sweep& a, const Sweep& b) {
  std::vector<std::pair<double, double>> out;
  for (const SweepRow& x : a.rows) {
    for (const SweepRow& y : b.rows) {
      if (x.size_bytes == y.size_bytes && x.rate_gbs && y.rate_gbs && *x.rate_gbs > 0 &&
          *y.rate_gbs > 0) {
        out.emplace_back(x.size_bytes, *x.rate_gbs / *y.rate_gbs);
      }
    }
  }
  return out;
}

std::string span_of(const std::vector<std::pair<double, double>>& pairs) {
  const auto [low, high] =
      std::ranges::minmax_element(pairs, {}, &std::pair<double, double>::second);
  return fmt::format("{:.2f}-{:.2f} ×", low->second, high->second);
}

void rails(const Situation& s, const Sweep& aligned, const Sweep& cross, Findings& findings) {
  const auto pairs = ratios(aligned, cross);
  if (pairs.size() < 2) return;
  const bool every = std::ranges::all_of(pairs, [](const auto& p) { return p.second > 1.3; });
  if (!every) return;
  const SweepRow* top_a = best_row(aligned);
  const SweepRow* top_c = best_row(cross);
  const double limit = 50;
  Finding finding = Build("cross-rail", Severity::kWarning, Confidence::kHigh, "all sizes");
  finding.sentence = fmt::format(
      "Cross-rail traffic runs at {} of rail-aligned traffic at every size ({} faster aligned): "
      "the "
      "path decides (incast, cross-rail hops), not the message size. Best {} across, {} aligned.",
      percent(*top_c->rate_gbs / *top_a->rate_gbs),
      span_of(pairs),
      gbs(*top_c->rate_gbs),
      gbs(*top_a->rate_gbs));
  const Rating& rating = s.ratings[static_cast<std::size_t>(aligned.source.file)];
  const double basis = rating.known() ? rating.gbs : limit;
  for (const auto& [bytes, ratio] : pairs) {
    for (const SweepRow& row : aligned.rows) {
      if (row.size_bytes != bytes) continue;
      finding.evidence.push_back(
          {size(bytes),
           fmt::format("aligned {} ({} of {}), cross {} ({}); {:.2f} ×; {:.2f} and {:.2f} M "
                       "messages/s",
                       gbs(*row.rate_gbs),
                       percent(*row.rate_gbs / basis),
                       gbs(basis),
                       gbs(*row.rate_gbs / ratio),
                       percent(*row.rate_gbs / ratio / basis),
                       ratio,
                       *row.rate_gbs * 1e3 / bytes,
                       *row.rate_gbs / ratio * 1e3 / bytes),
           place(s, row.source)});
    }
  }
  finding.derivation = rating.known() ? rating.from : "share of a 400 Gb/s NIC per GPU (assumed)";
  finding.action =
      "Send along rails only (same local index on every node) and forward inside the node.";
  findings.push_back(std::move(finding));
}

void two_libraries(const Situation& s, const Sweep& a, const Sweep& b, Findings& findings) {
  const auto pairs = ratios(a, b);
  if (pairs.size() < 3) return;
  const auto last = std::ranges::max_element(pairs, {}, &std::pair<double, double>::first);
  const Sweep& fast = last->second >= 1 ? a : b;
  const Sweep& slow = last->second >= 1 ? b : a;
  const double ratio = std::max(last->second, 1 / last->second);
  if (ratio < 1.4) return;
  const auto slope = [](const Sweep& sweep) -> double {
    const std::size_t n = sweep.rows.size();
    if (n < 2 || !sweep.rows[n - 1].time_us || !sweep.rows[n - 2].time_us) return 0;
    const SweepRow& x = sweep.rows[n - 2];
    const SweepRow& y = sweep.rows[n - 1];
    const double factor = y.rate_gbs.value_or(0) * *y.time_us * 1e3 / y.size_bytes;
    return (y.size_bytes - x.size_bytes) * factor / (*y.time_us - *x.time_us) / 1e3;
  };
  double cross_low = 0;
  double cross_high = 0;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    if ((pairs[i - 1].second - 1) * (pairs[i].second - 1) < 0) {
      cross_low = pairs[i - 1].first;
      cross_high = pairs[i].first;
    }
  }
  const SweepRow& row = slow.rows.back();
  const double factor =
      row.time_us && row.rate_gbs ? *row.rate_gbs * *row.time_us * 1e3 / row.size_bytes : 1;
  Finding finding = Build("software-bound",
                          Severity::kNotice,
                          Confidence::kHigh,
                          slow.settings.count("column") ? slow.settings.at("column") : slow.title);
  finding.sentence = fmt::format(
      "Not a link fault: on the same links {} reaches {} at {} where {} stays at {} ({:.1f} × "
      "apart), so "
      "the slower implementation is the limit.{}",
      fast.settings.count("column") ? fast.settings.at("column") : fast.title,
      gbs(fast.rows.back().rate_gbs.value_or(0)),
      size(last->first),
      slow.settings.count("column") ? slow.settings.at("column") : slow.title,
      gbs(slow.rows.back().rate_gbs.value_or(0)),
      ratio,
      cross_low > 0
          ? fmt::format(" Below {}-{} it is the faster one.", size(cross_low), size(cross_high))
          : "");
  if (slope(slow) > 0 && slope(fast) > 0) {
    finding.derivation = fmt::format(
        "slope between the last two sizes: {} and {}; printed rates count "
        "{:.2g} × the size column (peers)",
        gbs(slope(slow)),
        gbs(slope(fast)),
        factor);
  }
  finding.evidence.push_back({"last row", row.source.text, place(s, row.source)});
  findings.push_back(std::move(finding));
}

}  // namespace

void judge_tables(const Situation& s, Findings& findings) {
  const auto& sweeps = s.evidence.sweeps;
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    for (std::size_t j = i + 1; j < sweeps.size(); ++j) {
      const Sweep& a = sweeps[i];
      const Sweep& b = sweeps[j];
      if (a.format != "table" || b.format != "table" || a.source.file != b.source.file) continue;
      const bool a_cross = logs::contains_ci(a.title, "cross-rail");
      const bool b_cross = logs::contains_ci(b.title, "cross-rail");
      const bool a_rail = logs::contains_ci(a.title, "rail");
      const bool b_rail = logs::contains_ci(b.title, "rail");
      if (a_rail && b_rail && a_cross != b_cross) {
        a_cross ? rails(s, b, a, findings) : rails(s, a, b, findings);
      } else if (!a_rail && a.group == b.group) {
        two_libraries(s, a, b, findings);
      }
    }
  }
}

}  // namespace shunt::verdict::foreign
