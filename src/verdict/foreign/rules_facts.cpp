// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A bare rate without the bytes it counts: every reading of it, and which of them a link allows.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {

void judge_facts(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
    const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
    std::set<logs::Operation> told;
    for (const logs::Sample& sample : s.evidence.samples) {
      const bool bare = sample.format == "fact" || sample.format == "table";
      if (sample.source.file != file || !bare || sample.path != logs::Path::kUnknown ||
          !sample.rate_gbs) {
        continue;
      }
      double nodes = shape.nodes ? shape.nodes->value : 0;
      const double per = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
      if (nodes == 0 && shape.world && shape.world->value > per) nodes = shape.world->value / per;
      if (nodes < 2 || !told.insert(sample.operation).second) continue;
      const double topk = shape.topk ? shape.topk->value : 8;
      const double experts = shape.experts ? shape.experts->value : 256;
      const auto copies = logs::uniform_copies(experts, topk, nodes, per);
      const double share = logs::remote_share(nodes);
      const double rate = *sample.rate_gbs;
      const double node = rate * share;
      const double rank = rate * copies.node / copies.rank * share;
      const double selection = rate * copies.node / topk * share;
      const double limit = rating.known() ? rating.gbs : 50;
      Finding finding = Build(node > limit * 1.03 ? "exceeds-link" : "own-node-counted",
                              node > limit * 1.03 ? Severity::kWarning : Severity::kNotice,
                              Confidence::kMedium,
                              logs::to_string(sample.operation));
      finding.sentence = fmt::format(
          "{} {}: the input does not say which bytes it counts. As (token, node) copies the wire "
          "would "
          "carry {} ({}{}); as received rows {} ({}); as selections with one copy a node {} ({}).",
          logs::to_string(sample.operation),
          gbs(rate),
          gbs(node),
          percent(node / limit),
          node > limit * 1.03 ? fmt::format(", impossible on {}", gbs(limit)) : std::string(),
          gbs(rank),
          percent(rank / limit),
          gbs(selection),
          percent(selection / limit));
      finding.derivation = fmt::format(
          "{:g} nodes × {:g} ranks, top-{:g} of {:g}: {:.3f} node copies and {:.3f} rows a token, "
          "{:.3g} of the node copies remote; link {}{}",
          nodes,
          per,
          topk,
          experts,
          copies.node,
          copies.rank,
          share,
          gbs(limit),
          rating.known() ? "" : " (400 Gb/s assumed)");
      finding.evidence.push_back({"line", sample.source.text, place(s, sample.source)});
      finding.action = "Say which benchmark printed it, or paste its line.";
      findings.push_back(std::move(finding));
    }
  }
}

}  // namespace shunt::verdict::foreign
