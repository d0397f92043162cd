// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Why a link is not full: too few bytes, too few puts in flight. A link stays busy while one put is
// on it and rating · latency bytes are under way: 1 + rating · latency / put puts in flight.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "verdict/rules.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::verdict {
namespace {

using analysis::LinkMeasure;
using analysis::OperationMeasure;
using record::Phase;

constexpr const char* kPairs = "puts paired with their arrivals";

/// Asks `test` of every link; one finding an operation, on its slowest link for which it holds.
RuleResult for_links(const Facts& facts,
                     const std::function<bool(const OperationMeasure&, const LinkMeasure&)>& test,
                     const std::function<Finding(const LinkMeasure&)>& describe) {
  RuleResult result{.missing = missing_for_utilisation(facts)};
  if (result.missing) return result;
  for (const OperationMeasure& operation : facts.measures.operations) {
    std::vector<const LinkMeasure*> found;
    for (const LinkMeasure& link : operation.links) {
      if (!link.window_ns.empty() && test(operation, link)) found.push_back(&link);
    }
    if (found.empty()) continue;
    Finding finding = describe(*slowest_of(found));
    finding.where = fmt::format("{}, {}", record::to_string(operation.kind), name_links(found));
    result.findings.push_back(std::move(finding));
  }
  return result;
}

void add_flight(const LinkMeasure& link, const Pipe& pipe, Finding& finding) {
  finding.evidence.push_back({"puts in flight",
                              fmt::format("{} mean, {} most, of {} each",
                                          number(link.in_flight_mean),
                                          link.in_flight_max,
                                          bytes_text(link.put_bytes_mean)),
                              kPairs});
  if (pipe.latency_ns <= 0) return;
  finding.evidence.push_back(
      {"latency", ns_text(pipe.latency_ns) + " beside the put's own time on the link", kPairs});
}

std::string derive_pipe(const Facts& facts, const LinkMeasure& link, const Pipe& pipe) {
  return fmt::format("1 + {} GB/s · {} / {} = {} puts needed in flight; {} seen",
                     number(facts.rating().value_or(0)),
                     ns_text(pipe.latency_ns),
                     bytes_text(link.put_bytes_mean),
                     number(pipe.puts_needed),
                     number(link.in_flight_mean));
}

bool unfilled(const Facts& facts, const OperationMeasure& operation, const LinkMeasure& link) {
  return is_underused(facts, operation, link) && !link.latency_ns.empty() &&
         !pipe_of(facts, link).filled;
}

bool one_put_a_queue(const LinkMeasure& link) {
  return link.qps_used > 0 && link.in_flight_max <= link.qps_used;
}

Finding small_batch(const Facts& facts, const LinkMeasure& link, const Pipe& pipe) {
  const double pipe_bytes = *facts.rating() * pipe.latency_ns;
  double wanted = pipe_bytes * kWantedBound / (1 - kWantedBound);
  wanted = std::max(wanted, pipe.burst_bytes / kBurstHidesRate);
  const double factor = std::ceil(wanted / std::max(1.0, link.bytes.p50));
  Finding finding{.id = "small-messages", .severity = Severity::kNotice};
  finding.sentence =
      fmt::format("the batch is too small for the link: {} in {:.0f} puts an operation, ",
                  bytes_text(link.bytes.p50),
                  link.puts.p50);
  finding.sentence += pipe.bound < kUnderused
                          ? fmt::format("which need {} at the rating while the window is {}",
                                        ns_text(link.bytes.p50 / *facts.rating()),
                                        ns_text(link.window_ns.p50))
                          : fmt::format("of which the emulated link lets {} pass at once",
                                        bytes_text(pipe.burst_bytes));
  finding.evidence.push_back({"bytes an operation", bytes_text(link.bytes.p50), "puts"});
  if (!link.latency_ns.empty()) add_flight(link, pipe, finding);
  if (pipe.bound < kUnderused) {
    finding.derivation = fmt::format("{0} / ({0} + {1} GB/s · {2}) = {3} at best",
                                     bytes_text(link.bytes.p50),
                                     number(*facts.rating()),
                                     ns_text(pipe.latency_ns),
                                     percent(pipe.bound));
  } else {
    finding.derivation = fmt::format("{} burst of the token bucket / {} = {} ≥ {}",
                                     bytes_text(pipe.burst_bytes),
                                     bytes_text(link.bytes.p50),
                                     percent(pipe.burst_bytes / std::max(1.0, link.bytes.p50)),
                                     percent(kBurstIsBatch));
  }
  finding.action = fmt::format(
      "{} tokens a rank or more would load the link; for so few, judge the latency, not the rate",
      static_cast<std::int64_t>(factor) * std::max<std::int64_t>(1, facts.config().tokens));
  finding.confirm = "the operation takes hardly longer with twice the tokens";
  return finding;
}

Finding small_puts(const Facts& facts, const LinkMeasure& link, const Pipe& pipe) {
  const double factor = std::ceil(kSmallPutBytes / link.put_bytes_mean);
  Finding finding{.id = "small-messages", .severity = Severity::kNotice};
  finding.sentence =
      fmt::format("puts of {} are too small: {} of them take {} of the window each, their bytes {}",
                  bytes_text(link.put_bytes_mean),
                  fmt::format("{:.0f}", link.puts.p50),
                  ns_text(link.window_ns.p50 / std::max(1.0, link.puts.p50)),
                  ns_text(link.put_bytes_mean / *facts.rating()));
  add_flight(link, pipe, finding);
  finding.derivation = derive_pipe(facts, link, pipe);
  finding.confidence = pipe.filled ? Confidence::kMedium : Confidence::kHigh;
  finding.action =
      fmt::format("raise --chunk from {} to {}",
                  facts.config().chunk_tokens,
                  static_cast<std::int64_t>(factor) * std::max(1, facts.config().chunk_tokens));
  finding.confirm = "utilisation rises with --chunk";
  return finding;
}

}  // namespace

RuleResult small_messages(const Facts& facts) {
  const auto few_bytes = [&](const LinkMeasure& link) { return pipe_of(facts, link).small_batch; };
  return for_links(
      facts,
      [&](const OperationMeasure& operation, const LinkMeasure& link) {
        if (few_bytes(link)) return true;
        return is_underused(facts, operation, link) && link.put_bytes_mean < kSmallPutBytes &&
               !link.latency_ns.empty() && link.puts.p50 > 1;
      },
      [&](const LinkMeasure& link) {
        const Pipe pipe = pipe_of(facts, link);
        return few_bytes(link) ? small_batch(facts, link, pipe) : small_puts(facts, link, pipe);
      });
}

RuleResult few_qps(const Facts& facts) {
  return for_links(
      facts,
      [&](const OperationMeasure& operation, const LinkMeasure& link) {
        return unfilled(facts, operation, link) && link.put_bytes_mean >= kSmallPutBytes &&
               one_put_a_queue(link);
      },
      [&](const LinkMeasure& link) {
        const Pipe pipe = pipe_of(facts, link);
        Finding finding{.id = "few-qps", .severity = Severity::kNotice};
        finding.sentence = fmt::format(
            "at most {} put{} in flight on {} queue pair{}, and the link needs {} of {} to stay "
            "busy",
            link.in_flight_max,
            link.in_flight_max == 1 ? "" : "s",
            link.qps_used,
            link.qps_used == 1 ? "" : "s",
            number(std::ceil(pipe.puts_needed)),
            bytes_text(link.put_bytes_mean));
        add_flight(link, pipe, finding);
        finding.derivation = derive_pipe(facts, link, pipe);
        finding.confidence = Confidence::kMedium;
        finding.action = fmt::format(
            "raise --qps from {} to {}",
            facts.config().qps,
            std::max(facts.config().qps + 1, static_cast<int>(std::ceil(pipe.puts_needed))));
        finding.confirm = "utilisation rises with --qps alone";
        return finding;
      });
}

RuleResult few_blocks(const Facts& facts) {
  const auto sending = [](const OperationMeasure& operation) {
    return operation.find(operation.kind == Phase::kCombine ? Phase::kCombineInterNode
                                                            : Phase::kDispatchInterNodeSend);
  };
  return for_links(
      facts,
      [&](const OperationMeasure& operation, const LinkMeasure& link) {
        const auto* send = sending(operation);
        return send != nullptr && unfilled(facts, operation, link) && !one_put_a_queue(link) &&
               link.put_bytes_mean >= kSmallPutBytes &&
               link.posting_ns.p50 >= kPostedLate * link.window_ns.p50 &&
               send->wait_ns.p50 < kMostly * send->dur_ns.p50;
      },
      [&](const LinkMeasure& link) {
        const Pipe pipe = pipe_of(facts, link);
        Finding finding{.id = "few-blocks", .severity = Severity::kNotice};
        finding.sentence = fmt::format(
            "the senders set the pace: they post for {} of a window of {}, busy rather than "
            "waiting, "
            "and keep {} puts in flight where {} are needed",
            ns_text(link.posting_ns.p50),
            ns_text(link.window_ns.p50),
            number(link.in_flight_mean),
            number(pipe.puts_needed));
        add_flight(link, pipe, finding);
        finding.derivation = derive_pipe(facts, link, pipe);
        finding.confidence = Confidence::kMedium;
        finding.action =
            fmt::format("raise --rdma-blocks from {}, as far as there are cores or multiprocessors",
                        facts.config().rdma_blocks);
        finding.confirm = "the time from first to last put posted shrinks";
        return finding;
      });
}

}  // namespace shunt::verdict
