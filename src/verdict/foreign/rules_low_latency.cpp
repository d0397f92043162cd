// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Low-latency logs: separately timed phases contain the skew of their rank's entry, so they are
// compared with the chained pair before any link is blamed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/low_latency.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Sample;
using Ranks = std::map<int, const Sample*>;

double time_of(const Sample* sample) {
  return *sample->time_us;
}

std::pair<double, double> range(const Ranks& ranks) {
  double low = 1e300;
  double high = 0;
  for (const auto& [rank, sample] : ranks) {
    low = std::min(low, time_of(sample));
    high = std::max(high, time_of(sample));
  }
  return {low, high};
}

double node_mean(const Ranks& ranks, int node, double per_node) {
  double sum = 0;
  int n = 0;
  for (const auto& [rank, sample] : ranks) {
    if (saturating_cast<int>(rank / per_node) != node || rank >= 100000) continue;
    sum += time_of(sample);
    ++n;
  }
  return n == 0 ? 0 : sum / n;
}

/// The time that each phase took where nobody had to wait: the smallest over nodes (or ranks).
struct Fair {
  double dispatch = 0;
  double combine = 0;
};

Fair fair_times(const LowLatency& ll) {
  Fair fair{range(ll.dispatch).first, range(ll.combine).first};
  const double d0 = node_mean(ll.dispatch, 0, ll.per_node);
  const double d1 = node_mean(ll.dispatch, 1, ll.per_node);
  const double c0 = node_mean(ll.combine, 0, ll.per_node);
  const double c1 = node_mean(ll.combine, 1, ll.per_node);
  if (d0 > 0 && d1 > 0 && c0 > 0 && c1 > 0) fair = {std::min(d0, d1), std::min(c0, c1)};
  return fair;
}

/// Node (or rank) that waits in dispatch makes the others wait in combine: opposite differences.
bool opposite_skew(const Situation& s, const LowLatency& ll, Findings& findings) {
  if (ll.dispatch.size() < 2 || ll.combine.size() < 2) return false;
  const double d0 = node_mean(ll.dispatch, 0, ll.per_node);
  const double d1 = node_mean(ll.dispatch, 1, ll.per_node);
  const double c0 = node_mean(ll.combine, 0, ll.per_node);
  const double c1 = node_mean(ll.combine, 1, ll.per_node);
  const bool by_node = d0 > 0 && d1 > 0 && c0 > 0 && c1 > 0;
  double dispatch_gap = 0;
  double combine_gap = 0;
  std::string who;
  if (by_node) {
    dispatch_gap = d1 - d0;
    combine_gap = c1 - c0;
    who = fmt::format(
        "node 0: dispatch {:.1f} µs, combine {:.1f}; node 1: {:.1f}, {:.1f}", d0, c0, d1, c1);
  } else {
    const auto by_time = [](const auto& a, const auto& b) {
      return time_of(a.second) < time_of(b.second);
    };
    const auto fast = std::ranges::min_element(ll.dispatch, by_time);
    const auto slow = std::ranges::max_element(ll.dispatch, by_time);
    const auto fast_combine = ll.combine.find(fast->first);
    const auto slow_combine = ll.combine.find(slow->first);
    if (fast_combine == ll.combine.end() || slow_combine == ll.combine.end()) return false;
    dispatch_gap = time_of(slow->second) - time_of(fast->second);
    combine_gap = time_of(slow_combine->second) - time_of(fast_combine->second);
    who = fmt::format("rank {}: dispatch {:.1f} µs, combine {:.1f}; rank {}: {:.1f}, {:.1f}",
                      fast->first,
                      time_of(fast->second),
                      time_of(fast_combine->second),
                      slow->first,
                      time_of(slow->second),
                      time_of(slow_combine->second));
  }
  const double mean = ll.phase_sum() / 2;
  if (dispatch_gap * combine_gap >= 0 ||
      std::min(std::fabs(dispatch_gap), std::fabs(combine_gap)) < 0.12 * mean) {
    return false;
  }
  const Fair fair = fair_times(ll);
  Finding finding = Build(
      "skew", Severity::kWarning, Confidence::kHigh, by_node ? "between nodes" : "between ranks");
  finding.sentence = fmt::format(
      "Entry skew of about {:.0f} µs, not bandwidth: whoever enters dispatch first waits there, "
      "the "
      "other waits in combine ({}). All ranks move the same bytes; neither extreme is a link rate.",
      (std::fabs(dispatch_gap) + std::fabs(combine_gap)) / 2,
      who);
  add_low_latency_bytes(s, ll, finding);
  const double top = std::max(ll.dispatch_bytes / range(ll.dispatch).first,
                              ll.combine_bytes / range(ll.combine).first) /
                     1e3;
  if (by_node) {
    finding.evidence.push_back(
        {"lower bounds",
         fmt::format("dispatch ≥ {} (≤ {:.1f} µs), combine ≥ {} (≤ {:.1f} µs)",
                     gbs(ll.dispatch_bytes / fair.dispatch / 1e3),
                     fair.dispatch,
                     gbs(ll.combine_bytes / fair.combine / 1e3),
                     fair.combine),
         "smaller of the two nodes' means"});
    if (ll.nodes && *ll.nodes > 1) {
      const double share = logs::remote_share(*ll.nodes);
      finding.evidence.push_back({"wire, if NVLink serves the own node",
                                  fmt::format("dispatch ≥ {}, combine ≥ {} per GPU",
                                              gbs(ll.dispatch_bytes / fair.dispatch / 1e3 * share),
                                              gbs(ll.combine_bytes / fair.combine / 1e3 * share)),
                                  "arithmetic"});
    }
  } else if (ll.dispatch_halves.size() >= 2 && ll.combine_halves.size() >= 2) {
    double d = 0;
    double c = 0;
    for (const auto& [rank, sample] : ll.dispatch_halves) d += time_of(sample);
    for (const auto& [rank, sample] : ll.combine_halves) c += time_of(sample);
    d /= static_cast<double>(ll.dispatch_halves.size());
    c /= static_cast<double>(ll.combine_halves.size());
    finding.evidence.push_back({"kernels without waiting (send + recv)",
                                fmt::format("dispatch {:.1f} µs, combine {:.1f} µs", d, c),
                                place(s, ll.dispatch_halves.begin()->second->source)});
  }
  finding.derivation = fmt::format(
      "differences {:+.0f} µs in dispatch and {:+.0f} µs in combine: one shift explains both{}",
      dispatch_gap,
      combine_gap,
      ll.pair_us > 0
          ? fmt::format(
                "; phases sum to {:.0f} µs, the pair takes {:.0f}", ll.phase_sum(), ll.pair_us)
          : "");
  finding.action =
      "Judge by the chained pair, or put a barrier before each timed phase; look for what "
      "delays the late side (launch, CPU, clocks).";
  findings.push_back(std::move(finding));
  if (top > 100 && ll.pair_us > 0) {
    findings.push_back(
        Build("exceeds-link", Severity::kWarning, Confidence::kMedium, "phase rates")
            .say(fmt::format(
                "The highest printed phase rate {} is impossible as a link rate: half of "
                "it ({}) would leave a node of two, a 400 Gb/s NIC carries 50 GB/s. It is "
                "the late rank's time, which contains no waiting; the pair ran at {}.",
                gbs(top),
                gbs(top / 2),
                gbs(ll.pair_bytes / ll.pair_us / 1e3)))
            .because("printed rate × 1/2 (uniform selections over two nodes)"));
  }
  return true;
}

/// Phases longer together than the pair: they contain waiting.
bool waiting_in_phases(const Situation& s, const LowLatency& ll, Findings& findings) {
  if (!ll.has_phases() || ll.pair_us <= 0) return false;
  const double extra = ll.phase_sum() - ll.pair_us;
  if (extra < 0.08 * ll.pair_us) return false;
  Finding finding = Build("skew", Severity::kWarning, Confidence::kHigh, "phases against pair");
  finding.sentence = fmt::format(
      "The separately timed phases contain at least {:.0f} µs of waiting ({} of the pair): {:.1f} "
      "+ "
      "{:.1f} = {:.1f} µs, but the chained pair takes {:.1f} µs. Skew, not a bandwidth defect of "
      "one phase.",
      extra,
      percent(extra / ll.pair_us),
      ll.dispatch_us,
      ll.combine_us,
      ll.phase_sum(),
      ll.pair_us);
  finding.derivation =
      "work cannot take longer in pieces than chained; the excess is time spent "
      "waiting for late peers";
  add_low_latency_bytes(s, ll, finding);
  finding.action = "Judge by the pair; align the ranks (barrier) before timing a phase alone.";
  findings.push_back(std::move(finding));
  return true;
}

/// One half-phase longer than the whole pair (profiled send/recv kernels).
bool waiting_in_halves(const Situation& s, const LowLatency& ll, Findings& findings) {
  if (ll.dispatch_halves.empty() || ll.pair_us <= 0) return false;
  const auto [d_low, d_high] = range(ll.dispatch_halves);
  const auto [c_low, c_high] =
      ll.combine_halves.empty() ? std::pair{0.0, 0.0} : range(ll.combine_halves);
  const bool dispatch = d_high >= c_high;
  const double worst = std::max(d_high, c_high);
  if (worst < 1.2 * ll.pair_us) return false;
  const double sel = ll.selections;
  const double dispatch_bytes = sel * logs::low_latency_message(ll.hidden);
  const double combine_bytes = sel * logs::bf16_row(ll.hidden);
  Finding finding = Build("skew",
                          Severity::kWarning,
                          Confidence::kHigh,
                          dispatch ? "profiled dispatch" : "profiled combine");
  finding.sentence = fmt::format(
      "Waiting, not bandwidth: the profiled {} takes {:.0f} µs, {:.1f} times the whole dispatch + "
      "combine pair ({:.1f} µs at {}). A phase cannot outlast the pair: it contains the wait for "
      "late peers.",
      dispatch ? "dispatch" : "combine",
      worst,
      worst / ll.pair_us,
      ll.pair_us,
      gbs(ll.pair_bytes / ll.pair_us / 1e3));
  add_low_latency_bytes(s, ll, finding);
  finding.evidence.push_back(
      {"profiled dispatch",
       fmt::format("{:.0f}-{:.0f} µs = {}", d_low, d_high, gbs(dispatch_bytes / d_high / 1e3)),
       place(s, ll.dispatch_halves.begin()->second->source)});
  if (c_high > 0) {
    finding.evidence.push_back({"profiled combine",
                                fmt::format("{:.0f}-{:.0f} µs = {} (twice the bytes)",
                                            c_low,
                                            c_high,
                                            gbs(combine_bytes / c_high / 1e3)),
                                place(s, ll.combine_halves.begin()->second->source)});
  }
  finding.action =
      "Take the pair; barrier before profiling, or profile all ranks and compare starts.";
  findings.push_back(std::move(finding));
  return true;
}

/// The pair longer than its kernels: time between them.
bool gap_between_kernels(const Situation& s, const LowLatency& ll, Findings& findings) {
  if (!ll.has_phases() || ll.pair_us <= 0) return false;
  const double gap = ll.pair_us - ll.phase_sum();
  const double share = gap / ll.pair_us;
  if (share < 0.15) return false;
  const bool large = share >= 0.33;
  Finding finding = Build("host-overhead",
                          large ? Severity::kWarning : Severity::kInfo,
                          Confidence::kHigh,
                          "between kernels");
  finding.sentence = fmt::format(
      "{:.1f} µs of the pair ({}) are not inside its two kernels: {:.1f} + {:.1f} = {:.1f} µs of "
      "{:.1f}.{} In the kernels the ranks move {}, end to end {}.",
      gap,
      percent(share),
      ll.dispatch_us,
      ll.combine_us,
      ll.phase_sum(),
      ll.pair_us,
      large ? " Host-bound: launch, CPU, allocation." : "",
      gbs(ll.pair_bytes / ll.phase_sum() / 1e3),
      gbs(ll.pair_bytes / ll.pair_us / 1e3));
  add_low_latency_bytes(s, ll, finding);
  const Shape& shape = s.shapes[static_cast<std::size_t>(ll.file)];
  if (ll.nodes && *ll.nodes > 1 && shape.gpus_per_nic() > 1) {
    const double rate = ll.pair_bytes / ll.phase_sum() / 1e3 * shape.gpus_per_nic();
    const double world = *ll.nodes * ll.per_node;
    const double local = rate * logs::remote_share(*ll.nodes);
    finding.evidence.push_back(
        {"each NIC during kernels",
         fmt::format(
             "{:g} GPUs a NIC: {} if NVLink serves the own node ({} of 400 Gb/s), {} if all "
             "peers go by RDMA ({})",
             shape.gpus_per_nic(),
             gbs(local),
             percent(local / 50),
             gbs(rate * (world - 1) / world),
             rate * (world - 1) / world > 50.5 ? "more than one 400 Gb/s port carries"
                                               : percent(rate * (world - 1) / world / 50)),
         shape.nics_per_node ? shape.nics_per_node->from : ""});
  }
  finding.action = large
                       ? "Capture the step in a CUDA graph, keep buffers, pin the process; profile "
                         "the host between the kernels."
                       : "";
  findings.push_back(std::move(finding));
  return true;
}

/// One phase far below the other's rate while both together make up the pair: time that is not
/// bytes sits in that phase, on every rank alike.
bool uneven_phases(const Situation& s, const LowLatency& ll, Findings& findings) {
  if (!ll.has_phases() || ll.pair_us <= 0 || ll.dispatch_bytes <= 0 || ll.combine_bytes <= 0) {
    return false;
  }
  const double dispatch = ll.dispatch_bytes / ll.dispatch_us / 1e3;
  const double combine = ll.combine_bytes / ll.combine_us / 1e3;
  const bool late = dispatch < combine;
  const double slow_us = late ? ll.dispatch_us : ll.combine_us;
  const double needed =
      (late ? ll.dispatch_bytes : ll.combine_bytes) / (late ? combine : dispatch) / 1e3;
  if (std::max(dispatch, combine) / std::min(dispatch, combine) < 2.5 ||
      slow_us - needed < 0.25 * ll.pair_us) {
    return false;
  }
  Finding finding = Build(
      "receiver-waits", Severity::kWarning, Confidence::kMedium, late ? "dispatch" : "combine");
  finding.sentence = fmt::format(
      "{} takes {:.0f} µs for {:.2f} MB ({}), {} moves {:.2f} MB in {:.0f} µs ({}): at that rate "
      "it "
      "would take {:.0f} µs, so about {:.0f} µs of it are not bytes: a wait for a late peer or one "
      "with more tokens, or a fixed cost.",
      late ? "Dispatch" : "Combine",
      slow_us,
      (late ? ll.dispatch_bytes : ll.combine_bytes) / 1e6,
      gbs(std::min(dispatch, combine)),
      late ? "combine" : "dispatch",
      (late ? ll.combine_bytes : ll.dispatch_bytes) / 1e6,
      late ? ll.combine_us : ll.dispatch_us,
      gbs(std::max(dispatch, combine)),
      needed,
      slow_us - needed);
  add_low_latency_bytes(s, ll, finding);
  finding.derivation = "bytes of the slow phase / rate of the fast one, over the same links";
  finding.action =
      "Give every rank the same number of tokens, or profile all ranks and see which enters last.";
  finding.confirm = "the lines of all ranks, and a barrier before the timed phase";
  findings.push_back(std::move(finding));
  return true;
}

/// So few tokens that what a call costs anyway decides, not the link.
bool small_batch(const Situation& s, const LowLatency& ll, Findings& findings) {
  constexpr double kFew = 256;     // selections: 32 tokens × top-8
  constexpr double kUsual = 1024;  // 128 tokens × top-8, the benchmarks' default
  constexpr double kLinkGbs = 50;  // a 400 Gb/s NIC
  if (ll.pair_us <= 0 || ll.selections <= 0 || ll.selections > kFew) return false;
  const Rating& rating = s.ratings[static_cast<std::size_t>(ll.file)];
  const double link = rating.known() ? rating.gbs : kLinkGbs;
  const double needed = ll.pair_bytes / link / 1e3;
  if (needed > 0.6 * ll.pair_us) return false;
  Finding finding =
      Build("receiver-idle", Severity::kInfo, Confidence::kMedium, "dispatch + combine");
  finding.sentence = fmt::format(
      "A small batch: {:.0f} selections a rank (about {:.0f} tokens × top-8), {:.2f} MB in {:.0f} "
      "µs. {} would need {:.0f} µs for all of them, so most of the time is a call's fixed cost: "
      "its rate of {} says nothing of the link.",
      ll.selections,
      std::max(1.0, std::round(ll.selections / 8)),
      ll.pair_bytes / 1e6,
      ll.pair_us,
      rating.known() ? "The NIC" : "A 400 Gb/s NIC",
      needed,
      gbs(ll.pair_bytes / ll.pair_us / 1e3));
  add_low_latency_bytes(s, ll, finding);
  finding.derivation = fmt::format(
      "{:.2f} MB / {:g} GB/s = {:.1f} µs of {:.1f}; local selections "
      "included, so the NIC's part is smaller still",
      ll.pair_bytes / 1e6,
      link,
      needed,
      ll.pair_us);
  finding.action = fmt::format(
      "To judge the link take 128 tokens a rank or more ({:.0f} × these bytes); to shorten small "
      "batches look at launches, graphs and the number of kernels.",
      kUsual / ll.selections);
  findings.push_back(std::move(finding));
  return true;
}

}  // namespace

void judge_low_latency(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    const auto ll = low_latency_of(s, file);
    if (!ll) continue;
    bool explained = opposite_skew(s, *ll, findings);
    if (!explained) explained = waiting_in_halves(s, *ll, findings);
    if (!explained) explained = waiting_in_phases(s, *ll, findings);
    if (!explained) explained = gap_between_kernels(s, *ll, findings);
    if (!explained) explained = uneven_phases(s, *ll, findings);
    if (!explained) explained = small_batch(s, *ll, findings);
    judge_low_latency_ranks(s, *ll, findings);
    // Throughput kernels in the same paste load the link; what latency kernels leave unused is a
    // side remark.
    const bool throughput =
        std::ranges::any_of(s.ops_of(file), [](const Op* op) { return op->wire.has_value(); });
    judge_low_latency_wire(s, *ll, explained || throughput, findings);
  }
}

}  // namespace shunt::verdict::foreign
