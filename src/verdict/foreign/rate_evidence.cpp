// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/rate_evidence.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shunt::verdict::foreign {
namespace {

using logs::Operation;

/// Each distinct node count once, with how it is known.
void add_nodes(const std::vector<const Op*>& ops, Finding& finding) {
  std::vector<double> seen;
  for (const Op* op : ops) {
    if (op->nodes->value < 1 || std::ranges::find(seen, op->nodes->value) != seen.end()) continue;
    seen.push_back(op->nodes->value);
    finding.evidence.push_back({"nodes", fmt::format("{:g}", op->nodes->value), op->nodes->from});
  }
}

/// Published figures in the same paste are no measurement of this run.
void add_published(const Situation& s, int file, Finding& finding) {
  std::string text;
  const logs::Sample* first = nullptr;
  for (const logs::Sample& sample : s.evidence.samples) {
    if (sample.source.file != file || sample.format != "published" || !sample.rate_gbs) continue;
    const auto ranks = sample.settings.find("ranks");
    text += fmt::format("{}{}{} {}",
                        text.empty() ? "" : ", ",
                        logs::to_string(sample.operation),
                        ranks == sample.settings.end() ? "" : fmt::format(" EP{:g}", ranks->second),
                        gbs(*sample.rate_gbs));
    if (first == nullptr) first = &sample;
  }
  if (first == nullptr) return;
  finding.evidence.push_back(
      {"published figures in the paste, not of this run", text, place(s, first->source)});
}

/// What more blocks, or half the bytes, changed: tells SM-bound and fixed cost from the link.
void add_comparisons(const std::vector<const Op*>& ops, Finding& finding) {
  for (const Op* a : ops) {
    for (const Op* b : ops) {
      if (a->operation != b->operation || a->variant != b->variant || a->variant == "average")
        continue;
      const auto& sa = a->rdma->sample->settings;
      const auto& sb = b->rdma->sample->settings;
      const bool blocks = sa.count("blocks") != 0 && sb.count("blocks") != 0;
      if (blocks && a->dtype == b->dtype && sa.at("blocks") < sb.at("blocks")) {
        const double gain = b->rdma->rate / a->rdma->rate;
        finding.evidence.push_back(
            {"blocks",
             fmt::format("{:g} → {:g} blocks ({:.1f} ×) give {:.2f} × the rate{} ({})",
                         sa.at("blocks"),
                         sb.at("blocks"),
                         sb.at("blocks") / sa.at("blocks"),
                         gain,
                         gain < 1.15 ? ": not bound by blocks" : "",
                         a->dtype),
             "comparison"});
      }
      if (a->dtype == "fp8" && b->dtype == "bf16" && a->group == b->group && a->time_us &&
          b->time_us && *b->time_us > 0 && *a->time_us / *b->time_us > 0.58) {
        finding.evidence.push_back(
            {"FP8 against BF16",
             fmt::format(
                 "half the bytes take {:.2f} of the time ({:.0f} of {:.0f} µs): a fixed cost "
                 "per operation, message rate or latency",
                 *a->time_us / *b->time_us,
                 *a->time_us,
                 *b->time_us),
             a->group.empty() ? "comparison" : a->group});
      }
    }
  }
}

/// bytes = rate · time, and what they say: the row count per token, and that notify is left out.
void add_bytes(const Shape& shape, const std::vector<const Op*>& ops, Finding& finding) {
  for (const Op* op : ops) {
    const logs::Sample& sample = *op->rdma->sample;
    if (!sample.time_us || (op->format != "deepep-internode" && op->format != "hybridep" &&
                            op->format != "mori" && op->format != "table")) {
      continue;
    }
    const double bytes = sample.bytes ? *sample.bytes : *sample.rate_gbs * *sample.time_us * 1e3;
    const double hidden = shape.hidden ? shape.hidden->value : 7168;
    const bool fp8 = op->dtype == "fp8" && op->operation != Operation::kCombine;
    const double row = !fp8                   ? logs::bf16_row(hidden)
                       : op->format == "mori" ? hidden
                                              : logs::fp8_row(hidden);
    const double tokens = shape.tokens ? shape.tokens->value : 4096;
    std::string text = fmt::format(
        "{:.1f} MB in {:.0f} µs = {:.0f} rows of {:.0f} B = {:.3f} copies a token ({:g} tokens{}), "
        "{:.1f} "
        "MB of it leave the node",
        bytes / 1e6,
        *sample.time_us,
        bytes / row,
        row,
        bytes / row / tokens,
        tokens,
        shape.tokens ? "" : " assumed",
        bytes * logs::remote_share(op->nodes->value) / 1e6);
    if (sample.notify_us) {
      text += fmt::format("; the rate leaves out notify ({:.0f} µs): {} with it",
                          *sample.notify_us,
                          gbs(bytes / (*sample.time_us + *sample.notify_us) / 1e3));
    }
    finding.evidence.push_back({fmt::format("bytes of {}", op->name()), text, "rate × time"});
    if (finding.evidence.size() > 16) return;
  }
}

}  // namespace

void add_rate_evidence(const Situation& s,
                       int file,
                       const std::vector<const Op*>& ops,
                       Finding& finding) {
  add_comparisons(ops, finding);
  add_bytes(s.shapes[static_cast<std::size_t>(file)], ops, finding);
  add_nodes(ops, finding);
  add_published(s, file, finding);
}

}  // namespace shunt::verdict::foreign
