// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/rules.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "base/units.hpp"
#include "verdict/thresholds.hpp"

namespace shunt::verdict {

std::optional<double> Facts::rating() const {
  const std::optional<double> rate = config().node_rate_bytes_per_s();
  if (!rate) return std::nullopt;
  return *rate / 1e9;
}

namespace {

double burst_bytes(const Facts& facts) {
  return static_cast<double>(facts.config().link_burst_bytes.value_or(0));
}

}  // namespace

Pipe pipe_of(const Facts& facts, const analysis::LinkMeasure& link) {
  Pipe pipe;
  const std::optional<double> rating = facts.rating();
  if (!rating || link.bytes.empty()) return pipe;
  pipe.burst_bytes = burst_bytes(facts);
  pipe.small_batch = pipe.burst_bytes >= kBurstIsBatch * link.bytes.p50;
  if (link.latency_ns.empty() || link.put_bytes_mean <= 0) return pipe;
  pipe.latency_ns = std::max(0.0, link.latency_ns.min - link.put_bytes_mean / *rating);
  const double in_pipe = *rating * pipe.latency_ns;
  pipe.bound = link.bytes.p50 / (link.bytes.p50 + in_pipe);
  pipe.puts_needed = 1 + in_pipe / link.put_bytes_mean;
  pipe.small_batch = pipe.small_batch || pipe.bound < kUnderused;
  pipe.filled = link.in_flight_mean >= pipe.puts_needed;
  return pipe;
}

bool burst_hides_rate(const Facts& facts, const analysis::LinkMeasure& link) {
  return burst_bytes(facts) > kBurstHidesRate * link.bytes.p50;
}

bool is_underused(const Facts& facts,
                  const analysis::OperationMeasure& operation,
                  const analysis::LinkMeasure& link) {
  if (!link.utilisation || *link.utilisation >= kUnderused || pipe_of(facts, link).small_batch) {
    return false;
  }
  // What leaves a node cannot be faster than what enters the others, and the reverse.
  return std::ranges::none_of(operation.links, [&](const analysis::LinkMeasure& other) {
    return other.incoming != link.incoming && other.node != link.node &&
           other.utilisation.value_or(0) >= kUnderused;
  });
}

std::string name_links(const std::vector<const analysis::LinkMeasure*>& links) {
  if (links.size() == 1) return links.front()->name;
  constexpr std::size_t kNamed = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(links.size(), kNamed); ++i) {
    names += (i == 0 ? "" : ", ") + links[i]->name;
  }
  return fmt::format("{} links: {}{}", links.size(), names, links.size() > kNamed ? ", …" : "");
}

const analysis::LinkMeasure* slowest_of(const std::vector<const analysis::LinkMeasure*>& links) {
  if (links.empty()) return nullptr;
  return *std::ranges::min_element(links, {}, [](const analysis::LinkMeasure* link) {
    return link->utilisation.value_or(link->rate.p50);
  });
}

std::string rating_text(const Facts& facts) {
  const double bytes_per_ns = facts.rating().value_or(0);
  return fmt::format("{:.4g} Gb/s = {:.4g} GB/s", bytes_per_ns * 8, bytes_per_ns);
}

std::string ns_text(double ns) {
  return format_ns(saturating_round<std::uint64_t>(ns));
}

std::string bytes_text(double bytes) {
  return format_bytes(saturating_round<std::uint64_t>(bytes));
}

std::string percent(double share) {
  return fmt::format("{} %", format_significant(share * 100));
}

std::string number(double value) {
  return format_significant(value);
}

std::optional<std::string> missing_for_utilisation(const Facts& facts) {
  if (facts.recording.run.shape.nodes < 2) return kNoLinks;
  bool windows = false;
  for (const analysis::OperationMeasure& operation : facts.measures.operations) {
    for (const analysis::LinkMeasure& link : operation.links) {
      windows = windows || !link.window_ns.empty();
    }
  }
  if (!windows) return kNoWindows;
  if (!facts.rating()) return kNoRating;
  return std::nullopt;
}

}  // namespace shunt::verdict
