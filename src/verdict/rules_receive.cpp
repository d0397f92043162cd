// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The two ends of a transfer against each other, and combine against its bytes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "verdict/rules.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::verdict {
namespace {

using analysis::LinkMeasure;
using analysis::OperationMeasure;
using analysis::PhaseMeasure;
using record::Phase;

constexpr const char* kSpans = "spans, p50 over ranks and iterations";

struct Ends {
  const OperationMeasure* dispatch = nullptr;
  const PhaseMeasure* send = nullptr;
  const PhaseMeasure* receive = nullptr;
};

std::optional<Ends> ends_of(const Facts& facts) {
  Ends ends{.dispatch = facts.measures.find(Phase::kDispatch)};
  if (ends.dispatch == nullptr) return std::nullopt;
  ends.send = ends.dispatch->find(Phase::kDispatchInterNodeSend);
  ends.receive = ends.dispatch->find(Phase::kDispatchInterNodeRecv);
  if (ends.send == nullptr || ends.receive == nullptr) return std::nullopt;
  return ends;
}

void add_ends(const Ends& ends, Finding& finding) {
  finding.evidence.push_back(
      {"send phase",
       fmt::format(
           "{}, {} of it waiting", ns_text(ends.send->dur_ns.p50), ns_text(ends.send->wait_ns.p50)),
       kSpans});
  finding.evidence.push_back({"receive phase",
                              fmt::format("{}, {} of it waiting",
                                          ns_text(ends.receive->dur_ns.p50),
                                          ns_text(ends.receive->wait_ns.p50)),
                              kSpans});
}

/// The link of `operation` that is furthest below its rating; nullptr if all are near it.
const LinkMeasure* worst_underused(const Facts& facts, const OperationMeasure& operation) {
  std::vector<const LinkMeasure*> low;
  for (const LinkMeasure& link : operation.links) {
    if (is_underused(facts, operation, link)) low.push_back(&link);
  }
  return slowest_of(low);
}

}  // namespace

RuleResult receiver_waits(const Facts& facts) {
  RuleResult result{.missing = missing_for_utilisation(facts)};
  if (result.missing) return result;
  const std::optional<Ends> ends = ends_of(facts);
  if (!ends) return {.missing = "no send or receive phase was recorded"};
  const bool longer = ends->receive->dur_ns.p50 >= kMuchLonger * ends->send->dur_ns.p50;
  const bool waits = ends->receive->wait_ns.p50 >= kMostly * ends->receive->dur_ns.p50;
  // A full link looks the same from its ends: only a window above bytes / rating tells them apart.
  const LinkMeasure* link = worst_underused(facts, *ends->dispatch);
  if (!longer || !waits || link == nullptr) return result;
  const bool sender = link->posting_ns.p50 >= kPostedLate * link->window_ns.p50;
  Finding finding{.id = "receiver-waits", .severity = Severity::kWarning};
  finding.where = fmt::format("dispatch, {}", link->name);
  finding.sentence = fmt::format(
      "receivers wait {} of {} for chunks on a link that is not full; {}, and rank {} → rank {} is "
      "last in {} of the iterations",
      ns_text(ends->receive->wait_ns.p50),
      ns_text(ends->receive->dur_ns.p50),
      sender ? "the puts are posted late" : "the puts are posted early and land late",
      link->last_source,
      link->last_target,
      percent(link->last_share));
  add_ends(*ends, finding);
  finding.evidence.push_back({"posting",
                              fmt::format("first to last put {} of a window of {}",
                                          ns_text(link->posting_ns.p50),
                                          ns_text(link->window_ns.p50)),
                              "puts and arrivals"});
  finding.derivation = fmt::format("window {} against {} / {} GB/s = {}",
                                   ns_text(link->window_ns.p50),
                                   bytes_text(link->bytes.p50),
                                   number(*facts.rating()),
                                   ns_text(link->bytes.p50 / *facts.rating()));
  finding.action =
      sender ? "look at the sender: its credits, its staging copies, its progress thread's core"
             : "look at the fabric between the two: other traffic, retransmission, a slower path";
  finding.confirm = "a plain put test between these two ranks shows the same rate";
  result.findings.push_back(std::move(finding));
  return result;
}

RuleResult receiver_idle(const Facts& facts) {
  if (facts.recording.run.shape.nodes < 2) return {.missing = kNoLinks};
  const std::optional<Ends> ends = ends_of(facts);
  if (!ends) return {.missing = "no send or receive phase was recorded"};
  RuleResult result;
  const profile::RunInfo& run = facts.recording.run;
  const double senders = run.shape.ranks_per_node * (run.shape.nodes - 1);
  double chunks = -1;
  for (const LinkMeasure& link : ends->dispatch->links) {
    if (!link.puts.empty()) chunks = std::max(chunks, link.puts.p50 / senders);
  }
  if (chunks < 0) return {.missing = kNoWindows};
  if (ends->receive->dur_ns.p50 * kMuchLonger > ends->send->dur_ns.p50 || chunks >= kFewChunks) {
    return result;
  }
  Finding finding{.id = "receiver-idle", .severity = Severity::kNotice};
  finding.where = "dispatch";
  finding.sentence = fmt::format(
      "receivers are done in {} while sending takes {}: {} chunk{} a rank and node do not load the "
      "link",
      ns_text(ends->receive->dur_ns.p50),
      ns_text(ends->send->dur_ns.p50),
      number(chunks),
      chunks == 1 ? "" : "s");
  add_ends(*ends, finding);
  finding.derivation = fmt::format("{} chunks < {}", number(chunks), number(kFewChunks));
  finding.action = fmt::format(
      "{} tokens a rank give {} chunks of {}; for fewer tokens, a smaller --chunk overlaps the "
      "ends",
      static_cast<std::int64_t>(std::ceil(kFewChunks / std::max(chunks, 0.25))) *
          std::max<std::int64_t>(1, run.config.tokens),
      number(kFewChunks),
      run.config.chunk_tokens);
  finding.confirm = "the receive phase grows with the tokens while the send phase hardly does";
  result.findings.push_back(std::move(finding));
  return result;
}

RuleResult combine_stall(const Facts& facts) {
  RuleResult result{.missing = missing_for_utilisation(facts)};
  if (result.missing) return result;
  const OperationMeasure* combine = facts.measures.find(Phase::kCombine);
  const PhaseMeasure* inter =
      combine == nullptr ? nullptr : combine->find(Phase::kCombineInterNode);
  if (inter == nullptr) return {.missing = "no combine_inter_node phase was recorded"};
  const LinkMeasure* busiest = nullptr;
  for (const LinkMeasure& link : combine->links) {
    if (link.window_ns.empty()) continue;
    if (busiest == nullptr || link.bytes.p50 > busiest->bytes.p50) busiest = &link;
  }
  if (busiest == nullptr) return {.missing = kNoWindows};
  const double wire_ns = busiest->bytes.p50 / *facts.rating();
  if (busiest->utilisation.value_or(1) >= kUnderused || pipe_of(facts, *busiest).small_batch ||
      inter->dur_ns.p50 < kMuchLonger * wire_ns) {
    return result;
  }
  const double wait = inter->wait_ns.p50 / std::max(1.0, inter->dur_ns.p50);
  const bool stalls = wait >= kMostly;
  Finding finding{.id = "combine-stall", .severity = Severity::kWarning};
  finding.where = fmt::format("combine, {}", busiest->name);
  finding.sentence = fmt::format(
      "combine_inter_node takes {}, its bytes {} at the rating: {}",
      ns_text(inter->dur_ns.p50),
      ns_text(wire_ns),
      stalls ? fmt::format("{} of it waits, a stall", percent(wait))
             : fmt::format("{} of it works, slowed by memory or by sums", percent(1 - wait)));
  finding.evidence.push_back({"combine_inter_node",
                              fmt::format("wait {}, reduce {}, copy {}, post {}",
                                          ns_text(inter->wait_ns.p50),
                                          ns_text(inter->reduce_ns.p50),
                                          ns_text(inter->copy_ns.p50),
                                          ns_text(inter->post_ns.p50)),
                              kSpans});
  std::string reasons;
  for (std::size_t i = 1; i < inter->wait_share_by_reason.size(); ++i) {
    if (inter->wait_share_by_reason[i] < kMaterial) continue;
    reasons += fmt::format("{}{} {}",
                           reasons.empty() ? "" : ", ",
                           record::to_string(static_cast<record::WaitReason>(i)),
                           percent(inter->wait_share_by_reason[i]));
  }
  if (stalls && !reasons.empty()) finding.evidence.push_back({"waits for", reasons, "wait spans"});
  finding.derivation = fmt::format("{} / ({} / {} GB/s) = {}",
                                   ns_text(inter->dur_ns.p50),
                                   bytes_text(busiest->bytes.p50),
                                   number(*facts.rating()),
                                   number(inter->dur_ns.p50 / std::max(1.0, wire_ns)));
  finding.action = stalls
                       ? "follow what it waits for: credits and arrivals point to the other side, "
                         "peers to a node peer that is late"
                       : "more --blocks, or fewer ranks that share the memory";
  finding.confirm = "the share of waiting in combine_inter_node falls";
  result.findings.push_back(std::move(finding));
  return result;
}

}  // namespace shunt::verdict
