// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// How full a link is, and what a span of posting is worth.
#include <algorithm>

#include <fmt/format.h>

#include "verdict/rules.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::verdict {
namespace {

using analysis::LinkMeasure;
using analysis::OperationMeasure;

constexpr const char* kWindowSource = "puts and arrivals, aligned clocks; rating of run.json";

void add_link_evidence(const Facts& facts,
                       const std::vector<const LinkMeasure*>& links,
                       Finding& finding) {
  for (const LinkMeasure* link : links) {
    finding.evidence.push_back({link->name,
                                fmt::format("{} in {}: {} GB/s, {} of the rating",
                                            bytes_text(link->bytes.p50),
                                            ns_text(link->window_ns.p50),
                                            number(link->rate.p50),
                                            percent(link->utilisation.value_or(0))),
                                kWindowSource});
    if (link->frame_utilisation) {
      finding.evidence.push_back({link->name + ", frames",
                                  percent(*link->frame_utilisation),
                                  "record bytes + estimated headers"});
    }
  }
  finding.evidence.push_back({"rating",
                              rating_text(facts),
                              facts.config().emulated_link ? "--emulate-link" : "--link-rate"});
}

std::string derive(const Facts& facts, const LinkMeasure& link) {
  return fmt::format("{} / {} = {} GB/s; / {} GB/s = {}",
                     bytes_text(link.bytes.p50),
                     ns_text(link.window_ns.p50),
                     number(link.rate.p50),
                     number(*facts.rating()),
                     number(link.utilisation.value_or(0)));
}

}  // namespace

RuleResult saturated(const Facts& facts) {
  RuleResult result{.missing = missing_for_utilisation(facts)};
  if (result.missing) return result;
  for (const OperationMeasure& operation : facts.measures.operations) {
    std::vector<const LinkMeasure*> full;
    for (const LinkMeasure& link : operation.links) {
      if (link.utilisation && *link.utilisation >= kFull && !burst_hides_rate(facts, link)) {
        full.push_back(&link);
      }
    }
    if (full.empty()) continue;
    const LinkMeasure& least = *slowest_of(full);
    Finding finding{.id = "saturated", .severity = Severity::kInfo};
    finding.where = fmt::format("{}, {}", record::to_string(operation.kind), name_links(full));
    finding.sentence = fmt::format(
        "{} full during {}: records fill {} of the rating ({}), for {} of the operation",
        full.size() == 1 ? "the link is" : "the links are",
        record::to_string(operation.kind),
        percent(*least.utilisation),
        rating_text(facts),
        percent(least.duty.p50));
    add_link_evidence(facts, full, finding);
    finding.derivation = derive(facts, least);
    finding.action =
        "only fewer bytes make it faster: a narrower type, fewer experts a token, or placement "
        "that keeps more tokens on their node";
    finding.confirm = "the time of the operation falls in proportion to --hidden or --topk";
    result.findings.push_back(std::move(finding));
  }
  return result;
}

RuleResult underused(const Facts& facts) {
  RuleResult result{.missing = missing_for_utilisation(facts)};
  if (result.missing) return result;
  for (const OperationMeasure& operation : facts.measures.operations) {
    std::vector<const LinkMeasure*> low;
    for (const LinkMeasure& link : operation.links) {
      if (is_underused(facts, operation, link)) low.push_back(&link);
    }
    if (low.empty()) continue;
    const LinkMeasure& least = *slowest_of(low);
    const double lost = least.window_ns.p50 * (1 - least.utilisation.value_or(0));
    Finding finding{.id = "underused", .severity = Severity::kNotice};
    finding.where = fmt::format("{}, {}", record::to_string(operation.kind), name_links(low));
    finding.sentence = fmt::format(
        "records fill {} of the rating ({}) while the link is in use: {} an operation are lost",
        percent(*least.utilisation),
        rating_text(facts),
        ns_text(lost));
    add_link_evidence(facts, low, finding);
    finding.evidence.push_back({"puts in flight",
                                fmt::format("{} mean, {} most, {} each",
                                            number(least.in_flight_mean),
                                            least.in_flight_max,
                                            bytes_text(least.put_bytes_mean)),
                                "puts and arrivals of " + least.name});
    finding.derivation = derive(facts, least);
    finding.action =
        "see the findings beside this one for the cause; without one, vary --chunk, --qps and "
        "--rdma-blocks one at a time";
    finding.confirm = "a plain put test between the same two nodes reaches the rating";
    result.findings.push_back(std::move(finding));
  }
  return result;
}

RuleResult posting_time(const Facts& facts) {
  RuleResult result{.missing = missing_for_utilisation(facts)};
  if (result.missing) return result;
  for (const OperationMeasure& operation : facts.measures.operations) {
    const LinkMeasure* worst = nullptr;
    for (const LinkMeasure& link : operation.links) {
      if (link.posting_rate.empty() || link.posting_rate.p50 <= *facts.rating()) continue;
      if (worst == nullptr || link.posting_rate.p50 > worst->posting_rate.p50) worst = &link;
    }
    if (worst == nullptr) continue;
    Finding finding{.id = "posting-time", .severity = Severity::kInfo};
    finding.where = fmt::format("{}, {}", record::to_string(operation.kind), worst->name);
    finding.sentence = fmt::format(
        "the send phase is posting time: its bytes over its span give {} GB/s on a link of {}",
        number(worst->posting_rate.p50),
        rating_text(facts));
    finding.evidence = {{"send phase",
                         fmt::format("{} GB/s", number(worst->posting_rate.p50)),
                         "dispatch_inter_node_send spans, union over the node's ranks"},
                        {"wire window",
                         fmt::format("{} in {}: {} GB/s",
                                     bytes_text(worst->bytes.p50),
                                     ns_text(worst->window_ns.p50),
                                     number(worst->rate.p50)),
                         kWindowSource}};
    finding.derivation = fmt::format("{} / send span = {} GB/s > {} GB/s",
                                     bytes_text(worst->bytes.p50),
                                     number(worst->posting_rate.p50),
                                     number(*facts.rating()));
    finding.action =
        "read the wire window for the rate; the send span only tells what posting costs";
    finding.confirm = "the last arrival lies after the end of the send span";
    result.findings.push_back(std::move(finding));
  }
  return result;
}

}  // namespace shunt::verdict
