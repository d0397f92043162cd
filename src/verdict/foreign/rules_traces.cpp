// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Foreign traces: what spans without bytes can say, cut files, clocks.
#include <algorithm>

#include <fmt/format.h>

#include "logs/arithmetic.hpp"
#include "logs/read_trace.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/trace_words.hpp"

namespace shunt::verdict::foreign {
namespace {

using trace::ForeignTrace;

void cut(const Situation& s, const logs::TraceFact& fact, Findings& findings) {
  const auto& summary = fact.trace.summary;
  if (!summary.ends_early_at) return;
  findings.push_back(
      Build("trace-cut", Severity::kNotice, Confidence::kHigh, rank_name(s, fact))
          .say(fmt::format(
              "The trace ends early at byte {}: the {} complete events before it are used, "
              "what follows is missing.",
              *summary.ends_early_at,
              summary.events))
          .fact("file", file_name(s, fact), summary.problem)
          .act("Export the trace again, or take what is said of this rank as a part of it.")
          .confirm("a complete file of the same run"));
}

struct PhaseMean {
  double span_us = 0;  ///< Mean over rounds of last end − first begin.
  std::size_t rounds = 0;
};

PhaseMean mean_of(const ForeignTrace& trace, const std::string& phase) {
  PhaseMean mean;
  for (const trace::Round& round : trace.rounds) {
    const auto found = round.phases.find(phase);
    if (found == round.phases.end()) continue;
    mean.span_us += us(found->second.end_ns - found->second.begin_ns);
    ++mean.rounds;
  }
  if (mean.rounds > 0) mean.span_us /= static_cast<double>(mean.rounds);
  return mean;
}

/// Remote record bytes of one dispatch as configured, 0 if tokens, hidden or nodes are unknown.
double dispatch_bytes(const Situation& s, int file) {
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  if (!shape.tokens || !shape.hidden || !shape.nodes || shape.nodes->value < 2) return 0;
  const double topk = shape.topk ? shape.topk->value : 8;
  const double experts = shape.experts ? shape.experts->value : 256;
  const double per_node = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
  const auto copies = logs::uniform_copies(experts, topk, shape.nodes->value, per_node);
  return shape.tokens->value * copies.node * logs::remote_share(shape.nodes->value) *
         logs::bf16_row(shape.hidden->value);
}

void add_phase_table(const logs::TraceFact& fact, const std::string& source, Finding& finding) {
  for (const trace::PhaseStats& phase : fact.trace.phases) {
    finding.evidence.push_back(
        {phase.phase,
         fmt::format("{} spans, mean {:.1f}, min {:.1f}, max {:.1f} µs; {:.1f} µs a round",
                     phase.spans,
                     phase.mean_ns() / 1000,
                     us(phase.min_ns),
                     us(phase.max_ns),
                     mean_of(fact.trace, phase.phase).span_us),
         source});
  }
}

/// The observations that operators check first, on spans alone.
void phases_of(const Situation& s, const logs::TraceFact& fact, Findings& findings) {
  const ForeignTrace& trace = fact.trace;
  if (trace.rounds.empty()) return;
  double round_us = 0;
  for (const trace::Round& round : trace.rounds) {
    round_us += us(round.whole.end_ns - round.whole.begin_ns);
  }
  round_us /= static_cast<double>(trace.rounds.size());
  const double send = mean_of(trace, "dispatch_inter_node_send").span_us;
  const double recv = mean_of(trace, "dispatch_inter_node_recv").span_us;
  const double combine = mean_of(trace, "combine_inter_node").span_us;
  const double sync = mean_of(trace, "dispatch_sync").span_us +
                      mean_of(trace, "combine_sync").span_us +
                      mean_of(trace, "combine_sync_barrier").span_us;
  const double bytes = dispatch_bytes(s, fact.source.file);
  const Rating& rating = s.ratings[static_cast<std::size_t>(fact.source.file)];
  std::string id = "trace-phases";
  Severity severity = Severity::kInfo;
  std::string verdict =
      "Spans carry no bytes and no wait: give --set tokens, hidden, topk, nodes and "
      "rate for rates.";
  const double floor_us = bytes > 0 && rating.known() ? bytes / rating.gbs / 1000 : 0;
  if (bytes > 0 && rating.known() && send > 0 && bytes / send / 1000 > rating.gbs) {
    id = "posting-time";
    severity = Severity::kNotice;
    verdict = fmt::format(
        "{:.3g} MB over the send span of {:.1f} µs would be {:.0f} GB/s on a {:g} GB/s link: the "
        "span is posting, not transfer. From first send to last receive they make "
        "{:.1f} GB/s at least.",
        bytes / 1e6,
        send,
        bytes / send / 1000,
        rating.gbs,
        recv > 0 ? bytes / std::max(recv, send) / 1000 : 0.0);
  } else if (floor_us > 0 && recv > 0 && floor_us > 0.85 * recv) {
    id = "saturated";
    severity = Severity::kNotice;
    verdict =
        fmt::format("The receive span of {:.1f} µs is what the bytes need on the link ({:.1f} µs).",
                    recv,
                    floor_us);
  } else if (sync > 0.4 * round_us) {
    id = "barrier-bound";
    severity = Severity::kWarning;
    verdict =
        fmt::format("Synchronisation phases take {:.1f} of {:.1f} µs a round.", sync, round_us);
  } else if (send > 0 && recv > 2 * send) {
    id = "receiver-waits";
    severity = Severity::kNotice;
    verdict = fmt::format(
        "The receive span ({:.1f} µs) is {:.1f} × the send span ({:.1f} µs): receivers wait for "
        "the fabric or for a late sender; a full link looks the same until bytes are "
        "known.",
        recv,
        recv / send,
        send);
  } else if (recv > 0 && combine > 2 * recv) {
    id = "combine-stall";
    severity = Severity::kNotice;
    verdict = fmt::format(
        "combine_inter_node ({:.1f} µs) takes {:.1f} × the dispatch receive ({:.1f} µs).",
        combine,
        combine / recv,
        recv);
  }
  Finding finding = Build(id, severity, Confidence::kLow, rank_name(s, fact));
  finding.sentence =
      fmt::format("{} {} rounds of {:.1f} µs in the mean.", verdict, trace.rounds.size(), round_us);
  if (trace.orphans > 0) {
    finding.sentence +=
        fmt::format(" {} begins or ends have no partner and are left out.", trace.orphans);
  }
  finding.sentence += " Decided on spans alone: waiting and copying are one span.";
  add_phase_table(fact, file_name(s, fact), finding);
  finding.action = "Record wait and copy separately, with bytes and peers (shunt's own spans do).";
  finding.confirm = "the other ranks' traces; NIC counters around the rounds";
  findings.push_back(std::move(finding));
}

void kernels_of(const Situation& s, const logs::TraceFact& fact, Findings& findings) {
  if (!fact.trace.rounds.empty()) return;
  Finding finding = Build("trace-phases", Severity::kInfo, Confidence::kHigh, rank_name(s, fact));
  if (fact.trace.phases.empty()) {
    finding.sentence = fmt::format(
        "{} events, none of a phase in the table: no communication kernel is known by name.",
        fact.trace.summary.events);
    finding.action =
        "Name the spans of interest in a phase table: lines 'part of a name -> phase'.";
  } else {
    finding.sentence = fmt::format(
        "{} with {} events: durations of communication kernels below. A duration holds the wait "
        "for the "
        "last rank, so no rate follows from one rank alone.",
        fact.trace.kind,
        fact.trace.summary.events);
    finding.action = "Give the traces of the other ranks to see who enters last.";
  }
  for (const trace::PhaseStats& phase : fact.trace.phases) {
    finding.evidence.push_back({phase.phase,
                                fmt::format("{} spans, mean {:.1f}, min {:.1f}, max {:.1f} µs",
                                            phase.spans,
                                            phase.mean_ns() / 1000,
                                            us(phase.min_ns),
                                            us(phase.max_ns)),
                                file_name(s, fact)});
  }
  finding.confirm = "traces of all ranks on one clock";
  findings.push_back(std::move(finding));
}

/// Files of one run whose clocks cannot be compared.
void unalignable(const Situation& s, Findings& findings) {
  const auto& traces = s.evidence.traces;
  std::size_t mori = 0;
  for (const logs::TraceFact& fact : traces) mori += fact.trace.kind == "MORI kernel trace" ? 1 : 0;
  if (mori < 2) return;
  findings.push_back(
      Build("trace-clocks", Severity::kInfo, Confidence::kHigh, "clocks")
          .say(fmt::format(
              "The {} kernel traces each start at their own zero: ranks cannot be aligned, so "
              "nothing is said of skew between them.",
              mori))
          .act("Compare durations only, or record with a common clock.")
          .confirm("host time stamps of each rank's first event"));
}

}  // namespace

double us(std::int64_t ns) {
  return static_cast<double>(ns) / 1000.0;
}

std::string file_name(const Situation& s, const logs::TraceFact& fact) {
  const std::string& path = s.evidence.files[static_cast<std::size_t>(fact.source.file)].name;
  return path.substr(path.find_last_of('/') + 1);
}

std::string rank_name(const Situation& s, const logs::TraceFact& fact) {
  const auto rank = fact.trace.summary.header.rank;
  return rank ? fmt::format("rank {}", *rank) : file_name(s, fact);
}

void judge_traces(const Situation& s, Findings& findings) {
  const auto& traces = s.evidence.traces;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (std::size_t j = i + 1; j < traces.size() && j < i + 9; ++j) {
      const auto& a = traces[i].trace.summary.header.rank;
      const auto& b = traces[j].trace.summary.header.rank;
      // Two files of one rank (whole and cut) are not two ranks.
      if ((a && b && *a == *b) || logs::is_cut_copy(s.evidence, traces[i]) ||
          logs::is_cut_copy(s.evidence, traces[j]))
        continue;
      if (traces[i].trace.kind == "MORI kernel trace") continue;
      judge_trace_skew(s, traces[i], traces[j], findings);
    }
  }
  unalignable(s, findings);
  for (const logs::TraceFact& fact : traces) {
    cut(s, fact, findings);
    phases_of(s, fact, findings);
    kernels_of(s, fact, findings);
  }
}

}  // namespace shunt::verdict::foreign
