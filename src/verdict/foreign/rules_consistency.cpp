// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Do the numbers of a log agree with each other and with the stated configuration.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"
#include "verdict/foreign/fp8_combine.hpp"
#include "verdict/foreign/rules_list.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;
using logs::Path;
using logs::Sample;

/// bytes / time against the printed rate, within the rounding of all three prints.
void check_rates(const Situation& s, Findings& findings) {
  int wrong = 0;
  Finding finding;
  for (const Sample& sample : s.evidence.samples) {
    if (!sample.bytes || !sample.time_us || !sample.rate_gbs || *sample.time_us <= 0) continue;
    if (sample.format == "deepep-v2" && sample.path != Path::kNvl) continue;
    const double again = *sample.bytes / *sample.time_us / 1e3;
    const double slack = sample.rate_error + sample.bytes_error / *sample.time_us / 1e3 +
                         again * 0.1 / *sample.time_us + 0.002 * again;
    if (std::fabs(again - *sample.rate_gbs) <= slack) continue;
    if (wrong++ > 0) continue;
    // A few tenths of a per cent are of means taken differently; nobody's conclusion changes.
    const double off = std::fabs(again / *sample.rate_gbs - 1);
    finding = Build("rate-mismatch",
                    off > 0.05   ? Severity::kWarning
                    : off > 0.01 ? Severity::kNotice
                                 : Severity::kInfo,
                    Confidence::kHigh,
                    logs::to_string(sample.operation));
    finding.sentence = fmt::format(
        "The printed rate {} is not the printed bytes over the printed time: {:.2f} MB / {:.1f} µs "
        "= {}.",
        gbs(*sample.rate_gbs),
        *sample.bytes / 1e6,
        *sample.time_us,
        gbs(again));
    finding.evidence.push_back({"line", sample.source.text, place(s, sample.source)});
    finding.action = "Find out which of the three is from another run or column.";
  }
  if (wrong == 0) return;
  if (wrong > 1) finding.sentence += fmt::format(" {} lines are like this.", wrong);
  findings.push_back(std::move(finding));
}

void check_fp8_combine(const Situation& s, Findings& findings) {
  for (const Sample& combine : s.evidence.samples) {
    const Sample* dispatch = fp8_dispatch_of(s.evidence, combine);
    if (dispatch == nullptr) continue;
    const double corrected = *combine.rate_gbs / logs::kFp8Share;
    const Shape& shape = s.shapes[static_cast<std::size_t>(combine.source.file)];
    const double share = shape.nodes ? logs::remote_share(shape.nodes->value) : 0.5;
    const Rating& rating = s.ratings[static_cast<std::size_t>(combine.source.file)];
    const bool impossible = rating.known() && corrected * share > 1.03 * rating.gbs;
    Finding finding = Build("fp8-combine-undercount",
                            Severity::kWarning,
                            impossible ? Confidence::kLow : Confidence::kHigh,
                            combine.variant.empty() ? "combine" : "combine " + combine.variant);
    finding.sentence = fmt::format(
        "Combine's RDMA rate is printed 1.94 × too low: {} uses dispatch's FP8 bytes, but combine "
        "moves bf16. Corrected: {} printed, {} on the wire.",
        gbs(*combine.rate_gbs),
        gbs(corrected),
        gbs(corrected * share));
    if (impossible) {
      finding.sentence = fmt::format(
          "Combine prints dispatch's FP8 bytes, but as bf16 its {} would be {} on the wire, more "
          "than "
          "the {} carries: the rating, the times or the bytes are of another run.",
          gbs(*combine.rate_gbs),
          gbs(corrected * share),
          rating.what);
    }
    finding.derivation =
        "combine's rows are bf16 (2·H bytes), FP8 rows H + 4·H/128: 1 / 0.515625 = "
        "1.939";
    finding.evidence.push_back({"combine line", combine.source.text, place(s, combine.source)});
    finding.evidence.push_back(
        {"dispatch line", dispatch->source.text, place(s, dispatch->source)});
    findings.push_back(std::move(finding));
    return;
  }
}

/// Is the ratio of node copies to rank copies what the stated shape gives?
void check_ratio(const Situation& s, int file, Findings& findings) {
  const Shape& shape = s.shapes[static_cast<std::size_t>(file)];
  if (!shape.ratio || !shape.nodes || shape.nodes->inferred) return;
  const int nodes = saturating_cast<int>(shape.nodes->value);
  if (nodes < 2) return;
  for (const auto& fit : shape.fits) {
    if (fit.nodes == nodes) return;
  }
  const double per = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
  const double topk = shape.topk ? shape.topk->value : 8;
  const double experts = shape.experts ? shape.experts->value : 256;
  const auto copies = logs::uniform_copies(experts, topk, nodes, per);
  std::string fit_text;
  for (int k = 1; k <= 16; ++k) {
    const auto other = logs::uniform_copies(experts, k, nodes, per);
    if (std::fabs(*shape.ratio / (other.node / other.rank) - 1) < 0.04) {
      fit_text = fmt::format(" It would fit top-{}.", k);
      break;
    }
  }
  if (fit_text.empty() && !shape.fits.empty()) {
    fit_text = fmt::format(" It would fit {} nodes × {}.",
                           shape.fits.front().nodes,
                           shape.fits.front().ranks_per_node);
  }
  Finding finding = Build("ratio-mismatch",
                          Severity::kWarning,
                          shape.topk && shape.experts ? Confidence::kHigh : Confidence::kMedium,
                          "configuration");
  finding.sentence = fmt::format(
      "Printed RDMA/NVL is {:.3f}, but {} nodes × {:g} ranks with top-{:g} of {:g} experts give "
      "{:.3f}: the log is not from the stated configuration.{}",
      *shape.ratio,
      nodes,
      per,
      topk,
      experts,
      copies.node / copies.rank,
      fit_text);
  finding.derivation = fmt::format(
      "node copies {:.3f}, rank copies {:.3f} per token, uniform "
      "routing",
      copies.node,
      copies.rank);
  finding.evidence.push_back({"nodes", fmt::format("{}", nodes), shape.nodes->from});
  finding.action = "Check top-k, experts and node count against the run that printed the log.";
  findings.push_back(std::move(finding));
}

/// A log's own copy counts against the stated tokens per rank.
void check_counts(const Situation& s, Findings& findings) {
  for (const logs::TokenCount& count : s.evidence.token_counts) {
    const Shape& shape = s.shapes[static_cast<std::size_t>(count.source.file)];
    if (!count.node_copies || !shape.tokens || !shape.nodes) continue;
    const double most = shape.tokens->value * shape.nodes->value;
    if (*count.node_copies <= most * 1.001) continue;
    const double per = shape.ranks_per_node ? shape.ranks_per_node->value : 8;
    const double topk = shape.topk ? shape.topk->value : 8;
    const double experts = shape.experts ? shape.experts->value : 256;
    const auto copies = logs::uniform_copies(experts, topk, shape.nodes->value, per);
    const double tokens = *count.node_copies / copies.node;
    const double rounded = std::pow(2.0, std::round(std::log2(tokens)));
    Finding finding =
        Build("ratio-mismatch", Severity::kWarning, Confidence::kHigh, "command against output");
    finding.sentence = fmt::format(
        "{:.0f} RDMA tokens are impossible with {:g} tokens a rank on {:g} nodes (at most {:.0f}): "
        "command and output are not from one run. The counts fit {:.0f} tokens a rank (expected "
        "{:.0f}).",
        *count.node_copies,
        shape.tokens->value,
        shape.nodes->value,
        most,
        rounded,
        rounded * copies.node);
    finding.derivation = fmt::format(
        "{:.3f} node copies per token with {:g} nodes, top-{:g} of {:g}; received rows {:.0f} / "
        "{:.0f}"
        " = {:.2f} a token (expected {:.2f}); RDMA/XGMI = {:.3f}; about {:.0f} copies leave the "
        "node",
        copies.node,
        shape.nodes->value,
        topk,
        experts,
        count.received.value_or(0),
        rounded,
        count.received.value_or(0) / rounded,
        copies.rank,
        count.received ? *count.node_copies / *count.received : 0,
        *count.node_copies * logs::remote_share(shape.nodes->value));
    finding.evidence.push_back({"counts", count.source.text, place(s, count.source)});
    finding.evidence.push_back(
        {"tokens", fmt::format("{:g}", shape.tokens->value), shape.tokens->from});
    finding.action = "Use the counts, not the flag; run again with the wanted token count.";
    findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace

void judge_consistency(const Situation& s, Findings& findings) {
  check_rates(s, findings);
  check_counts(s, findings);
  for (int file = 0; file < static_cast<int>(s.evidence.files.size()); ++file) {
    check_ratio(s, file, findings);
  }
  check_fp8_combine(s, findings);
}

}  // namespace shunt::verdict::foreign
