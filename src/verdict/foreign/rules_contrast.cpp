// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations of one log against each other: combine against dispatch, many nodes against few,
// small chunks against large ones.
#include <algorithm>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Path;
using logs::Sample;

}  // namespace

/// Combine moves bf16 dispatch's bytes; well below its rate means something else stalls it.
void judge_asymmetry(const Situation& s, Findings& findings) {
  for (const Op& combine : s.ops) {
    if (combine.operation != Operation::kCombine || !combine.rdma || !combine.wire) continue;
    const Op* dispatch = nullptr;
    for (const Op& op : s.ops) {
      if (op.file == combine.file && op.operation == Operation::kDispatch && op.wire &&
          op.span == combine.span && op.run == combine.run && op.format == combine.format &&
          op.group == combine.group && (op.variant.empty() == combine.variant.empty()) &&
          (dispatch == nullptr || op.dtype == "bf16")) {
        dispatch = &op;
      }
    }
    if (dispatch == nullptr || dispatch->rdma->rate <= 0) continue;
    if (combine.format == "hybridep" && dispatch->dtype == "fp8") continue;
    const double ratio = combine.rdma->rate / dispatch->rdma->rate;
    if (ratio >= 0.75) continue;
    Finding finding = Build("combine-stall",
                            ratio < 0.3 ? Severity::kWarning : Severity::kNotice,
                            Confidence::kMedium,
                            "combine");
    finding.sentence = fmt::format(
        "Combine runs at {:.2f} of dispatch's rate ({} against {} printed){}: bytes do not explain "
        "it.",
        ratio,
        gbs(combine.rdma->rate),
        gbs(dispatch->rdma->rate),
        dispatch->dtype == "bf16" ? " with the same bytes" : "");
    finding.action =
        "On RoCE: congestion, hash collisions or retransmission; try adaptive or static "
        "routing and check PFC and DSCP. Else: NIC contention or a poll stall.";
    finding.confirm = "out_of_sequence, CNP and PFC pause counters during combine";
    finding.evidence.push_back(
        {"combine", combine.rdma->sample->source.text, place(s, combine.rdma->sample->source)});
    findings.push_back(std::move(finding));
    return;
  }
}

namespace {

/// Another operation keeps its rate over the same nodes: then the fabric is not what limits.
bool another_holds(const Situation& s, const Op& few, const Op& many) {
  for (const Op& before : s.ops) {
    if (before.file != few.file || before.operation == few.operation || !before.wire ||
        !before.nodes || before.nodes->value != few.nodes->value) {
      continue;
    }
    for (const Op& after : s.ops) {
      if (after.file == few.file && after.operation == before.operation &&
          after.dtype == before.dtype && after.variant == before.variant && after.wire &&
          after.nodes && after.nodes->value == many.nodes->value &&
          *after.wire > 0.85 * *before.wire) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

/// The same operation over more nodes, at less per GPU: what the fabric between them adds.
void judge_scaling(const Situation& s, Findings& findings) {
  for (const Op& few : s.ops) {
    if (!few.wire || few.operation == Operation::kUnknown || few.variant == "average") continue;
    const Op* worst = nullptr;
    for (const Op& many : s.ops) {
      const bool same = many.file == few.file && many.operation == few.operation &&
                        many.dtype == few.dtype && many.format == few.format &&
                        many.variant == few.variant && many.wire && many.nodes && few.nodes;
      if (!same || many.nodes->value <= few.nodes->value) continue;
      if (*many.wire < 0.7 * *few.wire && (worst == nullptr || *many.wire < *worst->wire)) {
        worst = &many;
      }
    }
    if (worst == nullptr || another_holds(s, few, *worst)) continue;
    findings.push_back(
        Build("runs-differ", Severity::kWarning, Confidence::kMedium, few.name())
            .say(fmt::format("From {:g} to {:g} nodes the wire rate per GPU falls from {} to {} "
                             "({:.2f} ×): what limits the "
                             "larger run lies in the fabric between the nodes, not in the NIC.",
                             few.nodes->value,
                             worst->nodes->value,
                             gbs(*few.wire),
                             gbs(*worst->wire),
                             *worst->wire / *few.wire))
            .fact("fewer nodes", few.rdma->sample->source.text, place(s, few.rdma->sample->source))
            .fact("more nodes",
                  worst->rdma->sample->source.text,
                  place(s, worst->rdma->sample->source))
            .act("Check the switch tier that only the larger run crosses: adaptive routing, ECMP "
                 "collisions, oversubscription, PFC; rail-aligned cabling.")
            .confirm("per-port counters on leaf and spine, CNP and out_of_sequence on the NICs"));
    return;
  }
}

/// A tuning sweep whose small RDMA chunks are slow.
void judge_chunks(const Situation& s, Findings& findings) {
  const Sample* slowest = nullptr;
  const Sample* fastest = nullptr;
  for (const Sample& sample : s.evidence.samples) {
    if (sample.path != Path::kRdma || !sample.rate_gbs) continue;
    const auto chunk = sample.settings.find("rdma_chunk");
    if (chunk == sample.settings.end() || sample.best) continue;
    if (slowest == nullptr) {
      slowest = fastest = &sample;
      continue;
    }
    if (sample.source.file != slowest->source.file || sample.operation != slowest->operation ||
        sample.group != slowest->group || sample.dtype != slowest->dtype) {
      continue;
    }
    if (chunk->second < slowest->settings.at("rdma_chunk")) slowest = &sample;
    if (*sample.rate_gbs > *fastest->rate_gbs) fastest = &sample;
  }
  if (slowest == nullptr || slowest == fastest) return;
  const double chunk = slowest->settings.at("rdma_chunk");
  const double share = *slowest->rate_gbs / *fastest->rate_gbs;
  if (share > 0.75 || chunk >= fastest->settings.at("rdma_chunk")) return;
  findings.push_back(
      Build("small-messages", Severity::kInfo, Confidence::kHigh, "tuning sweep")
          .say(fmt::format(
              "RDMA chunk {:g} reaches only {} of the best row (chunk {:g}): {:g} tokens "
              "a write are too few to fill the pipe.",
              chunk,
              percent(share),
              fastest->settings.at("rdma_chunk"),
              chunk))
          .because(fmt::format("{:g} × 14336 B = {:.0f} kB a write in bf16 at hidden 7168",
                               chunk,
                               chunk * 14336 / 1e3))
          .fact("slow row", slowest->source.text, place(s, slowest->source))
          .fact("best row", fastest->source.text, place(s, fastest->source)));
}

}  // namespace shunt::verdict::foreign
