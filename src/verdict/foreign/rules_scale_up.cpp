// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Beyond a link: rates that no NIC carries, and the scale-up side as the nearer limit.
#include <algorithm>

#include <fmt/format.h>

#include "logs/ratings.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/scale_up.hpp"

namespace shunt::verdict::foreign {

using logs::Operation;

double nvlink_from_topology(const logs::Evidence& evidence) {
  // 25 GB/s a link is the slowest NVLink in use: a lower bound of what the GPU has.
  constexpr double kPerLink = 25;
  double most = 0;
  for (const auto& fact : evidence.topologies) {
    const auto gpus = fact.topology.of_kind(cluster::DeviceKind::kGpu);
    for (const std::size_t a : gpus) {
      for (const std::size_t b : gpus) {
        const cluster::Path& path = fact.topology.path(a, b);
        if (a != b && path.kind == cluster::PathKind::kNvlink) {
          most = std::max(most, path.links * kPerLink);
        }
      }
    }
  }
  return most;
}

NvlLimit nvl_limit(const Situation& s, int file) {
  NvlLimit limit;
  if (const auto* gpu = s.evidence.find("gpu", file)) {
    if (const auto* rated = logs::rating_named(logs::RatedPart::kGpu, gpu->value)) {
      limit = {rated->usable_gbs > 0 ? rated->usable_gbs : rated->gbs * 0.92,
               rated->gbs,
               std::string(rated->name),
               true};
      return limit;
    }
  }
  if (const double link = nvlink_from_topology(s.evidence); link > 0) {
    limit = {link * 0.92, link, "the matrix's NVLink (25 GB/s a link at least)", true};
  }
  return limit;
}

double largest_nvl(const std::vector<const Op*>& ops) {
  double largest = 0;
  for (const Op* op : ops) {
    if (op->nvl && op->operation != Operation::kUnknown) largest = std::max(largest, op->nvl->rate);
    if (op->nvl && op->operation == Operation::kUnknown) largest = std::max(largest, op->nvl->rate);
  }
  return largest;
}

/// Above what any link here can carry once the own node is taken out.
void judge_exceeds(const Situation& s, Findings& findings) {
  for (const Op& op : s.ops) {
    if (!op.wire) continue;
    const Rating& rating = s.ratings[static_cast<std::size_t>(op.file)];
    const double limit = rating.known() ? rating.gbs * (rating.ambiguous ? 2 : 1) : 100;
    if (*op.wire <= limit * 1.03) continue;
    const bool bits = *op.wire / 8 <= limit && *op.wire / 8 > 0.02 * limit && *op.wire > 3 * limit;
    Finding finding = Build("exceeds-link",
                            Severity::kCritical,
                            rating.known() ? Confidence::kHigh : Confidence::kMedium,
                            op.name());
    finding.sentence = fmt::format(
        "{} cannot have crossed the NIC: {} remain on the wire after the own node is removed, {} "
        "the {} of {}. Refused as a link rate: wrong time span, column, unit or node count.",
        gbs(op.rdma->rate),
        gbs(*op.wire),
        fmt::format("{:.1f} ×", *op.wire / limit),
        rating.known() ? rating.what : "fastest single NIC",
        gbs(limit));
    finding.evidence.push_back({"printed", gbs(op.rdma->rate), place(s, op.rdma->sample->source)});
    finding.action = bits
                         ? "Read as Gb/s it would fit: check the unit."
                         : "Check which time the rate was divided by and how many nodes took part.";
    findings.push_back(std::move(finding));
    if (bits) {
      findings.push_back(
          Build("units", Severity::kWarning, Confidence::kMedium, op.name())
              .say(fmt::format("{} fits no link; {:.1f} Gb/s = {} would. One of the two units is "
                               "meant.",
                               gbs(op.rdma->rate),
                               op.rdma->rate,
                               gbs(op.rdma->rate / 8))));
    }
  }
}

void judge_nvlink(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    auto ops = s.ops_of(file);
    std::erase_if(ops, [](const Op* op) { return op->format == "deepep-v2"; });
    const double rate = largest_nvl(ops);
    if (rate <= 0) continue;
    const NvlLimit limit = nvl_limit(s, file);
    const bool rdma = std::ranges::any_of(ops, [](const Op* op) { return op->wire.has_value(); });
    const bool conditional = !limit.known && rdma && rate > 0.85 * 160 && rate < 1.06 * 160;
    if (limit.known ? rate < 0.85 * limit.usable : !conditional) continue;
    if (limit.known && rate > limit.rating * 1.15) continue;
    const double usable = limit.known ? limit.usable : 160;
    Finding finding = Build("nvlink-bound",
                            Severity::kNotice,
                            limit.known ? Confidence::kHigh : Confidence::kMedium,
                            "scale-up link");
    finding.sentence =
        fmt::format("{}the scale-up link is the nearer limit: {} printed is {} of the {} usable{}.",
                    limit.known ? "" : "On an H800-class GPU (the model is not in the input) ",
                    gbs(rate),
                    percent(rate / usable),
                    gbs(usable),
                    limit.known ? fmt::format(" on {}", limit.name) : std::string(" there"));
    if (limit.known) finding.sentence[0] = 'T';
    finding.derivation =
        "the printed rate counts the own rank's rows too: the link carries (W−1)/W of it in a "
        "domain of W ranks";
    finding.action = "More SMs or a faster NIC will not help; fewer rows over NVLink would.";
    findings.push_back(std::move(finding));
  }
}

}  // namespace shunt::verdict::foreign
