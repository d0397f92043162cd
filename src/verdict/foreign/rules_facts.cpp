// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A bare rate without the bytes it counts: every reading of it, and which of them a link allows.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/scale_up.hpp"

namespace shunt::verdict::foreign {

namespace {

/// Tables and benchmarks whose rates count every selection.
bool counts_selections(const logs::Sample& sample) {
  return sample.format == "table" || sample.format == "ep-bench" || sample.format == "pplx";
}

/// Rows of low-latency tables: every selection counts.
void selection_rows(const Situation& s, int file, Findings& findings) {
  const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  const double per = shape.ranks_per_node ? std::max(1.0, shape.ranks_per_node->value) : 8;
  const double limit = rating.known() ? rating.gbs : 50;
  Finding finding =
      Build("own-node-counted", Severity::kNotice, Confidence::kMedium, "low latency");
  double top = 0;
  for (const logs::Sample& sample : s.evidence.samples) {
    const auto ranks = sample.settings.find("ranks");
    if (sample.source.file != file || !counts_selections(sample) || !sample.rate_gbs ||
        sample.path != logs::Path::kSelection || ranks == sample.settings.end() ||
        ranks->second <= per) {
      continue;
    }
    const double share = logs::remote_share(ranks->second / per);
    const double wire = *sample.rate_gbs * share;
    top = std::max(top, wire);
    finding.evidence.push_back(
        {fmt::format("{}{} EP{:g}{}",
                     sample.variant.empty() ? "" : sample.variant + " ",
                     logs::to_string(sample.operation),
                     ranks->second,
                     sample.span == logs::Span::kKernel ? " kernel" : ""),
         fmt::format("{} printed{}; on the wire {} if NVLink serves the own node ({})",
                     gbs(*sample.rate_gbs),
                     sample.time_us ? fmt::format(" in {:.0f} µs = {:.2f} MB",
                                                  *sample.time_us,
                                                  *sample.rate_gbs * *sample.time_us / 1e3)
                                    : "",
                     gbs(wire),
                     percent(wire / limit)),
         place(s, sample.source)});
  }
  if (top <= 0) return;
  if (top < 0.795 * limit) finding.id = "underused";
  finding.sentence = fmt::format(
      "Low-latency rates count every selection, local ones included: the wire carries at most {} "
      "per "
      "GPU, {} of {}{}{}.",
      gbs(top),
      percent(top / limit),
      gbs(limit),
      rating.known() ? "" : " (400 Gb/s assumed)",
      finding.id == "underused" ? ": latency or message rate limits, not the link" : "");
  finding.derivation = fmt::format(
      "(N − 1) / N of the selections leave the node, {:g} GPUs a node; without NVLink "
      "for local peers it would be (W − 1) / W",
      per);
  findings.push_back(std::move(finding));
}

/// Best and worst of one row far apart.
void best_and_worst(const Situation& s, int file, Findings& findings) {
  const logs::Sample* low = nullptr;
  double best = 0;
  for (const logs::Sample& worst : s.evidence.samples) {
    if (worst.source.file != file || worst.format != "table" || !worst.rate_gbs ||
        worst.variant.rfind("worst", 0) != 0 || *worst.rate_gbs <= 0) {
      continue;
    }
    for (const logs::Sample& other : s.evidence.samples) {
      const bool same = other.source.file == file && other.source.line == worst.source.line &&
                        other.operation == worst.operation && other.rate_gbs &&
                        other.path == worst.path && other.variant.rfind("best", 0) == 0;
      if (!same || *other.rate_gbs < 3 * *worst.rate_gbs) continue;
      if (low == nullptr || *worst.rate_gbs < *low->rate_gbs) {
        low = &worst;
        best = *other.rate_gbs;
      }
    }
  }
  if (low == nullptr) return;
  findings.push_back(
      Build("stalls", Severity::kWarning, Confidence::kHigh, logs::to_string(low->operation))
          .say(fmt::format(
              "Best {} and worst {} of one row are {:.0f} × apart: single rounds stop "
              "(retransmission time-outs look like this); an average over them is no rate.",
              gbs(best),
              gbs(*low->rate_gbs),
              best / *low->rate_gbs))
          .fact("row", low->source.text, place(s, low->source))
          .confirm("local_ack_timeout_err, out_of_sequence and pause counters during the run"));
}

/// Ranks of a rack whose GPUs are all behind NVLink: no NIC is in play as far as nobody says so.
bool in_one_domain(const Situation& s, int file, Findings& findings) {
  constexpr double kRack = 72;
  const auto* gpu = s.evidence.find("gpu", file);
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  if (gpu == nullptr || (gpu->value != "GB200" && gpu->value != "GB300") ||
      (shape.nodes && !shape.nodes->inferred)) {
    return false;
  }
  const logs::Sample* best = nullptr;
  for (const logs::Sample& sample : s.evidence.samples) {
    const bool bare = sample.format == "fact" || sample.format == "table";
    if (sample.source.file != file || !bare || sample.path != logs::Path::kUnknown ||
        !sample.rate_gbs) {
      continue;
    }
    const auto ranks = sample.settings.find("ranks");
    if (ranks != sample.settings.end() && ranks->second > kRack) return false;
    if (best == nullptr || *sample.rate_gbs > *best->rate_gbs) best = &sample;
  }
  if (best == nullptr) return true;
  const NvlLimit limit = nvl_limit(s, file);
  const double share = *best->rate_gbs / limit.rating;
  findings.push_back(
      Build(share >= 0.85 && share < 1.05 ? "nvlink-bound" : "unrated",
            Severity::kInfo,
            Confidence::kMedium,
            logs::to_string(best->operation))
          .say(fmt::format(
              "{} reaches {}, {} of {}'s {} one way if every byte crosses NVLink. Up to {:g} such "
              "GPUs are one NVLink domain: nothing says that a NIC was used.",
              logs::to_string(best->operation),
              gbs(*best->rate_gbs),
              percent(share),
              gpu->value,
              gbs(limit.rating),
              kRack))
          .fact("highest", best->source.text, place(s, best->source))
          .act("Where ranks of several racks took part, say it: --set nodes=2."));
  return true;
}

}  // namespace

void judge_facts(const Situation& s, Findings& findings) {
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
    const Rating& rating = s.ratings[static_cast<std::size_t>(file)];
    selection_rows(s, file, findings);
    best_and_worst(s, file, findings);
    if (in_one_domain(s, file, findings)) continue;
    std::set<std::pair<logs::Operation, double>> told;
    for (const logs::Sample& sample : s.evidence.samples) {
      const bool bare = sample.format == "fact" || sample.format == "table";
      if (sample.source.file != file || !bare || sample.path != logs::Path::kUnknown ||
          !sample.rate_gbs) {
        continue;
      }
      const double per = shape.ranks_per_node ? std::max(1.0, shape.ranks_per_node->value) : 8;
      const auto ranks = sample.settings.find("ranks");
      const double stated = ranks == sample.settings.end() ? 0 : ranks->second;
      double nodes = stated > 0 ? stated / per : shape.nodes ? shape.nodes->value : 0;
      if (nodes == 0 && shape.world && shape.world->value > per) nodes = shape.world->value / per;
      if (nodes < 2 || !told.emplace(sample.operation, stated).second) continue;
      const double topk = shape.topk ? shape.topk->value : 8;
      const double experts = shape.experts ? shape.experts->value : 256;
      const auto copies = logs::uniform_copies(experts, topk, nodes, per);
      // Where the numbers are no job's, no token has a copy.
      if (!(copies.node > 0 && copies.rank > 0)) continue;
      const double share = logs::remote_share(nodes);
      const double rate = *sample.rate_gbs;
      const double node = rate * share;
      const double rank = rate * copies.node / copies.rank * share;
      const double selection = rate * copies.node / topk * share;
      const double limit = rating.known() ? rating.gbs : 50;
      Finding finding =
          Build(node > limit * 1.03 ? "exceeds-link" : "own-node-counted",
                node > limit * 1.03 ? Severity::kWarning : Severity::kNotice,
                Confidence::kMedium,
                stated > 0 ? fmt::format("{} EP{:g}", logs::to_string(sample.operation), stated)
                           : std::string(logs::to_string(sample.operation)));
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
